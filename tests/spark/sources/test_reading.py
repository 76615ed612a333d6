"""Files to rows: every row comes out, as a good one or as a rejected one with its reason."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import INGRESS_TIME, DataError, Files, SubmissionError
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.reading import (
    ARRIVAL,
    EVENT,
    column_types,
    columns_of_elements,
    element_types,
    read,
)

NOW = to_micros("2026-01-01T00:00:00Z")
NOON = to_micros("2013-01-01T12:00:00Z")


def csv(folder: Path, text: str) -> str:
    path = folder / "rows.csv"
    path.write_text(text)
    return str(path)


def test_every_row_of_a_csv_file_is_read_or_rejected_with_its_reason(tmp_path: Path) -> None:
    file = csv(
        tmp_path,
        "at,key,value\n"
        "2013-01-01T12:00:00Z,a,1\n"
        "2013-01-01T13:30:00.5+01:30,b,2\n"
        "2013-01-01 12:00:00+00:00,,3\n"
        ",c,4\n"
        "yesterday,d,5\n"
        "2013-01-01T12:00:00,e,6\n"
        "2013-01-01T12:00:00Z,f,many\n",
    )
    source = Files(file, event_time="at")
    schema = {"at": pl.String(), "key": pl.String(), "value": pl.Int64()}
    found = read(source, schema, file, NOW)
    assert found.rows.select("key", "value", EVENT, ARRIVAL).rows() == [
        ("a", 1, NOON, NOW),
        ("b", 2, NOON + 500_000, NOW),
        (None, 3, NOON, NOW),
    ]
    assert found.rejected.select("at", "value", "_reason", "_file").rows() == [
        (None, "4", "at is null", file),
        ("yesterday", "5", "at is not a time", file),
        ("2013-01-01T12:00:00", "6", "at is not a time", file),
        ("2013-01-01T12:00:00Z", "many", "value does not read as Int64", file),
    ]


def test_a_time_zone_of_the_source_is_for_times_that_have_none(tmp_path: Path) -> None:
    file = csv(tmp_path, "at,key\n2013-01-01T12:00:00Z,a\n2013-01-01T07:00:00,b\n")
    source = Files(file, event_time="at", time_zone="America/New_York")
    found = read(source, {"at": pl.String(), "key": pl.String()}, file, NOW)
    assert found.rows[EVENT].to_list() == [NOON, NOON]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_of_any_unit_and_zone_are_the_same_instant(tmp_path: Path, unit: str) -> None:
    file = str(tmp_path / "rows.parquet")
    moment = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
    column = pl.Series("at", [moment]).dt.cast_time_unit(unit).dt.convert_time_zone("Asia/Kolkata")  # type: ignore[arg-type]
    pl.DataFrame([column]).write_parquet(file)
    source = Files(file, event_time="at")
    found = read(source, {"at": column_types(source, file)["at"]}, file, NOW)
    assert found.rows[EVENT].to_list() == [NOON]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pl.Series("at", [dt.datetime(2013, 1, 1)]), "SOURCE_NAIVE_TIME"),  # noqa: DTZ001 - what is refused
        (pl.Series("at", [1]), "SOURCE_EVENT_TIME_TYPE"),
        (pl.Series("at", [dt.date(2013, 1, 1)]), "SOURCE_EVENT_TIME_TYPE"),
        (pl.Series("when", ["2013-01-01T12:00:00Z"]), "SOURCE_NO_COLUMN"),
    ],
)
def test_a_file_without_usable_event_times_is_refused_before_anything_runs(
    tmp_path: Path, column: pl.Series, code: str
) -> None:
    file = str(tmp_path / "rows.parquet")
    pl.DataFrame([column]).write_parquet(file)
    source = Files(file, event_time="at")
    with pytest.raises(SubmissionError) as refusal:
        check_columns(source, ("at",), column_types(source, file), file)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("column", "form"),
    [
        (pl.Series("at", [1357041600]), "epoch_seconds"),
        (pl.Series("at", [1357041600], dtype=pl.Int32), "epoch_seconds"),
        (pl.Series("at", [1357041600.0]), "epoch_seconds"),
        (pl.Series("at", [1357041600000]), "epoch_milliseconds"),
        (pl.Series("at", ["1357041600000000"]), "epoch_microseconds"),
        (pl.Series("at", [1357041600 * 10**9], dtype=pl.UInt64), "epoch_nanoseconds"),
        (pl.Series("at", ["01.01.2013 13:00"]), "%d.%m.%Y %H:%M"),
    ],
)
def test_times_of_parquet_are_what_their_format_says(tmp_path: Path, column: pl.Series, form: str) -> None:
    file = str(tmp_path / "rows.parquet")
    rows = pl.DataFrame([column, column.alias("due")])
    rows.write_parquet(file)
    source = Files(
        file, event_time="at", arrival_time="due", time_zone="Europe/Vienna", time_format=form
    )  # fmt: skip
    schema = check_columns(source, ("at", "due"), column_types(source, file), file)
    found = read(source, schema, file, NOW)
    assert found.rows[EVENT].to_list() == found.rows[ARRIVAL].to_list() == [NOON]
    said = replace(
        source, event_time=INGRESS_TIME, arrival_time=None, schema={"due": "timestamp"}, time_format={"due": form}
    )
    schema = check_columns(said, ("due",), column_types(said, file), file)
    assert read(said, schema, file, NOW).rows["due"].to_list() == [dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)]


@pytest.mark.parametrize(
    ("column", "form"),
    [
        (pl.Series("at", [dt.datetime(2013, 1, 1, tzinfo=dt.UTC)]), "epoch_seconds"),
        (pl.Series("at", [dt.datetime(2013, 1, 1, tzinfo=dt.UTC)]), "%d.%m.%Y"),
        (pl.Series("at", [20130101]), "%Y%m%d"),
        (pl.Series("at", [dt.date(2013, 1, 1)]), "epoch_seconds"),
        (pl.Series("at", ["2013-01-01"]), "%d.%m.%Y"),
        (pl.Series("at", ["01.01.2013", "soon", None]), None),
    ],
)
def test_times_that_are_not_what_their_format_says_are_refused_before_anything_runs(
    tmp_path: Path, column: pl.Series, form: str | None
) -> None:
    file = str(tmp_path / "rows.parquet")
    pl.DataFrame([column]).write_parquet(file)
    source = Files(file, event_time="at", time_zone="UTC", time_format=form or ())
    with pytest.raises(SubmissionError) as refusal:
        check_columns(source, ("at",), column_types(source, file), file)
    assert refusal.value.code == "SOURCE_EVENT_TIME_TYPE"
    assert "time_format" in refusal.value.hint


def test_integers_of_every_width_are_one_type_and_what_does_not_fit_is_rejected(tmp_path: Path) -> None:
    file = str(tmp_path / "rows.parquet")
    rows = {"at": ["2013-01-01T12:00:00Z"] * 2, "value": pl.Series([1, 2**63], dtype=pl.UInt64)}
    pl.DataFrame(rows).write_parquet(file)
    found = read(Files(file, event_time="at"), {"at": pl.String(), "value": pl.Int64()}, file, NOW)
    assert found.rows["value"].to_list() == [1]
    assert found.rejected["_reason"].to_list() == ["value does not read as Int64"]


def test_a_later_file_without_a_column_fails_by_name(tmp_path: Path) -> None:
    file = str(tmp_path / "rows.parquet")
    pl.DataFrame({"at": ["2013-01-01T12:00:00Z"]}).write_parquet(file)
    with pytest.raises(DataError) as refusal:
        read(Files(file, event_time="at"), {"at": pl.String(), "value": pl.Int64()}, file, NOW)
    assert refusal.value.code == "DATA_COLUMN_MISSING"
    assert file in refusal.value.what


def test_the_columns_of_times_are_read_as_the_instants_that_they_mean(tmp_path: Path) -> None:
    file = csv(tmp_path, "at,seen,key\n2013-01-01T07:00:00,2013-01-01T14:00:00+01:00,a\n")
    source = Files(file, event_time="at", arrival_time="seen", time_zone="America/New_York")
    schema = check_columns(source, ("at", "seen", "key"), column_types(source, file), file)
    found = read(source, schema, file, NOW)
    noon = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
    assert found.rows.drop(EVENT, ARRIVAL).rows() == [(noon, noon + dt.timedelta(hours=1), "a")]
    assert found.rows.drop(EVENT, ARRIVAL).schema == element_types(source, schema)


def test_an_element_without_a_time_of_its_own_happened_when_the_epoch_read_it(tmp_path: Path) -> None:
    file = csv(tmp_path, "key\na\nb\n")
    source = Files(file, event_time=INGRESS_TIME)
    schema = check_columns(source, ("key",), column_types(source, file), file)
    found = read(source, schema, file, NOW, (0, 1))
    assert found.rows.rows() == [("a", NOW, NOW), ("b", NOW, NOW)]
    assert not len(found.rejected)


def test_no_element_is_lost_where_none_of_its_columns_is_wanted(tmp_path: Path) -> None:
    file = csv(tmp_path, "key\na\nb\n")
    assert read(Files(file, event_time=INGRESS_TIME), {}, file, NOW).rows.rows() == [(NOW, NOW)] * 2


def test_an_element_that_happened_on_arrival_has_the_time_of_the_arrival_column(tmp_path: Path) -> None:
    file = str(tmp_path / "rows.parquet")
    times = [dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC), None, dt.datetime(2014, 1, 1, 12, tzinfo=dt.UTC)]
    pl.DataFrame({"seen": times}).write_parquet(file, row_group_size=1)
    source = Files(file, event_time=INGRESS_TIME, arrival_time="seen")
    schema = check_columns(source, ("seen",), column_types(source, file), file)
    found = read(source, schema, file, NOW)
    assert found.rows[EVENT].to_list() == found.rows[ARRIVAL].to_list() == [NOON, to_micros("2014-01-01T12:00:00Z")]
    assert found.rejected["_reason"].to_list() == ["seen is null"]
    within = read(source, schema, file, NOW, (NOON, NOON + 1))
    assert within.rows[EVENT].to_list() == [NOON]
    assert within.rejected["_reason"].to_list() == ["seen is null"]


def test_an_arrival_time_that_is_not_there_is_refused_as_such(tmp_path: Path) -> None:
    file = csv(tmp_path, "key\na\n")
    source = Files(file, event_time=INGRESS_TIME, arrival_time="seen")
    with pytest.raises(SubmissionError, match=r"'seen' \(the arrival time\)") as refusal:
        check_columns(source, ("seen",), column_types(source, file), file)
    assert refusal.value.code == "SOURCE_NO_COLUMN"


def test_a_pipeline_that_reads_all_columns_gets_those_that_can_be_carried(tmp_path: Path) -> None:
    file = str(tmp_path / "rows.parquet")
    columns = {"text": ["a"], "several": [[1, 2]], "parts": [{"x": 1}], "nothing": [None], "_own": [1]}
    pl.DataFrame(columns).write_parquet(file)
    found = column_types(Files(file, event_time=INGRESS_TIME), file)
    assert columns_of_elements(found) == ("text", "several", "parts")
