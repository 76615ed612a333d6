"""Aggregates by event time: the first value, the last value, all values in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.combiners.protocol import (
    Columns,
    Combiner,
    check_columns,
    order,
    read,
    result,
)

_Timed = tuple[int, Any]
"""An event time in microseconds, and a value."""


class _ByTime(Combiner):
    __slots__ = ()

    column: Columns

    def __post_init__(self) -> None:
        check_columns(type(self).__name__, self.column)

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> _Timed | None:
        """The value with its event time."""
        value = read(self.column, row)
        return None if value is None else (event_time, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class First(_ByTime):
    """The value with the least event time, None over none; of several at one instant the least.

    ``First(("price", "url"))`` is one whole row, nulls included: a mapping of both columns. Of several rows at one
    instant it is the least, compared column by column, where a null is less than any value.

    Under retraction it keeps every value with its event time.
    """

    column: Columns

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: _Timed | None, value: _Timed) -> _Timed:
        return value if accumulator is None else min(accumulator, value, key=order)

    def merge(self, left: _Timed | None, right: _Timed | None) -> _Timed | None:
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: _Timed | None) -> Any:  # noqa: ANN401
        return None if accumulator is None else result(self.column, accumulator[1])


@dataclass(frozen=True, slots=True, repr=False)
class Last(_ByTime):
    """The value with the greatest event time, None over none; of several at one instant the greatest.

    ``Last(("price", "url"))`` is one whole row, nulls included: a mapping of both columns. Of several rows at one
    instant it is the greatest, compared column by column, where a null is less than any value. ``Last("price")`` beside
    ``Last("url")`` may come from two rows, where one of them has a null or both have the same event time.

    Under retraction it keeps every value with its event time.
    """

    column: Columns

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: _Timed | None, value: _Timed) -> _Timed:
        return value if accumulator is None else max(accumulator, value, key=order)

    def merge(self, left: _Timed | None, right: _Timed | None) -> _Timed | None:
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: _Timed | None) -> Any:  # noqa: ANN401
        return None if accumulator is None else result(self.column, accumulator[1])


@dataclass(frozen=True, slots=True, repr=False)
class Collect(_ByTime):
    """All values as a list, ordered by event time, then by value. The order of arrival does not matter.

    ``Collect(("price", "url"))`` is a list of whole rows, as :class:`Last` takes them.

    Costs: the accumulator is as large as the input. Under retraction it has a count beside each value.
    """

    column: Columns

    def create(self) -> tuple[_Timed, ...]:
        return ()

    def add(self, accumulator: tuple[_Timed, ...], value: _Timed) -> tuple[_Timed, ...]:
        return (*accumulator, value)

    def merge(self, left: tuple[_Timed, ...], right: tuple[_Timed, ...]) -> tuple[_Timed, ...]:
        return left + right

    def extract(self, accumulator: tuple[_Timed, ...]) -> list[Any]:
        return [result(self.column, value) for _, value in sorted(accumulator, key=order)]
