"""Files of one source with different types: each value is read as what it is, its row rejected, or the file refused."""

from __future__ import annotations

import datetime as dt
import io
import math
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from airflow_dataflow_provider import DataError, Files, SubmissionError
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.reading import Read, column_types, read

NOW = to_micros("2026-01-01T00:00:00Z")
AT = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
UTC = "UTC"


def parquet(folder: Path, name: str, value: pl.Series, at: pl.Series | None = None) -> str:
    at = pl.Series([AT] * len(value)) if at is None else at
    file = str(folder / f"{name}.parquet")
    pl.DataFrame({"at": at, "value": value}).write_parquet(file)
    return file


def read_after(first: str, later: str, **options: Any) -> Read:
    """Read a file as one that comes after another of its source."""
    source = Files(str(Path(first).parent), event_time="at", format=Path(first).suffix[1:], **options)
    schema = check_columns(source, ("at", "value"), column_types(source, first), first)
    return read(source, schema, later, NOW)


@pytest.mark.parametrize(
    ("first", "later", "taken", "rejected"),
    [
        (pl.Int64(), pl.Series([1.7, 2.0, 2.5, math.nan, 1e300, None]), [2, None], 4),
        (pl.Int64(), pl.Series([2**63, 7], dtype=pl.UInt64), [7], 1),
        (pl.Int32(), pl.Series([2**40]), [2**40], 0),
        (pl.Float64(), pl.Series([2**53, 2**53 + 1, 7]), [2.0**53, 7.0], 1),
        (pl.Float64(), pl.Series([0.1], dtype=pl.Float32), [pytest.approx(0.1)], 0),
        (pl.Decimal(9, 2), pl.Series([Decimal("1.005"), Decimal("1.5")], dtype=pl.Decimal(9, 3)), [Decimal("1.5")], 1),
        (pl.Decimal(5, 2), pl.Series([1000, 999]), [Decimal(999)], 1),
        (pl.Int64(), pl.Series([Decimal("1.5"), Decimal("2.0")], dtype=pl.Decimal(10, 2)), [2], 1),
        (pl.String(), pl.Series(["a", None], dtype=pl.Categorical), ["a", None], 0),
        (pl.Datetime("us", UTC), pl.Series([1, 1000], dtype=pl.Int64).cast(pl.Datetime("ns", UTC)), None, 1),
        (pl.Datetime("us", UTC), pl.Series([2**62, 0], dtype=pl.Int64).cast(pl.Datetime("ms", UTC)), None, 1),
        (pl.Duration("us"), pl.Series([2**62, 0], dtype=pl.Int64).cast(pl.Duration("ms")), [dt.timedelta()], 1),
        (pl.Date(), pl.Series([2**30, 0], dtype=pl.Int32).cast(pl.Date), [dt.date(1970, 1, 1)], 1),
        (pl.List(pl.Int32), pl.Series([[1.5], [2.0, None], None]), [[2, None], None], 1),
        (pl.Struct({"x": pl.Int32}), pl.Series([{"x": 1.5}, {"x": 2.0}]), [{"x": 2}], 1),
        (pl.Int64(), pl.Series([None, None], dtype=pl.Null), [None, None], 0),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_taken_where_it_is_the_same(
    tmp_path: Path, first: pl.DataType, later: pl.Series, taken: list[object] | None, rejected: int
) -> None:
    found = read_after(
        parquet(tmp_path, "first", pl.Series([None], dtype=first)), parquet(tmp_path, "later", later)
    )  # fmt: skip
    if taken is not None:
        assert found.rows["value"].to_list() == taken
    assert len(found.rejected) == rejected
    assert len(found.rows) == len(later) - rejected
    if rejected:
        assert set(found.rejected["_file"]) == {str(tmp_path / "later.parquet")}
        assert all("value does not read as" in reason for reason in found.rejected["_reason"])
        assert found.rejected["value"].dtype == later.dtype  # as it is in the file


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (pl.Int64(), pl.Series([dt.date(2020, 1, 1)])),
        (pl.Int64(), pl.Series([AT])),
        (pl.Int64(), pl.Series([dt.timedelta(1)])),
        (pl.Int64(), pl.Series([True])),
        (pl.Int64(), pl.Series(["7"])),
        (pl.Int64(), pl.Series([{"a": 1, "b": 2}])),
        (pl.Int64(), pl.Series([[1]])),
        (pl.Float64(), pl.Series([Decimal("0.1")])),
        (pl.Decimal(10, 2), pl.Series([0.1])),
        (pl.String(), pl.Series([7])),
        (pl.String(), pl.Series([b"\xff"])),
        (pl.Boolean(), pl.Series([1])),
        (pl.Date(), pl.Series([AT])),
        (pl.Datetime("us", UTC), pl.Series([dt.date(2020, 1, 1)])),
        (pl.Datetime("us", UTC), pl.Series([AT.replace(tzinfo=None)])),
        (pl.Datetime("us"), pl.Series([AT])),
        (pl.Struct({"a": pl.Int64}), pl.Series([{"a": 1, "b": 2}])),
        (pl.Struct({"a": pl.Int64, "b": pl.Int64}), pl.Series([{"a": 1}])),
        (pl.List(pl.Int64), pl.Series([["7"]])),
        (pl.List(pl.Int64), pl.Series([7])),
    ],
)
def test_a_column_of_another_kind_refuses_the_file(tmp_path: Path, first: pl.DataType, later: pl.Series) -> None:
    one, other = parquet(tmp_path, "first", pl.Series([None], dtype=first)), parquet(tmp_path, "later", later)
    with pytest.raises(DataError) as refusal:
        read_after(one, other)
    assert refusal.value.code == "DATA_COLUMN_TYPE"
    assert other in refusal.value.what
    assert "'value'" in refusal.value.what


