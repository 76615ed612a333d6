"""``Min``, ``Max``, ``First`` and ``Last``: the accumulator is one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.spark.aggregates.aggregate import Aggregate, Field


@dataclass(frozen=True, slots=True)
class MinOrMax(Aggregate):
    """``Min`` or ``Max``. NaN is greater than any number."""

    name: str
    column: str
    dtype: pl.DataType
    greatest: bool

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (Field(f"{self.name}.value", self.dtype, how="max" if self.greatest else "min"),)

    @property
    def _value(self) -> pl.Expr:
        return pl.col(self.fields[0].name)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return [pl.col(self.column)]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return [fold(pl.col(self.column), self.dtype, greatest=self.greatest)]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return [fold(self._value, self.dtype, greatest=self.greatest)]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        left, right = self._value, pl.col(self.fields[0].name + suffix)
        if not self.greatest:
            return [pl.min_horizontal(left, right)]
        best = pl.max_horizontal(left, right)
        if not self.dtype.is_float():
            return [best]
        return [pl.when(left.is_nan()).then(left).when(right.is_nan()).then(right).otherwise(best)]

    @override
    def result(self) -> pl.Expr:
        return self._value


def fold(values: pl.Expr, dtype: pl.DataType, *, greatest: bool) -> pl.Expr:
    """The least or greatest of a group, where NaN is the greatest."""
    if not greatest:
        return values.min()  # passes over NaN unless there is nothing else
    return values.nan_max() if dtype.is_float() else values.max()


@dataclass(frozen=True, slots=True)
class FirstOrLast(Aggregate):
    """``First`` or ``Last`` by event time; of several at one instant the least or the greatest."""

    name: str
    column: str
    dtype: pl.DataType
    latest: bool

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return Field(f"{self.name}.at", pl.Int64()), Field(f"{self.name}.value", self.dtype)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        value = pl.col(self.column)
        return [pl.when(value.is_not_null()).then(pl.col(EVENT)), value]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return self._folded(*self.lift())

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return self._folded(*(pl.col(field.name) for field in self.fields))

    def _folded(self, at: pl.Expr, value: pl.Expr) -> Sequence[pl.Expr]:
        when = at.max() if self.latest else at.min()
        return [when, fold(value.filter(at == when), self.dtype, greatest=self.latest)]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        at, value = (pl.col(field.name) for field in self.fields)
        other_at, other = (pl.col(field.name + suffix) for field in self.fields)
        when = pl.max_horizontal(at, other_at) if self.latest else pl.min_horizontal(at, other_at)
        [tied] = MinOrMax(self.name, self.column, self.dtype, self.latest).pair(suffix)
        # A null on the other side wins against nothing.
        other_wins = at.is_null() | (other_at == when)
        chosen = pl.when(at == other_at).then(tied).when(other_wins).then(other).otherwise(value)
        return [when, chosen]

    @override
    def result(self) -> pl.Expr:
        return pl.col(self.fields[1].name)
