"""Whole runs over files with odd names, odd types and odd times: each row is in a pane, or set aside and counted."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import Csv, DataError, Files, FixedWindows, Pipeline, RuntimeMode, Sum
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.sources.test_file_names import NAMES

AT = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)


def summing(folder: Path, form: str = "parquet", **options: Any) -> Pipeline:
    files = Files(str(folder), event_time="at", format=form, **options)
    grouped = Pipeline("odd", files).group_by_key_and_window(key="key", window=FixedWindows("1h"))
    return grouped.combine(total=Sum("value"))


def add(folder: Path, name: str, value: pl.Series, at: pl.Series | None = None, form: str = "parquet") -> str:
    """A file that is newer than those before it."""
    folder.mkdir(exist_ok=True)
    at = pl.Series([AT] * len(value)) if at is None else at
    rows = pl.DataFrame({"at": at, "key": [name] * len(value), "value": value})
    file = folder / f"{name}.{form}"
    with file.open("wb") as stream:  # by its path polars would take the name for a pattern
        if form == "parquet":
            rows.write_parquet(stream)
        else:
            rows.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).write_csv(stream)
    os.utime(file, (1_700_000_000 + len(list(folder.iterdir())),) * 2)
    return str(file)


def go(what: Pipeline, state: Path, mode: RuntimeMode = RuntimeMode.MICRO_BATCH) -> Status:
    run(Submission(what, mode, str(state), conf={"dataflow.state.partitions": "2"}, workers=ThisProcess()))
    return read_status(str(state))


def totals(state: Path) -> dict[str, Any]:
    """The current table: what each key adds up to."""
    return dict(PaneLogReader(str(state)).current().select("key", "total").rows())


def audited(what: Pipeline, state: Path) -> None:
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), what.grouping), panes_of_reference(str(state), what))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_each_file_is_read_once_whatever_its_name(tmp_path: Path, form: str) -> None:
    names = {*NAMES, *NAMES.values()} - {"~home"}
    for number, name in enumerate(sorted(names)):
        add(tmp_path / "source", name, pl.Series([number]), form=form)
    status = go(summing(tmp_path / "source", form), tmp_path / "state", RuntimeMode.BATCH)
    assert status.rows.read == len(names)
    assert totals(tmp_path / "state") == {name: number for number, name in enumerate(sorted(names))}


def test_later_files_with_other_types_are_read_or_set_aside_row_by_row(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    what = summing(source)
    add(source, "first", pl.Series([1, 2]))
    go(what, state)
    add(source, "later", pl.Series([1.7, 2.0, 2.5, None]))
    add(source, "wide", pl.Series([2**63, 5], dtype=pl.UInt64))
    status = go(what, state, RuntimeMode.BATCH)
    assert (status.rows.read, status.rows.rejected) == (8, 3)
    assert totals(state) == {"first": 3, "later": 2, "wide": 5}
    rejected = SideOutputs(str(state)).rejected().sort("value")
    assert rejected["value"].to_list() == ["1.7", "2.5", str(2**63)]
    assert [Path(file).name for file in rejected["_file"]] == ["later.parquet", "later.parquet", "wide.parquet"]
    audited(what, state)


def test_times_out_of_range_are_counted_as_rejected_and_the_rest_can_be_audited(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    what = summing(source)
    far = [2**62, 2**63 - 1, -(2**63), 253_370_764_800_000_000, 0]
    add(source, "far", pl.Series([1, 2, 4, 8, 16]), pl.Series(far, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")))
    status = go(what, state, RuntimeMode.BATCH)
    assert (status.rows.read, status.rows.rejected) == (5, 4)
    assert totals(state) == {"far": 16}
    rejected = SideOutputs(str(state)).rejected()
    assert rejected["value"].to_list() == [1, 2, 4, 8]
    assert set(rejected["_reason"]) == {"at is not in the years 1000 to 8999"}
    audited(what, state)


@pytest.mark.parametrize("value", [pl.Series(["7"]), pl.Series([AT]), pl.Series([{"a": 1, "b": 2}])])
def test_a_refused_file_ends_the_run_and_its_removal_lets_it_go_on(tmp_path: Path, value: pl.Series) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    what = summing(source)
    add(source, "first", pl.Series([1]))
    go(what, state)
    bad = Path(add(source, "bad", value))
    add(source, "good", pl.Series([2]))
    with pytest.raises(DataError) as refusal:
        go(what, state)
    assert refusal.value.code == "DATA_COLUMN_TYPE"
    assert bad.name in refusal.value.what
    bad.unlink()
    assert go(what, state).rows.read == 2
    add(source, "bad", pl.Series([4]))
    go(what, state, RuntimeMode.BATCH)
    assert totals(state) == {"first": 1, "good": 2, "bad": 4}


def test_ragged_rows_of_csv_are_set_aside_and_the_others_counted(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    source.mkdir()
    (source / "x.csv").write_text("at,key,value\n2013-01-01T12:00:00Z,a,1\n2013-01-01T12:00:00Z,a\nx,y,z,4\n")
    status = go(summing(source, "csv"), state, RuntimeMode.BATCH)
    assert (status.rows.read, status.rows.rejected) == (3, 2)
    assert totals(state) == {"a": 1}
    assert SideOutputs(str(state)).rejected()["_text"].to_list() == ["2013-01-01T12:00:00Z,a", "x,y,z,4"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_compressed_text_is_read_and_what_is_set_aside_is_named_by_file_and_line(tmp_path: Path, form: str) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    source.mkdir()
    rows = [
        ("1357041600000", "a", "1"),
        ("1357041600000", "a", "many"),
        ("soon", "a", "4"),
        ("1357041601500", "b", "8"),
    ]
    if form == "csv":
        text = "at;key;value\n" + "".join(";".join(row) + "\n" for row in rows) + "1357041600000;a\n"
    else:
        lines = [json.dumps({"at": at, "key": key, "value": int(v) if v.isdigit() else v}) for at, key, v in rows]
        text = "\n".join(["", *lines, "{"])
    for name in ("x", "y"):
        (source / f"{name}.{form}.gz").write_bytes(gzip.compress(text.encode()))
    files = Files(
        str(source / f"*.{form}.gz"), event_time="at", format=Csv(separator=";") if form == "csv" else "",
        time_format="epoch_milliseconds", schema={"value": "int64"},
    )  # fmt: skip
    grouped = Pipeline("odd", files).group_by_key_and_window(key="key", window=FixedWindows("1h"))
    what = grouped.combine(total=Sum("value"))
    status = go(what, state, RuntimeMode.BATCH)
    assert (status.rows.read, status.rows.rejected) == (10, 6)
    assert totals(state) == {"a": 2, "b": 16}
    rejected = SideOutputs(str(state)).rejected().sort("_file", "_line")
    assert [(Path(file).name, line) for file, line in rejected.select("_file", "_line").rows()] == [
        (f"{name}.{form}.gz", line) for name in ("x", "y") for line in (3, 4, 6)
    ]
    assert rejected["_reason"].to_list()[:2] == ["value does not read as Int64", "at is not a time"]
    audited(what, state)


def test_codes_in_csv_stay_text_where_they_are_said_to_be(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    source.mkdir()
    (source / "x.csv").write_text("at,key,value\n2013-01-01T12:00:00Z,7,1\n2013-01-01T12:00:00Z,70,1\n")
    what = summing(source, "csv", schema={"key": "string"})
    go(what, state)
    (source / "y.csv").write_text("at,key,value\n2013-01-01T12:00:00Z,007,1\n")
    go(what, state, RuntimeMode.BATCH)
    assert totals(state) == {"7": 1, "70": 1, "007": 1}
