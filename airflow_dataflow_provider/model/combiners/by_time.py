"""What depends on when things happened: the first, the last, all in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.combiners.protocol import Combiner, check_column, order

_Timed = tuple[int, Any]
"""An event time in microseconds, and a value."""


class _ByTime(Combiner):
    __slots__ = ()

    def __post_init__(self) -> None:
        check_column(type(self).__name__, self.column)

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> _Timed | None:
        """The value with its event time."""
        value = Combiner.value_of(self, row, event_time)
        return None if value is None else (event_time, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class First(_ByTime):
    """The value with the least event time, None over none; of several at one instant the least.

    Under retraction it keeps every value with its event time.
    """

    column: str

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: _Timed | None, value: _Timed) -> _Timed:
        """The earlier of the two."""
        return value if accumulator is None else min(accumulator, value, key=order)

    def merge(self, left: _Timed | None, right: _Timed | None) -> _Timed | None:
        """The earlier of the two."""
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: _Timed | None) -> Any:  # noqa: ANN401
        """The first value."""
        return None if accumulator is None else accumulator[1]


@dataclass(frozen=True, slots=True, repr=False)
class Last(_ByTime):
    """The value with the greatest event time, None over none; of several at one instant the greatest.

    Under retraction it keeps every value with its event time.
    """

    column: str

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: _Timed | None, value: _Timed) -> _Timed:
        """The later of the two."""
        return value if accumulator is None else max(accumulator, value, key=order)

    def merge(self, left: _Timed | None, right: _Timed | None) -> _Timed | None:
        """The later of the two."""
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: _Timed | None) -> Any:  # noqa: ANN401
        """The last value."""
        return None if accumulator is None else accumulator[1]


@dataclass(frozen=True, slots=True, repr=False)
class Collect(_ByTime):
    """All values as a list, by event time, and at one instant by value: it does not depend on how they came.

    Costs: the accumulator is as large as the input. Under retraction it has a count beside each value.
    """

    column: str

    def create(self) -> tuple[_Timed, ...]:
        """None yet."""
        return ()

    def add(self, accumulator: tuple[_Timed, ...], value: _Timed) -> tuple[_Timed, ...]:
        """One value more."""
        return (*accumulator, value)

    def merge(self, left: tuple[_Timed, ...], right: tuple[_Timed, ...]) -> tuple[_Timed, ...]:
        """The values of both."""
        return left + right

    def extract(self, accumulator: tuple[_Timed, ...]) -> list[Any]:
        """The values in order."""
        return [value for _, value in sorted(accumulator, key=order)]
