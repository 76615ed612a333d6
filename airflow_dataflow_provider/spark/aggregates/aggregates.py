"""All aggregates of one grouping, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.spark.aggregates.aggregate import Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.compile_aggregate import compile_aggregate
from airflow_dataflow_provider.spark.aggregates.header import combiners_from_json

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.combiners import Combiner
    from airflow_dataflow_provider.model.grouping import Grouping


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All aggregates of one grouping, over input columns of known types.

    What goes in is rows with the input columns and the event time ``_event`` in microseconds; under retraction also
    ``_sign``, 1 for an element and -1 for one that is taken back. Accumulator columns are plain Arrow types.
    """

    items: tuple[Aggregate, ...]

    @classmethod
    def of(cls, grouping: Grouping, schema: Mapping[str, pl.DataType], *, retracting: bool = False) -> Aggregates:
        """The column-wise form of a grouping's combiners.

        Args:
            grouping: whose combiners.
            schema: the types of the input columns.
            retracting: whether rows carry a sign. Accumulators then keep what is needed to take values back.

        Raises:
            SubmissionError: ``SUBMIT_COLUMN_TYPE``, ``ENGINE_COMBINER``.
        """
        return cls._of(grouping.combiners, schema, retracting=retracting)

    @classmethod
    def from_json(
        cls, combiners: Mapping[str, Any], schema: Mapping[str, pl.DataType], own: Mapping[str, Combiner] | None = None
    ) -> Aggregates:
        """Those that stand in a pane log; see :func:`.header.combiners_from_json`."""
        return cls._of(combiners_from_json(combiners, own), schema, retracting=False)

    @classmethod
    def _of(
        cls, combiners: Mapping[str, Combiner], schema: Mapping[str, pl.DataType], *, retracting: bool
    ) -> Aggregates:
        return cls(
            tuple(
                compile_aggregate(name, combiner, schema, retracting=retracting) for name, combiner in combiners.items()
            )
        )

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for item in self.items for field in item.fields)

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def make(self) -> list[pl.Expr]:
        """Rows to accumulators, inside a group."""
        return self._named([expr for item in self.items for expr in item.make()])

    def lift(self) -> list[pl.Expr]:
        return self._named([expr for item in self.items for expr in item.lift()])

    def merge(self) -> list[pl.Expr]:
        """Accumulators to fewer accumulators, inside a group."""
        return self._named([expr for item in self.items for expr in item.merge()])

    def pair(self, suffix: str) -> list[pl.Expr]:
        """Two accumulators side by side, the second one's columns with a suffix, to one."""
        return self._named([expr for item in self.items for expr in item.pair(suffix)])

    def zeros(self) -> list[pl.Expr]:
        return [pl.lit(field.zero, dtype=field.dtype).alias(field.name) for field in self.fields]

    def extract(self, accumulators: pl.DataFrame) -> pl.DataFrame:
        return accumulators.select(item.result().alias(item.name) for item in self.items)

    @property
    def output_schema(self) -> dict[str, pl.DataType]:
        """The types of the output columns, by name."""
        return dict(self.extract(pl.DataFrame(schema={field.name: field.dtype for field in self.fields})).schema)

    def _named(self, expressions: list[pl.Expr]) -> list[pl.Expr]:
        return [expr.alias(name) for expr, name in zip(expressions, self.names, strict=True)]
