"""What is computed: combiners, associative and commutative (Dataflow Model, section 3.2).

The protocol (``create, add, merge, extract``) is on plain Python values: it is what the reference interpreter runs, and
what an engine's column-wise version is compared with. A combiner that reads a column skips its nulls; over no values at
all a sum and a count are 0 (a monoid's zero, as in Beam; SQL says NULL), a mean, minimum and maximum are None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.errors import DefinitionError

Accumulator = Any


class Combiner(ABC):
    """One aggregate of a grouping. ``column`` is the input column, or None if the row itself is counted."""

    __slots__ = ()

    column: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that it reads."""
        return () if self.column is None else (self.column,)

    def retractable(self) -> Combiner:
        """A combiner with the same result that can also undo."""
        return self

    def uncombine(self, accumulator: Accumulator, value: Any) -> Accumulator:
        """Without one value."""
        raise NotImplementedError

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> Any:  # noqa: ANN401 - a column's value is any type
        """What this combiner reads of a row; None is skipped."""
        return True if self.column is None else row.get(self.column)

    @abstractmethod
    def create(self) -> Accumulator:
        """The accumulator of nothing."""

    @abstractmethod
    def add(self, accumulator: Accumulator, value: Any) -> Accumulator:  # noqa: ANN401
        """With one value (never None) more."""

    @abstractmethod
    def merge(self, left: Accumulator, right: Accumulator) -> Accumulator:
        """Both together."""

    @abstractmethod
    def extract(self, accumulator: Accumulator) -> Any:  # noqa: ANN401
        """The result."""


def _check_column(name: str, column: object, *, optional: bool = False) -> None:
    if optional and column is None:
        return
    if not isinstance(column, str) or not column:
        raise DefinitionError(
            f"{name}({column!r}) needs the name of a column", todo=f'write {name}("amount")', code="DEFINITION_COMBINER"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Count(Combiner):
    """The number of elements, or of the non-null values of a column."""

    column: str | None = None

    def __post_init__(self) -> None:
        _check_column("Count", self.column, optional=True)

    def create(self) -> int:
        """Zero."""
        return 0

    def add(self, accumulator: int, value: Any) -> int:  # noqa: ANN401, ARG002
        """One more."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """The sum of counts."""
        return left + right

    def extract(self, accumulator: int) -> int:
        """The count."""
        return accumulator

    def __repr__(self) -> str:
        return f"Count({self.column!r})" if self.column else "Count()"


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Combiner):
    """The sum of a numeric column: int64 for integers (an overflow fails the job), float64, or decimal."""

    column: str

    def __post_init__(self) -> None:
        _check_column("Sum", self.column)

    def create(self) -> int:
        """Zero."""
        return 0

    def add(self, accumulator: Any, value: Any) -> Any:  # noqa: ANN401
        """Plus the value."""
        return accumulator + value

    def merge(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        """The sum of sums."""
        return left + right

    def extract(self, accumulator: Any) -> Any:  # noqa: ANN401
        """The sum."""
        return accumulator

    def __repr__(self) -> str:
        return f"Sum({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Mean(Combiner):
    """The arithmetic mean of a numeric column, as float64; the accumulator is ``(sum, count)``."""

    column: str

    def __post_init__(self) -> None:
        _check_column("Mean", self.column)

    def create(self) -> tuple[float, int]:
        """Nothing summed, nothing counted."""
        return 0.0, 0

    def add(self, accumulator: tuple[float, int], value: Any) -> tuple[float, int]:  # noqa: ANN401
        """One value more."""
        return accumulator[0] + float(value), accumulator[1] + 1

    def merge(self, left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        """Sums and counts add."""
        return left[0] + right[0], left[1] + right[1]

    def extract(self, accumulator: tuple[float, int]) -> float | None:
        """Sum over count."""
        total, count = accumulator
        return total / count if count else None

    def __repr__(self) -> str:
        return f"Mean({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Min(Combiner):
    """The least value of a column."""

    column: str

    def __post_init__(self) -> None:
        _check_column("Min", self.column)

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: Any, value: Any) -> Any:  # noqa: ANN401
        """The lesser of the two."""
        return value if accumulator is None else min(accumulator, value)

    def merge(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        """The lesser of the two."""
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: Any) -> Any:  # noqa: ANN401
        """The least value, or None."""
        return accumulator

    def __repr__(self) -> str:
        return f"Min({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Max(Combiner):
    """The greatest value of a column."""

    column: str

    def __post_init__(self) -> None:
        _check_column("Max", self.column)

    def create(self) -> None:
        """None yet."""

    def add(self, accumulator: Any, value: Any) -> Any:  # noqa: ANN401
        """The greater of the two."""
        return value if accumulator is None else max(accumulator, value)

    def merge(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        """The greater of the two."""
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: Any) -> Any:  # noqa: ANN401
        """The greatest value, or None."""
        return accumulator

    def __repr__(self) -> str:
        return f"Max({self.column!r})"
