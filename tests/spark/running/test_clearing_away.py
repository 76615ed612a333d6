"""A driver clears away, between two epochs, what a state that lives for years does not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_dataflow_provider import RuntimeMode
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store import numbered
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.spark.events import events, pipeline, write_files

FILES = 40
DAY = 86_400_000_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_files(tmp_path / "source", events(400), files=FILES)
    return tmp_path / "source"


def _go(source: Path, state: Path, *, later: int = 0, **conf: str) -> None:
    what = pipeline(source, max_files_per_epoch=1)
    settings = {"dataflow.state.partitions": "2", **conf}
    run(
        Submission(
            what, RuntimeMode.MICRO_BATCH, str(state), conf=settings, workers=ThisProcess(),
            now=lambda: wall_clock() + later,
        )
    )  # fmt: skip


def test_files_that_no_result_names_are_cleared_away_while_epochs_go_on(source: Path, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "state")
    for folder in ("expired", "rejected"):
        store.add(f"{folder}/{3:012d}/left-by-a-task-that-died.parquet", b"rows")
    _go(source, tmp_path / "state")
    assert read_status(store.url).rows.read == 400
    assert not store.exists(f"expired/{3:012d}")
    assert not store.exists(f"rejected/{3:012d}")


def test_rows_go_when_their_retention_is_over_and_their_numbers_stay(source: Path, tmp_path: Path) -> None:
    (source / "part-99999.parquet").write_bytes(next(iter(sorted(source.glob("*.parquet")))).read_bytes())
    state = tmp_path / "state"
    _go(source, state)
    expired = SideOutputs(str(state)).expired()
    assert len(expired) > 0
    keep = {"dataflow.retention.expired": "2d"}
    _go(source, state, later=DAY, **keep)
    assert SideOutputs(str(state)).expired().equals(expired)
    _go(source, state, later=3 * DAY, **keep)
    assert len(SideOutputs(str(state)).expired()) == 0
    assert Store.open(state).list("expired") == []
    assert read_status(str(state)).rows.expired == len(expired)


def test_a_driver_packs_old_epochs_and_the_next_one_goes_on(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten epochs to a group instead of a thousand."""
    for module in ("store.numbered", "log.epoch_documents"):
        monkeypatch.setattr(f"airflow_dataflow_provider.progress.{module}.GROUP", 10)
    assert numbered.GROUP == 10
    state = tmp_path / "state"
    _go(source, state)
    _go(source, state)
    names = Store.open(state).list("epochs")
    assert "000000000.jsonl.gz" in names
    assert "000000000" not in names
    assert [record.epoch for record in EpochLog(Store.open(state)).records()][:FILES] == list(range(FILES))
    assert read_status(str(state)).rows.read == 400
