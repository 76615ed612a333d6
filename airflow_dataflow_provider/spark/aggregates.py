"""Combiners, column-wise: each becomes a few accumulator columns and the expressions that make, merge and read them.

The Python protocol in :mod:`airflow_dataflow_provider.model.combiners` says what the result must be; this module says
how polars gets there without touching single values. The accumulator of aggregate ``total`` is one or more columns
named ``total.<field>``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping


@dataclass(frozen=True, slots=True)
class Field:
    """One accumulator column.

    ``lift`` makes the accumulator of one row; ``make`` that of a group of rows, at once; ``merge`` folds this column
    inside a group; ``pair`` folds two columns row by row; ``zero`` is the accumulator of nothing.
    """

    name: str
    dtype: pl.DataType
    zero: int | None
    lift: pl.Expr
    make: pl.Expr
    merge: Callable[[pl.Expr], pl.Expr]
    pair: Callable[[pl.Expr, pl.Expr], pl.Expr]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One named output with its accumulator columns."""

    name: str
    fields: tuple[Field, ...]
    extract: pl.Expr


def _additive(name: str, dtype: pl.DataType, lift: pl.Expr, make: pl.Expr) -> Field:
    """A column that adds up. Integers are added in 128 bits and cast back strictly, so that none can wrap unseen."""
    wide = pl.Int128() if dtype == pl.Int64 else dtype
    return Field(
        name,
        dtype,
        0,
        lift,
        make,
        lambda column: column.cast(wide).sum().cast(dtype),
        lambda left, right: (left.cast(wide) + right).cast(dtype),
    )


def _total(name: str, column: str, dtype: pl.DataType) -> Field:
    wide = pl.Int128() if dtype == pl.Int64 else dtype
    value = pl.col(column)
    return _additive(name, dtype, value.cast(dtype).fill_null(0), value.cast(wide).sum().cast(dtype))


def _accumulating_type(dtype: pl.DataType, what: str) -> pl.DataType:
    """The type that sums are kept in: wide enough that adding up loses nothing that the input had."""
    if dtype.is_integer() or dtype == pl.Boolean:
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if isinstance(dtype, pl.Decimal):
        return pl.Decimal(38, dtype.scale)
    raise SubmissionError(
        f"{what} cannot add up a column of type {dtype}",
        todo="choose a numeric column, or cast it in the source",
        code="SUBMIT_COLUMN_TYPE",
    )


def aggregate(name: str, combiner: Combiner, schema: Mapping[str, pl.DataType]) -> Aggregate:
    """The column-wise form of a combiner over input columns of these types.

    Raises:
        SubmissionError: ``SUBMIT_COLUMN_TYPE`` where the column's type has no such aggregate;
            ``ENGINE_COMBINER`` for a combiner that the engine does not know.
    """
    what = f"{name}={combiner!r}"
    match combiner:
        case Count(column=None):
            return _count(name, pl.lit(1), pl.len())
        case Count(column=str(column)):
            return _count(name, pl.col(column).is_not_null(), pl.col(column).count())
        case Sum(column=column):
            total = _total(f"{name}.sum", column, _accumulating_type(schema[column], what))
            return Aggregate(name, (total,), pl.col(total.name).alias(name))
        case Mean(column=column):
            kind = _accumulating_type(schema[column], what)
            total = _total(f"{name}.sum", column, pl.Float64() if isinstance(kind, pl.Decimal) else kind)
            (count,) = _count(name, pl.col(column).is_not_null(), pl.col(column).count()).fields
            some = pl.when(pl.col(count.name) > 0).then(pl.col(total.name).cast(pl.Float64) / pl.col(count.name))
            return Aggregate(name, (total, count), some.alias(name))
        case Min(column=column):
            return _extreme(name, column, schema[column], pl.Expr.min, pl.min_horizontal)
        case Max(column=column):
            return _extreme(name, column, schema[column], pl.Expr.max, pl.max_horizontal)
        case _:
            raise SubmissionError(
                f"the Spark engine does not know the combiner {what}",
                todo="use Count, Sum, Mean, Min or Max",
                code="ENGINE_COMBINER",
            )


def _count(name: str, lift: pl.Expr, make: pl.Expr) -> Aggregate:
    field = _additive(f"{name}.count", pl.Int64(), lift.cast(pl.Int64), make.cast(pl.Int64))
    return Aggregate(name, (field,), pl.col(field.name).alias(name))


def _extreme(
    name: str,
    column: str,
    dtype: pl.DataType,
    fold: Callable[[pl.Expr], pl.Expr],
    horizontal: Callable[..., pl.Expr],
) -> Aggregate:
    field = Field(f"{name}.value", dtype, None, pl.col(column), fold(pl.col(column)), fold, horizontal)
    return Aggregate(name, (field,), pl.col(field.name).alias(name))


def combiners_to_json(grouping: Grouping) -> dict[str, tuple[str, str | None]]:
    """A grouping's combiners by output name: kind and input column."""
    return {name: (type(combiner).__name__, combiner.column) for name, combiner in grouping.combiners.items()}


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All aggregates of one grouping, over input columns of known types."""

    items: tuple[Aggregate, ...]

    @classmethod
    def of(cls, grouping: Grouping, schema: Mapping[str, pl.DataType]) -> Aggregates:
        """The column-wise form of a grouping's combiners."""
        return cls(tuple(aggregate(name, combiner, schema) for name, combiner in grouping.combiners.items()))

    @classmethod
    def from_json(
        cls, combiners: Mapping[str, tuple[str, str | None]], schema: Mapping[str, pl.DataType]
    ) -> Aggregates:
        """Read back :func:`combiners_to_json`."""
        known: dict[str, Callable[..., Combiner]] = {kind.__name__: kind for kind in (Count, Sum, Mean, Min, Max)}
        return cls(tuple(aggregate(name, known[kind](column), schema) for name, (kind, column) in combiners.items()))

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every accumulator column."""
        return tuple(field for item in self.items for field in item.fields)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [field.name for field in self.fields]

    def make(self) -> list[pl.Expr]:
        """Rows to accumulators, inside a group."""
        return [field.make.alias(field.name) for field in self.fields]

    def lift(self) -> list[pl.Expr]:
        """Rows to accumulators, one each."""
        return [field.lift.alias(field.name) for field in self.fields]

    def merge(self) -> list[pl.Expr]:
        """Accumulators to fewer accumulators, inside a group."""
        return [field.merge(pl.col(field.name)).alias(field.name) for field in self.fields]

    def pair(self, suffix: str) -> list[pl.Expr]:
        """Two accumulators standing side by side, the second one's columns with a suffix, to one."""
        return [field.pair(pl.col(field.name), pl.col(field.name + suffix)).alias(field.name) for field in self.fields]

    def zeros(self) -> list[pl.Expr]:
        """The accumulators of nothing."""
        return [pl.lit(field.zero, dtype=field.dtype).alias(field.name) for field in self.fields]

    def extract(self, accumulators: pl.DataFrame) -> pl.DataFrame:
        """The output columns."""
        return accumulators.select(item.extract for item in self.items)
