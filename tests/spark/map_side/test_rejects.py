"""Too many rejected rows end an epoch with what is wrong with them: no reader of side outputs will see these rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import DataError, Files
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep.set_aside import REJECTED_FOLDER
from airflow_dataflow_provider.spark.map_side.map_report import MapReport
from airflow_dataflow_provider.spark.map_side.map_task import set_aside
from airflow_dataflow_provider.spark.map_side.rejects import refuse_too_many

SOURCE = Files("source/*.parquet", event_time="at", max_rejected_share=0.1)


def report(state: Path) -> MapReport:
    files = []
    for file, reason, count in (("a.parquet", "at is null", 2), ("a.parquet", "at is not a time", 1), ("b", "late", 2)):
        rows = pl.DataFrame({"_file": [file] * count, "_reason": [reason] * count})
        files.append(set_aside(str(state), REJECTED_FOLDER, 0, rows))
    return MapReport(RowCounts(10, rejected=5), rejected_files=tuple(files))


def test_the_refusal_names_the_reasons_and_the_file_of_the_rows(tmp_path: Path) -> None:
    found = report(tmp_path)
    with pytest.raises(DataError) as refusal:
        refuse_too_many(SOURCE, found, Store.open(tmp_path), all_are_too_many=True)
    assert refusal.value.code == "DATA_REJECTED"
    for part in ("5 of 10 rows", "at is null (2 in a.parquet)", "at is not a time (1 in a.parquet)", "late (2 in b)"):
        assert part in refusal.value.what
    assert str(tmp_path / REJECTED_FOLDER) in refusal.value.hint


def test_rows_that_cannot_be_read_back_do_not_hide_the_refusal(tmp_path: Path) -> None:
    found = report(tmp_path)
    for path in (tmp_path / REJECTED_FOLDER).rglob("*.parquet"):
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"share of 0\.1\n") as refusal:
        refuse_too_many(SOURCE, found, Store.open(tmp_path), all_are_too_many=True)
    assert refusal.value.code == "DATA_REJECTED"


def test_as_many_as_are_allowed_are_no_error(tmp_path: Path) -> None:
    found = report(tmp_path)
    found = replace(found, rows=RowCounts(10, rejected=1))
    refuse_too_many(SOURCE, found, Store.open(tmp_path), all_are_too_many=True)


ANY_SHARE = Files("source/*.parquet", event_time="at")


def test_rows_that_are_all_malformed_are_refused_unless_the_source_allows_it(tmp_path: Path) -> None:
    found = report(tmp_path)
    found = replace(found, rows=RowCounts(5, rejected=5))
    with pytest.raises(DataError, match="all 5 rows were rejected: at is null") as refusal:
        refuse_too_many(ANY_SHARE, found, Store.open(tmp_path), all_are_too_many=True)
    assert refusal.value.code == "DATA_REJECTED"
    assert "max_rejected_share=1" in refusal.value.hint
    refuse_too_many(ANY_SHARE, found, Store.open(tmp_path), all_are_too_many=False)
    allowed = Files("source/*.parquet", event_time="at", max_rejected_share=1)
    refuse_too_many(allowed, found, Store.open(tmp_path), all_are_too_many=True)
    refuse_too_many(ANY_SHARE, replace(found, accepted=1), Store.open(tmp_path), all_are_too_many=True)
