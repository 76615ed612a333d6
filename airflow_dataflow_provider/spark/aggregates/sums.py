"""Counts, sums and means: accumulators that add up, and so can be subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import SIGN, Aggregate, Field, signed
from airflow_dataflow_provider.spark.aggregates.division import quotient


@dataclass(frozen=True, slots=True)
class Term:
    """One accumulator column that adds up.

    Integers are added in 128 bits and cast back strictly, so that none can wrap unseen.
    """

    field: Field
    lift: pl.Expr
    make: pl.Expr

    @property
    def _wide(self) -> pl.DataType:
        return pl.Int128() if self.field.dtype == pl.Int64 else self.field.dtype

    def merge(self) -> pl.Expr:
        return pl.col(self.field.name).cast(self._wide).sum().cast(self.field.dtype)

    def pair(self, suffix: str) -> pl.Expr:
        left, right = pl.col(self.field.name), pl.col(self.field.name + suffix)
        return (left.cast(self._wide) + right).cast(self.field.dtype)


@dataclass(frozen=True, slots=True)
class Additive(Aggregate):
    """Columns that add up, and the result read from them."""

    name: str
    terms: tuple[Term, ...]
    read: pl.Expr

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return tuple(term.field for term in self.terms)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return [term.lift for term in self.terms]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return [term.make for term in self.terms]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return [term.merge() for term in self.terms]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        return [term.pair(suffix) for term in self.terms]

    @override
    def result(self) -> pl.Expr:
        return self.read


def counting(name: str, column: str | None, *, retracting: bool = False) -> Term:
    """The number of rows, or of a column's values."""
    counted = pl.lit(1) if column is None else pl.col(column).is_not_null()
    lift, make = counted.cast(pl.Int64), pl.len() if column is None else pl.col(column).count()
    if retracting:
        lift = pl.col(SIGN).cast(pl.Int64) * lift
        make = lift.sum()
    return Term(Field(f"{name}.count", pl.Int64(), 0, "sum"), lift, make.cast(pl.Int64))


def adding(name: str, column: str, dtype: pl.DataType, *, retracting: bool = False) -> Term:
    """The sum of a column's values, kept in that type."""
    wide = pl.Int128() if dtype == pl.Int64 else dtype
    value = signed(pl.col(column).cast(wide), retracting=retracting)
    # One value needs no more room than its type has, unless its sign is turned.
    single = value.cast(dtype) if retracting else pl.col(column).cast(dtype)
    return Term(Field(f"{name}.sum", dtype, 0, "sum"), single.fill_null(0), value.sum().cast(dtype))


def count(name: str, column: str | None, *, retracting: bool) -> Aggregate:
    term = counting(name, column, retracting=retracting)
    return Additive(name, (term,), pl.col(term.field.name))


def total(name: str, column: str, dtype: pl.DataType, *, retracting: bool) -> Aggregate:
    """``Sum`` of values that can be subtracted exactly, or are never retracted."""
    term = adding(name, column, dtype, retracting=retracting)
    return Additive(name, (term,), pl.col(term.field.name))


def mean(name: str, column: str, dtype: pl.DataType, *, retracting: bool) -> Aggregate:
    """``Mean``, by a sum in that type."""
    summed = adding(name, column, dtype, retracting=retracting)
    counted = counting(name, column, retracting=retracting)
    number = pl.col(counted.field.name)
    return Additive(name, (summed, counted), pl.when(number > 0).then(quotient(pl.col(summed.field.name), number)))
