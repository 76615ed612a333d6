"""Frames of different files are one table, whatever their columns are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider.tables.one_table import one_table
from tests.spark.sources.test_schema_drift import TEMPORAL, pairs

AT = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)


def together(*columns: pl.Series) -> pl.Series:
    return one_table([pl.DataFrame({"x": column}) for column in columns])["x"]


@pytest.mark.parametrize(
    ("one", "other", "as_text"),
    [
        ("7 min", 7, "7"),
        (7, True, "true"),
        (7, 1.5, "1.5"),
        (7, Decimal("1.50"), "1.50"),
        ("x", AT, "2013-01-01 12:00:00.000000+00:00"),
        ("x", AT.date(), "2013-01-01"),
        ("x", dt.time(12), "12:00:00"),
        ("x", dt.timedelta(hours=1), "PT1H"),
        ("x", b"\xff\x00", "ff00"),
        ("x", [1, None], "[1, null]"),
        ("x", {"a": 1, "b": "ä"}, '{"a": 1, "b": "ä"}'),
        ("x", [AT.date()], '["2013-01-01"]'),
        (7, {"a": None}, '{"a": null}'),
        (AT.replace(tzinfo=None), AT, "2013-01-01 12:00:00.000000+00:00"),
    ],
)
def test_columns_that_do_not_go_together_are_text(one: object, other: object, as_text: str) -> None:
    found = together(pl.Series([one]), pl.Series([other, None]))
    assert found.dtype == pl.String
    assert found.to_list()[1:] == [as_text, None]


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (pl.Int8, pl.UInt32, pl.Int64),
        (pl.Float32, pl.Float64, pl.Float64),
        (pl.Null, pl.Date, pl.Date),
        (pl.Null, pl.Null, pl.Null),
        (pl.Int64, pl.UInt64, pl.String),
        (pl.List(pl.Int64), pl.List(pl.Int64), pl.List(pl.Int64)),
    ],
)
def test_a_type_is_kept_where_all_agree(one: Any, other: Any, kept: Any) -> None:
    assert together(pl.Series([None], dtype=one), pl.Series([None], dtype=other)).dtype == kept


def test_a_column_that_one_file_has_is_null_elsewhere() -> None:
    found = one_table([pl.DataFrame({"x": [1]}), pl.DataFrame({"y": ["a"]})])
    assert found.rows() == [(1, None), (None, "a")]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pl.Series([2**62, 0]).cast(pl.Datetime("us", "UTC")), "4611686018427387904 us since 1970"),
        (pl.Series([-(2**63), 0]).cast(pl.Datetime("ms")), "-9223372036854775808 ms since 1970"),
        (pl.Series([2**30, 0], dtype=pl.Int32).cast(pl.Date), "1073741824 days since 1970"),
        (pl.Series([2**62, 0]).cast(pl.Duration("ms")), "P53375995583DT15H36M27.904S"),
        (pl.DataFrame({"a": pl.Series([2**62, 0]).cast(pl.Datetime("us"))}).to_struct(), '{"a": 4611686018427387904}'),
    ],
)
def test_times_that_no_calendar_has_are_shown_as_numbers(column: pl.Series, shown: str) -> None:
    found = together(column)
    assert found.dtype == pl.String
    assert found[0] == shown
    assert str(one_table([pl.DataFrame({"x": column})]))  # printing it, too


def same(value: object, other: object) -> bool:
    nan = isinstance(value, float) and isinstance(other, float) and math.isnan(value) and math.isnan(other)
    return nan or value == other


@given(st.lists(pairs(), min_size=1, max_size=2))
def test_any_columns_can_be_read_and_stay_where_they_agree(
    found: list[tuple[pl.Series, pl.Series]],
) -> None:
    columns = [column for pair in found for column in pair]
    table = together(*columns)
    assert len(table) == sum(map(len, columns))
    values = table.to_list()
    assert [value is None for value in values] == [null for column in columns for null in column.is_null()]
    if table.dtype != pl.String and not isinstance(table.dtype, TEMPORAL):
        before = [value for column in columns for value in column.to_list()]
        assert all(map(same, map(str, values), map(str, before))) or all(map(same, values, before))
