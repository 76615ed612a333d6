"""Columns of open windows beside the accumulators: first arrival, event times, number of elements."""

from __future__ import annotations

import polars as pl

from airflow_dataflow_provider.model.grouping import EARLIEST as EARLIEST_TIME
from airflow_dataflow_provider.model.grouping import LATEST as LATEST_TIME
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.refinement import DISCARDING
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.spark.kernel.columns import (
    ARRIVAL,
    EARLIEST,
    ELEMENTS,
    EVENT,
    FIRST_ARRIVAL,
    LATEST,
    SIGN,
)
from airflow_dataflow_provider.spark.kernel.triggers.node import NOT_FRESH

_INT = pl.Int64()


class Bookkeeping:
    """Columns that are combined like accumulators, each only where something reads it.

    Args:
        grouping: its trigger and output time say what is read.
        has_user_trigger: a part of its trigger is a user's own, which may look at everything.
        input_retracts: elements can be taken back, so that a window can become empty.
    """

    def __init__(self, grouping: Grouping, *, has_user_trigger: bool, input_retracts: bool) -> None:
        self.timed = has_user_trigger or any(node.looks_at_processing_time for node in grouping.trigger.walk())
        self._discards = grouping.refinement is DISCARDING
        self._columns: dict[str, tuple[str, pl.Expr, int]] = {}
        if self.timed:
            self._columns[FIRST_ARRIVAL] = ("min", pl.col(ARRIVAL), NOT_FRESH)
        if grouping.output_time is EARLIEST_TIME:
            self._columns[EARLIEST] = ("min", pl.col(EVENT), MAX_TIME)
        if grouping.output_time is LATEST_TIME:
            self._columns[LATEST] = ("max", pl.col(EVENT), MIN_TIME)
        if input_retracts:
            self._columns[ELEMENTS] = ("sum", pl.col(SIGN).cast(_INT), 0)

    @property
    def names(self) -> list[str]:
        return list(self._columns)

    @property
    def folds(self) -> dict[str, tuple[str, pl.DataType]]:
        """How each folds, and its type."""
        return {name: (how, _INT) for name, (how, _, _) in self._columns.items()}

    @property
    def lasting(self) -> list[str]:
        """The columns that cover all elements of a window, not only those since the last pane."""
        return [name for name in self._columns if name == ELEMENTS or (name != FIRST_ARRIVAL and not self._discards)]

    def discarded(self) -> list[pl.Expr]:
        """The event times of no elements, which a discarding window starts again with."""
        zeros = zip(self._columns, self.zeros(), strict=True)
        return [zero for name, zero in zeros if self._discards and name in (EARLIEST, LATEST)]

    @property
    def types(self) -> dict[str, pl.DataType]:
        return dict.fromkeys(self._columns, _INT)

    def make(self) -> list[pl.Expr]:
        """Elements to columns, inside a group."""
        return [getattr(source, how)().cast(_INT).alias(name) for name, (how, source, _) in self._columns.items()]

    def lift(self) -> list[pl.Expr]:
        return [source.cast(_INT).alias(name) for name, (_, source, _) in self._columns.items()]

    def merge(self) -> list[pl.Expr]:
        """Columns to fewer, inside a group."""
        return [getattr(pl.col(name), how)().alias(name) for name, (how, _, _) in self._columns.items()]

    def pair(self, suffix: str) -> list[pl.Expr]:
        """Two side by side to one."""
        horizontal = {"min": pl.min_horizontal, "max": pl.max_horizontal, "sum": pl.sum_horizontal}
        return [horizontal[how](name, name + suffix).alias(name) for name, (how, _, _) in self._columns.items()]

    def zeros(self) -> list[pl.Expr]:
        return [pl.lit(zero, dtype=_INT).alias(name) for name, (_, _, zero) in self._columns.items()]
