"""Counts, sums and means.

Over no values at all a count and a sum are 0 (a monoid's zero, as in Beam; SQL says NULL), a mean is None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from airflow_dataflow_provider.model.combiners.protocol import Combiner, canonical, check_column


@dataclass(frozen=True, slots=True, repr=False)
class Count(Combiner):
    """The number of elements, or of the non-null values of a column."""

    column: str | None = None

    def __post_init__(self) -> None:
        check_column("Count", self.column, optional=True)

    def create(self) -> int:
        """Zero."""
        return 0

    def add(self, accumulator: int, value: Any) -> int:  # noqa: ANN401, ARG002
        """One more."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """The sum of counts."""
        return left + right

    def uncombine(self, accumulator: int, value: Any) -> int:  # noqa: ANN401, ARG002
        """One less."""
        return accumulator - 1

    def extract(self, accumulator: int) -> int:
        """The count."""
        return accumulator

    def __repr__(self) -> str:
        return f"Count({self.column!r})" if self.column else "Count()"


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Combiner):
    """The sum of a numeric column: int64 for integers (an overflow fails the job), float64, or decimal.

    Floating-point sums are rounded, and what was rounded away, an infinity or a NaN cannot be subtracted again: under
    retraction they are kept exactly (:class:`ExactSum`) and rounded once, when they are read.
    """

    column: str

    def __post_init__(self) -> None:
        check_column("Sum", self.column)

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
        return canonical(accumulator)

    def retractable(self) -> Combiner:
        """The exact sum."""
        return ExactSum(self)

    def __repr__(self) -> str:
        return f"Sum({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Mean(Combiner):
    """The arithmetic mean of a numeric column, as float64; the accumulator is ``(sum, count)``.

    Under retraction the sum is kept exactly, as :class:`Sum` says.
    """

    column: str

    def __post_init__(self) -> None:
        check_column("Mean", self.column)

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
        return canonical(total / count) if count else None

    def retractable(self) -> Combiner:
        """The mean by the exact sum."""
        return ExactSum(self)

    def __repr__(self) -> str:
        return f"Mean({self.column!r})"


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of which nothing is rounded away: the finite part exactly, the rest counted.

    Attributes:
        count: of all values.
        finite: the sum of the finite ones; an int, a Decimal, or, of floating-point values, a Fraction.
        nans: how many are NaN.
        above: how many are infinity.
        below: how many are minus infinity.
    """

    count: int = 0
    finite: Any = 0
    nans: int = 0
    above: int = 0
    below: int = 0

    def plus(self, other: Total) -> Total:
        """Both together."""
        return Total(
            self.count + other.count,
            self.finite + other.finite,
            self.nans + other.nans,
            self.above + other.above,
            self.below + other.below,
        )

    @classmethod
    def of(cls, value: Any, sign: int) -> Total:  # noqa: ANN401
        """One value added (1) or taken back (-1)."""
        if not isinstance(value, float):
            return cls(sign, sign * value)
        if math.isfinite(value):
            return cls(sign, sign * Fraction(value))
        return cls(sign, Fraction(0), *(sign * kind for kind in (math.isnan(value), value > 0, value < 0)))

    @property
    def value(self) -> Any:  # noqa: ANN401
        """The sum, rounded once."""
        if self.nans or (self.above and self.below):
            return math.nan
        if self.above or self.below:
            return math.inf if self.above else -math.inf
        if not isinstance(self.finite, Fraction):
            return self.finite
        try:
            return float(self.finite)
        except OverflowError:
            return math.inf if self.finite > 0 else -math.inf


@dataclass(frozen=True, slots=True, repr=False)
class ExactSum(Combiner):
    """A sum or mean whose values can be taken back, whatever they are: the result is that of what is left.

    It rounds once, when it is read, so it may differ from :class:`Sum` in the last digits, to the better.
    """

    combiner: Sum | Mean

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the combiner."""
        return self.combiner.columns

    def create(self) -> Total:
        """Nothing."""
        return Total()

    def add(self, accumulator: Total, value: Any) -> Total:  # noqa: ANN401
        """Plus the value."""
        return accumulator.plus(Total.of(value, 1))

    def uncombine(self, accumulator: Total, value: Any) -> Total:  # noqa: ANN401
        """Minus the value."""
        return accumulator.plus(Total.of(value, -1))

    def merge(self, left: Total, right: Total) -> Total:
        """The sum of sums."""
        return left.plus(right)

    def extract(self, accumulator: Total) -> Any:  # noqa: ANN401
        """The sum, or the mean."""
        if isinstance(self.combiner, Sum):
            return accumulator.value
        return canonical(float(accumulator.value) / accumulator.count) if accumulator.count else None

    def __repr__(self) -> str:
        return f"{self.combiner!r}.retractable()"
