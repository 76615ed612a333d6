"""Rows set aside count once, and only where an epoch was committed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import StateError
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import Prepared
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.values.frames import write_parquet
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.progress.samples import make_identity, plan, record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(str(tmp_path))
    make_identity(store)
    return store


def test_there_must_be_a_pipeline(tmp_path: Path) -> None:
    with pytest.raises(StateError) as refusal:
        SideOutputs(str(tmp_path / "elsewhere"))
    assert refusal.value.code == "STATE_ABSENT"


def test_nothing_set_aside_is_a_table_without_rows(store: Store) -> None:
    aside = SideOutputs(store.url)
    assert aside.rejected().is_empty()
    assert aside.expired().schema["_delay"] == pl.Duration("us")


def test_what_an_epoch_names_counts_once_it_is_committed(store: Store) -> None:
    log = EpochLog(store)
    for epoch, rows in enumerate(
        [
            pl.DataFrame({"delay": [7], "_file": "a", "_reason": "no time"}),
            pl.DataFrame({"delay": ["7 min"], "carrier": "UA", "_file": "b", "_reason": "no number"}),
            pl.DataFrame({"delay": [9], "_file": "c", "_reason": "no time"}),
        ]
    ):
        write_parquet(store, "rejected", f"{epoch}/left behind.parquet", rows)
        named = write_parquet(store, "rejected", f"{epoch}/named.parquet", rows)
        log.plan(plan(epoch))
        log.prepare(Prepared(epoch, 1, EpochResult(rejected_files=(named,))))
        if epoch < 2:
            log.commit(record(epoch))

    found = SideOutputs(store.url).rejected()
    assert found.to_dicts() == [
        {"delay": "7", "carrier": None, "_file": "a", "_line": None, "_reason": "no time", "_epoch": 0},
        {"delay": "7 min", "carrier": "UA", "_file": "b", "_line": None, "_reason": "no number", "_epoch": 1},
    ]
    assert SideOutputs(store.url).rejected(since=1)["_file"].to_list() == ["b"]


def test_rejected_rows_are_readable_whatever_their_files_were(store: Store) -> None:
    log = EpochLog(store)
    rows = [
        pl.DataFrame({"delay": [7.5], "_file": "a", "_reason": "no time"}),
        pl.DataFrame({"delay": [[7]], "_file": "b", "_reason": "no number"}),
        pl.DataFrame({"delay": [{"minutes": 7}], "_text": ["x"], "_file": "c", "_reason": "no number"}),
        pl.DataFrame({"delay": pl.Series([2**62]).cast(pl.Datetime("us")), "_file": "d", "_reason": "no number"}),
    ]
    for epoch, frame in enumerate(rows):
        named = write_parquet(store, "rejected", f"{epoch}.parquet", frame)
        log.plan(plan(epoch))
        log.prepare(Prepared(epoch, 1, EpochResult(rejected_files=(named,))))
        log.commit(record(epoch))
    found = SideOutputs(store.url).rejected()
    assert found["delay"].to_list() == ["7.5", "[7]", '{"minutes": 7}', "4611686018427387904 us since 1970"]
    assert found.columns == ["delay", "_text", "_file", "_line", "_reason", "_epoch"]
