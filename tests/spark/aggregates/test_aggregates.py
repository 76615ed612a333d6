"""The column-wise combiners give what the model's protocol gives, however rows are cut, merged and taken back."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Quantiles,
    StdDev,
    Sum,
    TopK,
    Variance,
    VectorisedCombiner,
)
from airflow_dataflow_provider.spark.aggregates.aggregates import Aggregates
from airflow_dataflow_provider.spark.aggregates.compile_aggregate import compile_aggregate
from airflow_dataflow_provider.spark.values.frames import from_blob, to_blob

EVENT, SIGN = "_event", "_sign"
Row = tuple[str, int, Any, int | None]
"""Group, event time, the value ``x``, and another column ``n``."""

TYPES: dict[str, tuple[pl.DataType, st.SearchStrategy[Any]]] = {
    "int": (pl.Int64(), st.integers(-5, 5) | st.integers(-(2**40), 2**40)),
    "float": (
        pl.Float64(),
        st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf]) | st.floats(-1e6, 1e6),
    ),
    "text": (pl.String(), st.sampled_from(["", "a", "b", "B", "é", "\U0001f600"])),
    "bool": (pl.Boolean(), st.booleans()),
    "decimal": (pl.Decimal(12, 2), st.integers(-(10**6), 10**6).map(lambda cents: Decimal(cents).scaleb(-2))),
    "instant": (
        pl.Datetime("us", "UTC"),
        st.integers(0, 5).map(lambda day: dt.datetime(2013, 1, 1 + day, tzinfo=dt.UTC)),
    ),
    "day": (pl.Date(), st.integers(1, 9).map(lambda day: dt.date(2013, 1, day))),
}
NUMERIC = ("int", "float", "decimal")


@dataclass(frozen=True)
class GeometricMean(VectorisedCombiner):
    column: str

    def lift(self) -> dict[str, pl.Expr]:
        value = pl.col(self.column).cast(pl.Float64).abs() + 1
        return {"logs": value.log(), "count": value.is_not_null().cast(pl.Int64)}

    def fold(self, accumulators: Any) -> dict[str, pl.Expr]:
        return {name: column.sum() for name, column in accumulators.items()}

    def result(self, accumulators: Any) -> pl.Expr:
        return pl.when(accumulators["count"] > 0).then((accumulators["logs"] / accumulators["count"]).exp())


@dataclass(frozen=True)
class PairedMean(GeometricMean):
    """Says itself how two accumulators become one."""

    def pair(self, left: Any, right: Any) -> dict[str, pl.Expr]:
        return {name: left[name] + right[name] for name in left}


@dataclass(frozen=True)
class Latest(VectorisedCombiner):
    """Looks at the event time."""

    columns = ("x",)

    def lift(self) -> dict[str, pl.Expr]:
        return {"at": pl.when(pl.col("x").is_not_null()).then(pl.col(EVENT))}

    def fold(self, accumulators: Any) -> dict[str, pl.Expr]:
        return {"at": accumulators["at"].max()}

    def result(self, accumulators: Any) -> pl.Expr:
        return accumulators["at"]


@dataclass(frozen=True)
class Longest(Combiner):
    """Plain Python, cannot be undone."""

    column: str
    result_type = str

    def create(self) -> str:
        return ""

    def add(self, accumulator: str, value: Any) -> str:
        return self.merge(accumulator, str(value))

    def merge(self, left: str, right: str) -> str:
        return max(left, right, key=lambda text: (len(text), text))

    def extract(self, accumulator: str) -> str:
        return accumulator


@dataclass(frozen=True)
class Parities(Combiner):
    """Plain Python over two columns and the event time, can be undone."""

    columns = ("x", "n")
    result_type = list[int]

    def value_of(self, row: Any, event_time: int = 0) -> int | None:
        return None if row["n"] is None else row["n"] + event_time + (row["x"] is None)

    def create(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, accumulator: tuple[int, int], value: int) -> tuple[int, int]:
        return (accumulator[0] + (value % 2 == 0), accumulator[1] + (value % 2))

    def uncombine(self, accumulator: tuple[int, int], value: int) -> tuple[int, int]:
        return (accumulator[0] - (value % 2 == 0), accumulator[1] - (value % 2))

    def merge(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        return (left[0] + right[0], left[1] + right[1])

    def extract(self, accumulator: tuple[int, int]) -> list[int]:
        return list(accumulator)


ANY = [
    Count(), Count("x"), Min("x"), Max("x"), First("x"), Last("x"), Collect("x"), CountDistinct("x"),
    CountDistinct("x", exact=False), TopK("x", 2), TopK("x", 3, by="n"), TopK("n", 2, by="x"), Longest("x"),
    Parities(), Latest(), First(("x", "n")), Last(("n", "x")), Collect(("x", "n")), TopK(("x", "n"), 2),
    TopK(("n", "x"), 3, by="x"), TopK(("n",), 1, by="n"),
]  # fmt: skip
ON_NUMBERS = [
    Sum("x"), Mean("x"), Variance("x"), Variance("x", sample=False), StdDev("x"), StdDev("x", sample=False),
    Quantiles("x", (0.0, 0.5, 0.9, 1.0)), Quantiles("x", (0.3,), exact=True), GeometricMean("x"), PairedMean("x"),
]  # fmt: skip


def combiners_on(kind: str) -> dict[str, Combiner]:
    """Every combiner that takes such a column, by output name."""
    return {repr(combiner): combiner for combiner in (ANY + ON_NUMBERS if kind in NUMERIC else ANY)}


EVERY_KIND = pytest.mark.parametrize("kind", TYPES)


def rows_of(kind: str) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(
        st.sampled_from("abc"), st.integers(0, 3), st.none() | TYPES[kind][1], st.none() | st.integers(-3, 3)
    )
    return st.lists(row, max_size=12)


def frame(kind: str, rows: Sequence[Row], signs: Sequence[int]) -> pl.DataFrame:
    schema = {"k": pl.String(), EVENT: pl.Int64(), "x": TYPES[kind][0], "n": pl.Int64(), SIGN: pl.Int8()}
    return pl.DataFrame([(*row, sign) for row, sign in zip(rows, signs, strict=True)], schema=schema, orient="row")


def aggregates_of(kind: str, *, retracting: bool) -> Aggregates:
    schema = {"x": TYPES[kind][0], "n": pl.Int64()}
    combiners = combiners_on(kind).items()
    return Aggregates(tuple(compile_aggregate(name, each, schema, retracting=retracting) for name, each in combiners))


def through_columns(
    aggregates: Aggregates, parts: list[pl.DataFrame], data: st.DataObject
) -> dict[str, dict[str, Any]]:
    """Make each part's accumulators one way or the other, merge them one way or the other, and read them."""
    by = "k"
    accumulated: pl.DataFrame | None = None
    for part in parts:
        if data.draw(st.booleans(), label="combine before"):
            made = part.group_by(by).agg(aggregates.make())
        else:
            made = part.select(by, *aggregates.lift()).group_by(by).agg(aggregates.merge())
        made = from_blob(to_blob(made))  # what is made travels
        if accumulated is None:
            accumulated = made
        elif data.draw(st.booleans(), label="side by side"):
            everyone = pl.concat([accumulated.select(by), made.select(by)]).unique()
            zeros = aggregates.zeros()
            left = everyone.join(accumulated, on=by, how="left").join(made.select(by, has=True), on=by, how="left")
            sides = left.join(made, on=by, how="left", suffix="_right").join(
                accumulated.select(by, had=True), on=by, how="left"
            )
            sides = sides.with_columns(
                *(
                    pl.when(pl.col("had").is_null()).then(zero).otherwise(pl.col(name)).alias(name)
                    for name, zero in zip(aggregates.names, zeros, strict=True)
                ),
                *(
                    pl.when(pl.col("has").is_null())
                    .then(zero)
                    .otherwise(pl.col(name + "_right"))
                    .alias(name + "_right")
                    for name, zero in zip(aggregates.names, zeros, strict=True)
                ),
            )
            accumulated = sides.with_columns(aggregates.pair("_right")).select(made.columns)
        else:
            accumulated = pl.concat([made, accumulated]).group_by(by).agg(aggregates.merge())
    assert accumulated is not None
    assert accumulated.schema == {by: pl.String(), **{field.name: field.dtype for field in aggregates.fields}}
    results = aggregates.extract(accumulated)
    assert dict(results.schema) == aggregates.output_schema
    return dict(zip(accumulated[by], results.to_dicts(), strict=True))


