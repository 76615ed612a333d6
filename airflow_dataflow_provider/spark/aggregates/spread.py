"""Variance and standard deviation: moments that are merged, not squares that are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.division import quotient


@dataclass(frozen=True, slots=True)
class Moments(Aggregate):
    """``Variance`` or ``StdDev``: count, mean, and the sum of squared distances from the mean."""

    name: str
    column: str
    sample: bool
    root: bool

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (
            Field(f"{self.name}.count", pl.Int64(), 0),
            Field(f"{self.name}.mean", pl.Float64(), 0.0),
            Field(f"{self.name}.m2", pl.Float64(), 0.0),
        )

    @property
    def _value(self) -> pl.Expr:
        return pl.col(self.column).cast(pl.Float64)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        value = self._value
        # x - x is NaN for what is not finite, as the distance from its own mean is.
        return [value.is_not_null().cast(pl.Int64), value.fill_null(0.0), (value - value).fill_null(0.0)]

    @override
    def make(self) -> Sequence[pl.Expr]:
        """The moments of a group, in two passes over it."""
        value = self._value
        mean = value.mean()
        return [value.count().cast(pl.Int64), mean.fill_null(0.0), ((value - mean) ** 2).sum()]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        count, mean, m2 = (pl.col(field.name) for field in self.fields)
        total = count.sum()
        weighted = pl.when(total > 0).then((mean * count).sum() / total).otherwise(0.0)
        return [total, weighted, m2.sum() + (count * (mean - weighted) ** 2).sum()]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        count, mean, m2 = (pl.col(field.name) for field in self.fields)
        count_2, mean_2, m2_2 = (pl.col(field.name + suffix) for field in self.fields)
        total, apart = count + count_2, mean_2 - mean
        both = (count > 0) & (count_2 > 0)
        alone = pl.when(count > 0).then(mean).otherwise(mean_2)
        merged_mean = pl.when(both).then(mean + apart * count_2 / total).otherwise(alone)
        between = pl.when(both).then(apart**2 * count * count_2 / total).otherwise(0.0)
        return [total, merged_mean, m2 + m2_2 + between]

    @override
    def result(self) -> pl.Expr:
        """Null over too few values."""
        count, _, m2 = (pl.col(field.name) for field in self.fields)
        degrees = count - int(self.sample)
        variance = pl.when(degrees > 0).then(quotient(m2, degrees))
        return variance.sqrt() if self.root else variance
