"""Which column-wise form a combiner takes, over input columns of known types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

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
from airflow_dataflow_provider.model.combiners.protocol import Columns
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.spark.aggregates import collected_values, exact_sums, sums, user_defined
from airflow_dataflow_provider.spark.aggregates.aggregate import Aggregate, number
from airflow_dataflow_provider.spark.aggregates.collected_values import CollectedValues, bag, entry
from airflow_dataflow_provider.spark.aggregates.extremes import FirstOrLast, MinOrMax
from airflow_dataflow_provider.spark.aggregates.sketches import DistinctSketch, QuantileSketch
from airflow_dataflow_provider.spark.aggregates.spread import Moments

_AT, _RANK, _VALUE = "at", "rank", "value"
_TIME = pl.Int64()


def compile_aggregate(  # noqa: C901 - one case a combiner
    name: str, combiner: Combiner, schema: Mapping[str, pl.DataType], *, retracting: bool = False
) -> Aggregate:
    """The column-wise form of a combiner.

    Args:
        name: of the output column.
        combiner: what is computed.
        schema: the types of the input columns.
        retracting: whether rows carry a sign, and what they added can be taken back.

    Raises:
        SubmissionError: ``SUBMIT_COLUMN_TYPE`` where a column's type has no such aggregate; ``ENGINE_COMBINER`` for a
            combiner of the user's that does not say the type of its result.
    """
    compiler = _Compiler(name, combiner, schema, retracting)
    match combiner:
        case Count(column=column):
            return sums.count(name, column, retracting=retracting)
        case Sum(column=column):
            return compiler.total(column)
        case Mean(column=column):
            return compiler.mean(column)
        case Variance(column=column):
            return compiler.variance(combiner)
        case Min(column=column) | Max(column=column):
            return compiler.min_or_max(column, greatest=isinstance(combiner, Max))
        case First(column=column) | Last(column=column):
            return compiler.first_or_last(column, latest=isinstance(combiner, Last))
        case Collect(column=column):
            return compiler.collect(column)
        case CountDistinct():
            return compiler.distinct(combiner)
        case Quantiles():
            return compiler.quantiles(combiner)
        case TopK():
            return compiler.top(combiner)
        case VectorisedCombiner():
            return user_defined.vectorised(name, combiner, schema, retracting=retracting)
        case _:
            return user_defined.scalar(name, combiner, schema, retracting=retracting)


@dataclass(frozen=True, slots=True)
class _Compiler:
    name: str
    combiner: Combiner
    schema: Mapping[str, pl.DataType]
    retracting: bool

    def total(self, column: str) -> Aggregate:
        kind = self._accumulating(column)
        if self.retracting and kind.is_float():
            return exact_sums.exact_sum(self.name, column)
        return sums.total(self.name, column, kind, retracting=self.retracting)

    def mean(self, column: str) -> Aggregate:
        kind = self._accumulating(column)
        if self.retracting and kind.is_float():
            return exact_sums.exact_mean(self.name, column)
        if isinstance(kind, pl.Decimal) and not self.retracting:
            kind = pl.Float64()
        return sums.mean(self.name, column, kind, retracting=self.retracting)

    def variance(self, combiner: Variance) -> Aggregate:
        self._accumulating(combiner.column)
        root = isinstance(combiner, StdDev)
        if not self.retracting:
            return Moments(self.name, combiner.column, combiner.sample, root)
        return self._bag(
            {_VALUE: combiner.column}, collected_values.spread(_VALUE, sample=combiner.sample, root=root), pl.Float64(),
            types={_VALUE: pl.Float64()},
        )  # fmt: skip

    def min_or_max(self, column: str, *, greatest: bool) -> Aggregate:
        dtype = self._ordered(column)
        if self.retracting:
            return self._bag({_VALUE: column}, collected_values.first_or_last(_VALUE, last=greatest), dtype)
        return MinOrMax(self.name, column, dtype, greatest)

    def first_or_last(self, column: Columns, *, latest: bool) -> Aggregate:
        dtype = self._ordered_columns(column)
        if self.retracting:
            return self._bag({_AT: EVENT, _VALUE: column}, collected_values.first_or_last(_VALUE, last=latest), dtype)
        if isinstance(column, str):
            return FirstOrLast(self.name, column, dtype, latest)
        normalise, read = collected_values.at_most(1, greatest=latest), collected_values.first_or_last(_VALUE)
        return self._collected("row", {_AT: EVENT, _VALUE: column}, normalise, read, dtype)

    def collect(self, column: Columns) -> Aggregate:
        dtype = self._ordered_columns(column)
        read, output = collected_values.as_list(_VALUE, dtype), pl.List(dtype)
        if self.retracting:
            return self._bag(
                {_AT: EVENT, _VALUE: column}, lambda ragged: read(collected_values.repeated(ragged)), output
            )
        return self._collected("values", {_AT: EVENT, _VALUE: column}, collected_values.sorted_entries, read, output)

    def distinct(self, combiner: CountDistinct) -> Aggregate:
        column = combiner.column
        dtype = self._ordered(column)
        if self.retracting:
            return self._bag({_VALUE: column}, collected_values.entry_count, pl.Int64())
        if not combiner.exact:
            return DistinctSketch(self.name, column, dtype, combiner.lg_k)
        return self._collected(
            "values", {_VALUE: column}, collected_values.distinct, collected_values.entry_count, pl.Int64()
        )

    def quantiles(self, combiner: Quantiles) -> Aggregate:
        self._accumulating(combiner.column)
        if not self.retracting and not combiner.exact:
            return QuantileSketch(self.name, combiner.column, combiner.ranks, combiner.k)
        number = pl.col(combiner.column).cast(pl.Float64).fill_nan(None)
        return bag(
            self.name, {_VALUE: number}, {_VALUE: pl.Float64()}, collected_values.quantiles(combiner.ranks, _VALUE),
            pl.List(pl.Float64()), retracting=self.retracting,
        )  # fmt: skip

    def top(self, combiner: TopK) -> Aggregate:
        dtype = self._ordered_columns(combiner.column)
        columns: dict[str, Columns] = {_VALUE: combiner.column}
        if combiner.by is not None:
            self._ordered(combiner.by)
            columns = {_RANK: combiner.by, **columns}
        read, output = collected_values.as_list(_VALUE, dtype), pl.List(dtype)
        normalise = collected_values.at_most(combiner.k, greatest=True)
        if not self.retracting:
            return self._collected("values", columns, normalise, read, output)
        return self._bag(columns, lambda ragged: read(collected_values.top_k(ragged, combiner.k)), output)

    # The parts that these are made of

    def _types(self, columns: Mapping[str, Columns]) -> dict[str, pl.DataType]:
        return {name: _TIME if column == EVENT else self._type(column) for name, column in columns.items()}

    def _type(self, column: Columns) -> pl.DataType:
        return (
            self.schema[column] if isinstance(column, str) else pl.Struct({name: self.schema[name] for name in column})
        )

    def _values(self, columns: Mapping[str, Columns]) -> dict[str, pl.Expr]:
        return {name: self._value(column) for name, column in columns.items()}

    def _value(self, column: Columns) -> pl.Expr:
        """A column; or several as a struct, which is no null whatever is in it."""
        if isinstance(column, str):
            return pl.col(column)
        return pl.struct(number(pl.col(name)) if self.schema[name].is_float() else pl.col(name) for name in column)

    def _bag(
        self,
        columns: Mapping[str, Columns],
        read: collected_values.Read,
        output: pl.DataType,
        types: Mapping[str, pl.DataType] | None = None,
    ) -> Aggregate:
        return bag(self.name, self._values(columns), self._types(columns) if types is None else types, read, output)

    def _collected(
        self,
        suffix: str,
        columns: Mapping[str, Columns],
        normalise: collected_values.Normalise,
        read: collected_values.Read,
        output: pl.DataType,
    ) -> Aggregate:
        types = self._types(columns)
        return CollectedValues(self.name, suffix, entry(self._values(columns), types), types, normalise, read, output)

    # What columns can be

    def _accumulating(self, column: str) -> pl.DataType:
        """The type that sums are kept in: wide enough that adding up loses nothing that the input had."""
        dtype = self.schema[column]
        if dtype.is_integer() or dtype == pl.Boolean:
            return pl.Int64()
        if dtype.is_float():
            return pl.Float64()
        if isinstance(dtype, pl.Decimal):
            return pl.Decimal(38, dtype.scale)
        raise self._refusal("cannot calculate with", column, "compiler a numeric column, or cast it in the source")

    def _ordered(self, column: str) -> pl.DataType:
        """The type of a column whose values can be sorted."""
        dtype = self.schema[column]
        if dtype.is_nested() or dtype in (pl.Object, pl.Null, pl.Unknown):
            raise self._refusal("cannot compare the values of", column, "compiler a column of plain values")
        return dtype

    def _ordered_columns(self, column: Columns) -> pl.DataType:
        """The same of one column, or of rows of several."""
        if isinstance(column, str):
            return self._ordered(column)
        return pl.Struct({name: self._ordered(name) for name in column})

    def _refusal(self, what: str, column: str, hint: str) -> SubmissionError:
        return SubmissionError(
            f"{self.name}={self.combiner!r} {what} the column {column!r} of type {self.schema[column]}",
            hint=hint,
            code="SUBMIT_COLUMN_TYPE",
        )
