"""The table and the panes as values of other libraries: the same rows, with times that are instants."""

from __future__ import annotations

import builtins
import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from airflow_dataflow_provider import SubmissionError
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.pane_logs import Said, open_log, pipeline, publish

ROWS = [("a", 1), ("b", 2), ("a", 4)]


@pytest.fixture
def reader(tmp_path: Path) -> PaneLogReader:
    writer, stages = open_log(tmp_path, pipeline())
    publish(writer, stages, 0, [Said("a", 0, 1, is_first=True), Said("b", 0, 2, is_first=True)])
    publish(writer, stages, 1, [Said("a", 1, 4, is_first=True)])
    return PaneLogReader(str(tmp_path))


def test_arrow_is_a_table_with_plain_types(reader: PaneLogReader) -> None:
    table = reader.current(to="arrow")
    assert isinstance(table, pa.Table)
    assert pl.from_arrow(table).equals(reader.current())
    assert table.schema.field("window_end").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("key").type == pa.large_string()


def test_pandas_is_a_frame(reader: PaneLogReader) -> None:
    frame = reader.panes(1, to="pandas")
    assert isinstance(frame, pd.DataFrame)
    assert [*frame[["key", "total"]].itertuples(index=False, name=None)] == ROWS[2:]
    assert frame["window_end"][0] == pd.Timestamp("1970-01-01T00:02:00Z")


def test_duckdb_is_a_relation_that_sql_can_go_on_with(reader: PaneLogReader) -> None:
    table = reader.current(to="duckdb")
    assert isinstance(table, duckdb.DuckDBPyRelation)
    assert table.aggregate("key, sum(total) as total", "key").order("key").fetchall() == [("a", 5), ("b", 2)]


def test_polars_is_the_default(reader: PaneLogReader) -> None:
    assert reader.current().equals(reader.current(to="polars"))
    table, newest = reader.current_with_epoch()
    assert (table.select("key", "total").rows(), newest) == (ROWS, 1)
    assert len(reader.panes(2)) == 0


def test_another_library_or_one_that_is_missing_is_refused(
    reader: PaneLogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SubmissionError, match="polars, arrow, pandas, duckdb, spark") as refusal:
        reader.current(to="excel")
    assert refusal.value.code == "SUBMIT_LIBRARY"
    import_ = builtins.__import__

    def without_duckdb(name: str, *rest: Any, **named: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError("No module named 'duckdb'")
        return import_(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_duckdb)
    with pytest.raises(SubmissionError, match="pip install duckdb") as refusal:
        reader.panes(to="duckdb")
    assert refusal.value.code == "SUBMIT_LIBRARY"


@pytest.mark.spark
def test_spark_is_a_data_frame(reader: PaneLogReader, spark: Any) -> None:
    frame = reader.current(to="spark")
    assert [tuple(row) for row in frame.select("key", "total").collect()] == ROWS
    assert frame.schema["window_end"].dataType.typeName() == "timestamp"
    assert frame.selectExpr("max(window_end) as last").collect()[0]["last"].astimezone(dt.UTC) == dt.datetime(
        1970, 1, 1, 0, 2, tzinfo=dt.UTC
    )