@pytest.mark.parametrize("later", [[AT.replace(tzinfo=None)], [dt.date(2020, 1, 1)], [7], [[AT]]])
@pytest.mark.parametrize("first", [[AT], ["2013-01-01T12:00:00Z"]])
def test_a_later_file_whose_times_are_no_instants_is_refused(
    tmp_path: Path, first: list[object], later: list[object]
) -> None:
    value = pl.Series([1])
    one = parquet(tmp_path, "first", value, pl.Series(first))
    with pytest.raises(DataError) as refusal:
        read_after(one, parquet(tmp_path, "later", value, pl.Series(later)))
    assert refusal.value.code == "DATA_COLUMN_TYPE"
    assert "'at'" in refusal.value.what


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize(
    "first", [pl.Int64(), pl.String(), pl.Datetime("us", UTC), pl.List(pl.Int64), pl.Struct({"a": pl.Int8})]
)
@pytest.mark.parametrize(
    "later", [pl.Float64(), pl.String(), pl.Struct({"b": pl.Int8}), pl.Boolean(), pl.Null(), pl.Date()]
)
def test_a_column_without_values_is_nulls_whatever_its_type(
    tmp_path: Path, first: pl.DataType, later: pl.DataType, rows: int
) -> None:
    one = parquet(tmp_path, "first", pl.Series([None], dtype=first))
    found = read_after(one, parquet(tmp_path, "later", pl.Series([None] * rows, dtype=later)))
    assert found.rows["value"].to_list() == [None] * rows
    assert found.rejected.is_empty()


def test_lists_without_values_are_lists_of_any_type(tmp_path: Path) -> None:
    one = parquet(tmp_path, "first", pl.Series([[1]]))
    found = read_after(one, parquet(tmp_path, "later", pl.Series([[], None, [None]], dtype=pl.List(pl.Null))))
    assert found.rows["value"].to_list() == [[], None, [None]]