def through_protocol(
    combiners: dict[str, Combiner], rows: Sequence[Row], signs: Sequence[int]
) -> dict[str, dict[str, Any]]:
    accumulators: dict[str, dict[str, Any]] = {}
    for (group, at, x, n), sign in zip(rows, signs, strict=True):
        of_group = accumulators.setdefault(group, {name: each.create() for name, each in combiners.items()})
        for name, each in combiners.items():
            value = each.value_of({"x": x, "n": n}, at)
            if value is not None:
                of_group[name] = (each.add if sign > 0 else each.uncombine)(of_group[name], value)
    return {group: extracted(combiners, of_group) for group, of_group in accumulators.items()}


def extracted(combiners: dict[str, Combiner], accumulators: dict[str, Any]) -> dict[str, Any]:
    return {name: each.extract(accumulators[name]) for name, each in combiners.items()}


def assert_same(left: Any, right: Any, name: str) -> None:
    """Equal up to the rounding of floating-point arithmetic."""
    if isinstance(left, dict) and isinstance(right, dict):
        assert_same([*left.items()], [*right.items()], name)
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
        assert len(left) == len(right), name
        for one, other in zip(left, right, strict=True):
            assert_same(one, other, name)
    elif isinstance(left, float) and isinstance(right, float | int):
        # Of numbers up to a million, and of integers whose squares have no room to be exact.
        assert left == pytest.approx(right, rel=1e-9, abs=1e-4, nan_ok=True), name
    else:
        assert left == right, name


