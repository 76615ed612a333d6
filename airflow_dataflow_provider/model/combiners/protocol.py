"""The protocol of a combiner: an associative and commutative aggregate, and whether values can be taken back.

The protocol (``create, add, merge, extract``) is on plain Python values. The reference interpreter runs it, and the
column-wise version of an engine is compared with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_dataflow_provider.model.described import Described
from airflow_dataflow_provider.model.errors import DefinitionError

Accumulator = Any
Columns = str | tuple[str, ...]
"""One column, whose value counts where there is one; or several, as a row that stays together, nulls included."""


class Combiner(Described, ABC):
    """One aggregate of a grouping; the base of the built-in ones and of the user's own.

    A combiner of one's own is a frozen dataclass with the four methods and a :attr:`result_type`::

        @dataclass(frozen=True)
        class Product(Combiner):
            column: str
            result_type = float

            def create(self): return 1.0
            def add(self, accumulator, value): return accumulator * value
            def merge(self, left, right): return left * right
            def extract(self, accumulator): return accumulator

    Guarantees: a value is never None; accumulators are merged in any order and grouping.

    Costs: the engine calls a combiner of one's own once a row, and keeps its accumulators as bytes: plain values, or
    instances of classes of the combiner's own package. Where that is too slow, write a
    :class:`~airflow_dataflow_provider.model.combiners.vectorised.VectorisedCombiner`.
    """

    __slots__ = ()

    column: Columns | None

    result_type: ClassVar[Any] = None
    """The Python type of the result (``float``, ``list[int]``, ...). A combiner of one's own must set it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that it reads, beside the event time; none where the row itself is counted."""
        column = getattr(self, "column", None)
        return () if column is None else column if isinstance(column, tuple) else (column,)

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> Any:  # noqa: ANN401, ARG002 - any column's value
        """The value that is added for a row: the column's value, or a tuple of several; None is skipped.

        Args:
            row: the row's columns.
            event_time: when it happened, in microseconds since the epoch.
        """
        if not self.columns:
            return True
        values = tuple(canonical(row.get(column)) for column in self.columns)
        if any(value is None for value in values):
            return None
        return values[0] if len(values) == 1 else values

    @abstractmethod
    def create(self) -> Accumulator:
        """An accumulator without values."""

    @abstractmethod
    def add(self, accumulator: Accumulator, value: Any) -> Accumulator:  # noqa: ANN401
        """The accumulator with one value (never None) added."""

    @abstractmethod
    def merge(self, left: Accumulator, right: Accumulator) -> Accumulator:
        """The accumulator of the values of both."""

    @abstractmethod
    def extract(self, accumulator: Accumulator) -> Any:  # noqa: ANN401
        """The result over the values."""

    def uncombine(self, accumulator: Accumulator, value: Any) -> Accumulator:  # noqa: ANN401, ARG002
        """The accumulator with one value taken back, exactly.

        The value may not have been added *yet*: the accumulator that has it may be merged in later.

        Raises:
            DefinitionError: ``DEFINITION_COMBINER`` where no value can be taken back; use :meth:`retractable`.
        """
        raise DefinitionError(
            f"{self!r} cannot take a value back",
            reason="its accumulator does not keep the values that this needs",
            hint="use the combiner that retractable() returns; it keeps them",
            code="DEFINITION_COMBINER",
        )

    def retractable(self) -> Combiner:
        """A combiner with the same result that can take values back: this one, or one that keeps more."""
        return self if type(self).uncombine is not Combiner.uncombine else KeepingValues(self)


@dataclass(frozen=True, slots=True, repr=False)
class KeepingValues(Combiner):
    """Makes any combiner retractable: keeps every value with its count, and computes the result when it is read.

    Values must be hashable and have an order. The result is computed over the sorted values, so that it does not depend
    on the order in which values were added and taken back.
    """

    combiner: Combiner

    @property
    def columns(self) -> tuple[str, ...]:
        return self.combiner.columns

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> Any:  # noqa: ANN401
        return self.combiner.value_of(row, event_time)

    def create(self) -> dict[Any, int]:
        return {}

    def add(self, accumulator: dict[Any, int], value: Any) -> dict[Any, int]:  # noqa: ANN401
        return self.merge(accumulator, {canonical(value): 1})

    def uncombine(self, accumulator: dict[Any, int], value: Any) -> dict[Any, int]:  # noqa: ANN401
        return self.merge(accumulator, {canonical(value): -1})

    def merge(self, left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
        """Add the counts, and drop values whose count is zero."""
        counts = {value: left.get(value, 0) + right.get(value, 0) for value in {**left, **right}}
        return {value: count for value, count in counts.items() if count}

    def extract(self, accumulator: dict[Any, int]) -> Any:  # noqa: ANN401
        inner = self.combiner.create()
        for value in sorted(accumulator, key=order):
            for _ in range(accumulator[value]):
                inner = self.combiner.add(inner, value)
        return self.combiner.extract(inner)

    def __repr__(self) -> str:
        return f"{self.combiner!r}.retractable()"


def canonical(value: Any) -> Any:  # noqa: ANN401
    """The value itself, with -0.0 as 0.0 and every NaN as one object, so that NaN equals itself in containers."""
    if isinstance(value, tuple):
        return tuple(map(canonical, value))
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return value


def order(value: Any) -> Any:  # noqa: ANN401
    """A sort key: NaN is greater than any number (as in Spark and PostgreSQL), None less; tuples part by part."""
    if isinstance(value, tuple):
        return tuple(map(order, value))
    return value is not None, isinstance(value, float) and math.isnan(value), value


def check_column(name: str, column: object, *, optional: bool = False) -> None:
    """Refuse anything but the name of a column.

    Raises:
        DefinitionError: ``DEFINITION_COMBINER``.
    """
    if optional and column is None:
        return
    check(
        isinstance(column, str) and bool(column),
        lambda: f"{name}({column!r}) needs the name of a column",
        f'write {name}("amount")',
    )


def check_columns(name: str, column: object) -> None:
    """Refuse anything but the name of a column or a tuple of different names.

    Raises:
        DefinitionError: ``DEFINITION_COMBINER``.
    """
    if not isinstance(column, tuple):
        check_column(name, column)
        return
    check(
        bool(column) and all(isinstance(each, str) and each for each in column) and len({*column}) == len(column),
        lambda: f"{name}({column!r}) needs the names of different columns",
        f'write {name}(("price", "url"))',
    )


def read(column: Columns, row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any column's value
    """The value of a column, None for a null; or a row of several columns, nulls included."""
    if isinstance(column, tuple):
        return tuple(canonical(row.get(each)) for each in column)
    return canonical(row.get(column))


def result(column: Columns, value: Any) -> Any:  # noqa: ANN401
    """The published form of a value that :func:`read` returned: a row becomes a mapping by column."""
    return dict(zip(column, value, strict=True)) if isinstance(column, tuple) and value is not None else value


def check(good: bool, what: Callable[[], str], hint: str) -> None:
    """Refuse an argument of a combiner.

    Raises:
        DefinitionError: ``DEFINITION_COMBINER``.
    """
    if not good:
        raise DefinitionError(what(), hint=hint, code="DEFINITION_COMBINER")