def test_times_are_instants_in_whatever_way_a_file_writes_them(tmp_path: Path) -> None:
    value = pl.Series([1])
    first = parquet(tmp_path, "first", value, pl.Series([AT]))
    naive = AT.replace(tzinfo=None)
    kolkata = pl.Series([AT]).dt.convert_time_zone("Asia/Kolkata")
    for number, at in enumerate([pl.Series(["2013-01-01T13:00:00+01:00"]), kolkata, kolkata.dt.cast_time_unit("ns")]):
        later = parquet(tmp_path, f"later {number}", value, at)
        assert read_after(first, later).rows["at"].to_list() == [AT]
    in_zone = read_after(first, parquet(tmp_path, "naive", value, pl.Series([naive])), time_zone="Europe/Vienna")
    assert in_zone.rows["at"].to_list() == [AT - dt.timedelta(hours=1)]


def test_naive_values_mean_what_the_source_says_they_mean(tmp_path: Path) -> None:
    first = parquet(tmp_path, "first", pl.Series([AT]))
    later = parquet(tmp_path, "later", pl.Series([AT.replace(tzinfo=None), None]))
    assert read_after(first, later, time_zone="Europe/Vienna").rows["value"].to_list() == [
        AT - dt.timedelta(hours=1), None,
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "Pacific/Kiritimati"])
def test_a_naive_value_at_the_calendar_s_end_is_never_another_one(tmp_path: Path, zone: str) -> None:
    last = dt.datetime(9999, 12, 31, 12)  # noqa: DTZ001 - naive
    first = parquet(tmp_path, "first", pl.Series([AT]))
    found = read_after(first, parquet(tmp_path, "later", pl.Series([last, last - dt.timedelta(3)])), time_zone=zone)
    assert found.rejected["value"].to_list() == [last]
    assert found.rows["value"].dt.convert_time_zone(zone).dt.replace_time_zone(None).to_list() == [
        last - dt.timedelta(3)
    ]


def test_a_column_without_values_in_the_first_file_has_to_be_said(tmp_path: Path) -> None:
    first = parquet(tmp_path, "first", pl.Series([None]))
    later = parquet(tmp_path, "later", pl.Series([1.5]))
    with pytest.raises(SubmissionError) as refusal:
        read_after(first, later)
    assert refusal.value.code == "SOURCE_COLUMN_TYPE"
    assert read_after(first, later, schema={"value": "float64"}).rows["value"].to_list() == [1.5]


# What files can hold

I64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**31, 2**62, 2**63 - 1, -(2**63)]), st.integers(-300, 300), I64
)
FLOATS = st.one_of(st.sampled_from([0.5, 1.0, 2.0**53, 2.0**63, math.nan, math.inf, 1e300]), st.floats())
INTS = st.one_of(st.just(0), NUMBERS)


def _decimals(scale: int) -> st.SearchStrategy[Any]:
    return st.integers(-(10**9), 10**9).map(lambda unscaled: Decimal(unscaled).scaleb(-scale))


def _clipped(low: int, high: int) -> st.SearchStrategy[Any]:
    return NUMBERS.map(lambda number: max(low, min(number, high)))


PLAIN: dict[pl.DataType, st.SearchStrategy[Any]] = {
    pl.Int8(): _clipped(-(2**7), 2**7 - 1),
    pl.Int32(): _clipped(-(2**31), 2**31 - 1),
    pl.Int64(): INTS,
    pl.UInt16(): _clipped(0, 2**16 - 1),
    pl.UInt64(): st.one_of(_clipped(0, 2**63), st.integers(2**63, 2**64 - 1)),
    pl.Float32(): st.floats(width=32),
    pl.Float64(): FLOATS,
    pl.Decimal(12, 2): _decimals(2),
    pl.Decimal(18, 6): _decimals(6),
    pl.String(): st.sampled_from(["", "7", "007", "1.5", "true", "x", "2013-01-01"]),
    pl.Boolean(): st.booleans(),
    pl.Binary(): st.binary(max_size=3),
    pl.Date(): _clipped(-(2**31), 2**31 - 1),
    pl.Time(): st.integers(0, 86_399_999_999_999),
    pl.Null(): st.none(),
    **{pl.Datetime(unit, zone): INTS for unit in ("ms", "us", "ns") for zone in (None, UTC, "Asia/Kolkata")},
    **{pl.Duration(unit): INTS for unit in ("ms", "us", "ns")},
}
"""Types, with the numbers or values that series of them can be made of."""
TEMPORAL = (pl.Date, pl.Time, pl.Datetime, pl.Duration)