def cut(frame: pl.DataFrame, data: st.DataObject) -> list[pl.DataFrame]:
    """In up to four parts, in any order."""
    places = sorted(data.draw(st.lists(st.integers(0, len(frame)), max_size=3), label="cuts"))
    bounds = [0, *places, len(frame)]
    parts = [frame[start:stop] for start, stop in pairwise(bounds)]
    return data.draw(st.permutations(parts))


@EVERY_KIND
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_columns_give_what_the_protocol_gives(kind: str, data: st.DataObject) -> None:
    rows = data.draw(rows_of(kind))
    signs = [1] * len(rows)
    by_columns = through_columns(aggregates_of(kind, retracting=False), cut(frame(kind, rows, signs), data), data)
    assert_same_groups(by_columns, through_protocol(combiners_on(kind), rows, signs))


@EVERY_KIND
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_what_is_taken_back_leaves_what_one_batch_over_the_rest_gives(kind: str, data: st.DataObject) -> None:
    rest, gone = data.draw(rows_of(kind)), data.draw(rows_of(kind))
    changes = data.draw(st.permutations([(row, 1) for row in rest + gone] + [(row, -1) for row in gone]))
    rows, signs = [row for row, _ in changes], [sign for _, sign in changes]
    by_columns = through_columns(aggregates_of(kind, retracting=True), cut(frame(kind, rows, signs), data), data)
    combiners = combiners_on(kind)
    retractable = {name: each.retractable() for name, each in combiners.items()}
    assert_same_groups(by_columns, through_protocol(retractable, rows, signs))
    batch = through_protocol(combiners, rest, [1] * len(rest))
    nothing = extracted(combiners, {name: each.create() for name, each in combiners.items()})
    assert_same_groups(by_columns, {group: batch.get(group, nothing) for group in by_columns})


def assert_same_groups(left: dict[str, dict[str, Any]], right: dict[str, dict[str, Any]]) -> None:
    assert left.keys() == right.keys()
    for group, results in left.items():
        assert results.keys() == right[group].keys()
        for name, result in results.items():
            assert_same(result, right[group][name], name)
