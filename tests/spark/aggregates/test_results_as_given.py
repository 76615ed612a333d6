"""What a combiner gives is what is published: nothing is rounded, cut or taken for another type on its way."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from airflow_dataflow_provider.model.combiners import Combiner, Mean, StdDev, Variance
from airflow_dataflow_provider.model.errors import DataError
from airflow_dataflow_provider.spark.aggregates.compile_aggregate import compile_aggregate
from airflow_dataflow_provider.spark.aggregates.division import quotient
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit

EVENT, SIGN = "_event", "_sign"


@dataclass(frozen=True)
class Gives(Combiner):
    """The greatest number, as the result that a dictionary has for it."""

    column: str
    results: Any
    result_type: Any

    def create(self) -> int:
        return 0

    def add(self, accumulator: int, value: int) -> int:
        return max(accumulator, value)

    def merge(self, left: int, right: int) -> int:
        return max(left, right)

    def extract(self, accumulator: int) -> Any:
        return self.results[accumulator]


def given(kind: Any, value: Any, *, retracting: bool) -> Any:
    return given_at(kind, (None, value), retracting=retracting)


def given_at(kind: Any, results: Any, *, retracting: bool) -> Any:
    column = compile_aggregate("own", Gives("x", results, kind), {"x": pl.Int64()}, retracting=retracting)
    rows = pl.DataFrame({"x": [1], EVENT: [0], SIGN: [1]}, schema_overrides={SIGN: pl.Int8})
    fields = [field.name for field in column.fields]
    with sums_that_fit():
        made = rows.select(expr.alias(name) for expr, name in zip(column.make(), fields, strict=True))
        return made.select(column.result().alias("own"))["own"].to_list()[0]


VIENNA = dt.datetime(2013, 7, 1, 12, tzinfo=ZoneInfo("Europe/Vienna"))


@pytest.mark.parametrize("retracting", [False, True])
@pytest.mark.parametrize(("kind", "value"), [
    (Decimal, Decimal("0.1234567891234")),
    (Decimal, Decimal("12345678901234567890.123456789012345678")),
    (list[Decimal], [Decimal("0.1234567891234"), None]),
    (int, 2**63 - 1),
    (int, np.int64(7)),
    (float, 3),
    (float, np.float64(0.1)),
    (bool, np.bool_(True)),
    (bytes, b"\x00\xff"),
    (str, "\x00é"),
    (dt.date, dt.date(9999, 12, 31)),
    (dt.datetime, VIENNA),
    (dt.timedelta, dt.timedelta(days=1, microseconds=1)),
    (list[list[int]], [[1, 2], None, []]),
])  # fmt: skip
def test_a_result_of_ones_own_combiner_is_published_as_it_is(kind: Any, value: Any, retracting: bool) -> None:
    assert given(kind, value, retracting=retracting) == value


@pytest.mark.parametrize("retracting", [False, True])
@pytest.mark.parametrize(("kind", "value"), [
    (Decimal, Decimal("1E-19")),
    (Decimal, Decimal("1E+20")),
    (Decimal, Decimal("NaN")),
    (Decimal, 0.1),
    (list[Decimal], [Decimal("1E-19")]),
    (list[int], [1.5]),
    (list[int], 1),
    (int, 2**63),
    (int, 1.5),
    (int, True),
    (float, "1.5"),
    (float, True),
    (float, Decimal("0.1")),
    (bool, 1),
    (str, b"text"),
    (str, 1),
    (bytes, "text"),
    (dt.date, VIENNA),
    (dt.datetime, VIENNA.replace(tzinfo=None)),
    (dt.datetime, dt.date(2013, 7, 1)),
    (dt.timedelta, 1),
])  # fmt: skip
def test_a_result_that_its_column_cannot_hold_fails_the_run(kind: Any, value: Any, retracting: bool) -> None:
    with pytest.raises(DataError, match="a result that its column cannot hold") as failed:
        given(kind, value, retracting=retracting)
    assert failed.value.code == "DATA_COMBINER"


@pytest.mark.parametrize("retracting", [False, True])
def test_an_error_in_ones_own_combiner_says_which_and_where(retracting: bool) -> None:
    with pytest.raises(
        DataError, match=r"(?s)own=Gives\(.*IndexError: tuple index.*test_results_as_given.py:"
    ) as failed:
        given_at(int, (), retracting=retracting)
    assert failed.value.code == "DATA_COMBINER"


def test_a_quotient_does_not_depend_on_how_its_columns_are_held() -> None:
    """Polars multiplies with the reciprocal of a divisor that it holds as one value for all rows."""
    dividends = [2001.25, 4002.5, 8005.0, 1001.0]
    for count in (3, 6, 7, 12):
        wanted = [float(Fraction(each) / count) for each in dividends]
        apart = pl.DataFrame({"s": dividends, "n": [count] * len(dividends)})
        held_once = pl.DataFrame({"s": dividends}).with_columns(pl.lit(count).alias("n"))
        for frame in (apart, held_once, apart[:1], held_once[:1]):
            found = frame.select(quotient(pl.col("s"), pl.col("n"))).to_series().to_list()
            assert found == wanted[: len(frame)]


@pytest.mark.parametrize("combiner", [Mean("x"), Variance("x"), StdDev("x")])
def test_what_is_read_off_equal_counts_is_what_is_read_off_each_alone(combiner: Combiner) -> None:
    values = [[2000.0, 1.0, 0.25], [1000.75, 0.5, -0.25]]
    read = compile_aggregate("r", combiner, {"x": pl.Float64()}, retracting=False)
    names = [field.name for field in read.fields]
    make = [expr.alias(name) for expr, name in zip(read.make(), names, strict=True)]
    alone = [pl.DataFrame({"x": each}).select(make) for each in values]
    both = pl.concat(alone).with_columns(pl.lit(3, dtype=pl.Int64).alias("r.count"))
    wanted = [each.select(read.result()).to_series()[0] for each in alone]
    assert both.select(read.result()).to_series().to_list() == wanted
