"""Accumulators as bytes: sketches, and those of users' combiners in Python. One binary column each.

One Python call a group makes, merges or reads one; that is the price of a sketch, and why built-in combiners keep plain
columns where they can. Null is the accumulator of nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise

import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.polars_errors import carrying
from airflow_dataflow_provider.spark.aggregates.ragged import Ragged


class Packed(Aggregate):
    """One binary column."""

    name: str

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (Field(f"{self.name}.packed", pl.Binary()),)

    @property
    @abstractmethod
    def entry(self) -> pl.Expr:
        """The value of a row; null is skipped."""

    @property
    @abstractmethod
    def output(self) -> pl.DataType:
        """The type of the result."""

    @abstractmethod
    def pack(self, rows: Ragged) -> Sequence[bytes | None]:
        """The entries of each group to an accumulator."""

    @abstractmethod
    def merged(self, parts: Sequence[bytes]) -> bytes:
        """Two or more accumulators to one."""

    @abstractmethod
    def read(self, packed: Sequence[bytes | None]) -> pl.Series:
        """The results."""

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return [self._binary(pl.concat_list(self.entry), self._packed)]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return [self._binary(self.entry.implode(), self._packed)]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return [self._binary(self._column.implode(), self._merged)]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        return [self._binary(pl.concat_list(self._column, pl.col(self.fields[0].name + suffix)), self._merged)]

    @override
    def result(self) -> pl.Expr:
        return self._column.map_batches(
            carrying(lambda packed: self.read(packed.to_list())), return_dtype=self.output, is_elementwise=True
        )

    @property
    def _column(self) -> pl.Expr:
        return pl.col(self.fields[0].name)

    @staticmethod
    def _binary(lists: pl.Expr, function: Callable[[pl.Series], pl.Series]) -> pl.Expr:
        return lists.map_batches(carrying(function), return_dtype=pl.Binary, is_elementwise=True)

    def _packed(self, lists: pl.Series) -> pl.Series:
        return pl.Series(self.pack(Ragged.of(lists)), dtype=pl.Binary)

    def _merged(self, lists: pl.Series) -> pl.Series:
        ragged = Ragged.of(lists)
        parts = ragged.values.to_list()
        spans = pairwise(ragged.offsets.tolist())
        # Most groups have one part, and that is left as it is.
        merged = [
            self.merged(parts[start:stop]) if stop - start > 1 else parts[start] if stop > start else None
            for start, stop in spans
        ]
        return pl.Series(merged, dtype=pl.Binary)