NUMBERED = [dtype for dtype in PLAIN if dtype.is_numeric()]
INSTANTS = [dtype for dtype in PLAIN if isinstance(dtype, pl.Datetime | pl.Duration)]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pl.Series, pl.Series]:
    """Columns of a first file and of a later one, half of them of types that have something in common."""
    types = draw(st.sampled_from([[*PLAIN], [*PLAIN], NUMBERED, INSTANTS]))
    nested = draw(st.sampled_from(["", "", "list", "struct"]))
    return draw(_column(types, nested)), draw(_column(types, nested if draw(st.booleans()) else ""))


@st.composite
def _column(draw: st.DrawFn, types: list[pl.DataType], nested: str) -> pl.Series:
    dtype = draw(st.sampled_from(types))
    values = draw(st.lists(st.one_of(st.none(), PLAIN[dtype]), min_size=1, max_size=5))
    if isinstance(dtype, TEMPORAL):
        return pl.Series(values, dtype=pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
    series = pl.Series(values, dtype=dtype)
    if nested == "list":
        return pl.Series([[value] for value in series], dtype=pl.List(dtype))
    return pl.DataFrame({"x": series}).to_struct() if nested else series


def meaning(series: pl.Series) -> list[Any]:
    """Values that are equal where they mean the same: Python's, and nanoseconds of what calendars may not have."""
    dtype = series.dtype
    if not isinstance(dtype, TEMPORAL):
        return [_equal_to_itself(value) for value in series.to_list()]
    kind = "naive" if isinstance(dtype, pl.Datetime) and dtype.time_zone is None else type(dtype).__name__
    scale = {"ms": 10**6, "us": 10**3, "ns": 1}[getattr(dtype, "time_unit", None) or "ns"]
    return [None if number is None else (kind, number * scale) for number in series.to_physical().to_list()]


def _equal_to_itself(value: Any) -> Any:
    if isinstance(value, list):
        return [_equal_to_itself(each) for each in value]
    if isinstance(value, dict):
        return {name: _equal_to_itself(each) for name, each in value.items()}
    return "nan" if isinstance(value, float) and math.isnan(value) else value


@given(pairs())
def test_no_value_is_changed_whatever_type_the_first_file_had(columns: tuple[pl.Series, pl.Series]) -> None:
    first, later = columns
    folder = fsspec.filesystem("memory")
    name = f"/drift/{uuid.uuid4().hex}"
    files = {}
    for number, series in enumerate((first, later)):
        buffer = io.BytesIO()
        at = pl.Series([AT] * len(series))
        pl.DataFrame({"at": at, "value": series, "row": range(len(series))}).write_parquet(buffer)
        files[number] = f"memory:/{name}/{number}.parquet"
        folder.pipe_file(f"{name}/{number}.parquet", buffer.getvalue())
    source = Files(f"memory:/{name}", event_time="at", format="parquet")
    try:
        found = column_types(source, files[0])
        try:
            schema = check_columns(source, ("at", "value", "row"), found, files[0])
            read_back = read(source, schema, files[1], NOW)
        except (SubmissionError, DataError) as refusal:
            event(refusal.code)
            assert refusal.code in {"SOURCE_COLUMN_TYPE", "DATA_COLUMN_TYPE"}  # noqa: PT017 - either is right
            return
        event("some taken" if len(read_back.rows) else "all rejected")
        expected = dict(enumerate(meaning(later)))
        taken = dict(zip(read_back.rows["row"].to_list(), meaning(read_back.rows["value"]), strict=True))
        assert taken == {row: expected[row] for row in taken}
        rejected = read_back.rejected["row"].to_list() if len(read_back.rejected) else []
        assert sorted([*taken, *rejected]) == [*range(len(later))]
        assert all(expected[row] is not None for row in rejected)
    finally:
        folder.rm(name, recursive=True)
