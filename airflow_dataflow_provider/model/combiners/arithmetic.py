"""Counts, sums and means.

Over no values a count and a sum are 0 (as in Beam; SQL returns NULL), and a mean is None.
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
        return 0

    def add(self, accumulator: int, value: Any) -> int:  # noqa: ANN401, ARG002
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        return left + right

    def uncombine(self, accumulator: int, value: Any) -> int:  # noqa: ANN401, ARG002
        return accumulator - 1

    def extract(self, accumulator: int) -> int:
        return accumulator

    def __repr__(self) -> str:
        return f"Count({self.column!r})" if self.column else "Count()"


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Combiner):
    """The sum of a numeric column: int64 for integers (an overflow fails the job), float64, or decimal.

    Floating-point sums are rounded, so a value cannot be subtracted from one exactly. Under retraction the sum is kept
    exactly (:class:`ExactSum`) and rounded once, when it is read.
    """

    column: str

    def __post_init__(self) -> None:
        check_column("Sum", self.column)

    def create(self) -> int:
        return 0

    def add(self, accumulator: Any, value: Any) -> Any:  # noqa: ANN401
        return accumulator + value

    def merge(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        return left + right

    def extract(self, accumulator: Any) -> Any:  # noqa: ANN401
        return canonical(accumulator)

    def retractable(self) -> Combiner:
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
        return 0.0, 0

    def add(self, accumulator: tuple[float, int], value: Any) -> tuple[float, int]:  # noqa: ANN401
        return accumulator[0] + float(value), accumulator[1] + 1

    def merge(self, left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        return left[0] + right[0], left[1] + right[1]

    def extract(self, accumulator: tuple[float, int]) -> float | None:
        total, count = accumulator
        return canonical(total / count) if count else None

    def retractable(self) -> Combiner:
        return ExactSum(self)

    def __repr__(self) -> str:
        return f"Mean({self.column!r})"


@dataclass(frozen=True, slots=True)
class Total:
    """An exact sum: the sum of the finite values without rounding, and counts of the others.

    Attributes:
        count: the number of values.
        finite: the sum of the finite values; an int, a Decimal, or, for floating-point values, a Fraction.
        nans: the number of NaNs.
        above: the number of infinities.
        below: the number of minus infinities.
    """

    count: int = 0
    finite: Any = 0
    nans: int = 0
    above: int = 0
    below: int = 0

    def plus(self, other: Total) -> Total:
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
    """A sum or mean from which any value can be taken back.

    It rounds once, when it is read, so it may differ from :class:`Sum` in the last digits; it is the more exact one.
    """

    combiner: Sum | Mean

    @property
    def columns(self) -> tuple[str, ...]:
        return self.combiner.columns

    def create(self) -> Total:
        return Total()

    def add(self, accumulator: Total, value: Any) -> Total:  # noqa: ANN401
        return accumulator.plus(Total.of(value, 1))

    def uncombine(self, accumulator: Total, value: Any) -> Total:  # noqa: ANN401
        return accumulator.plus(Total.of(value, -1))

    def merge(self, left: Total, right: Total) -> Total:
        return left.plus(right)

    def extract(self, accumulator: Total) -> Any:  # noqa: ANN401
        if isinstance(self.combiner, Sum):
            return accumulator.value
        return canonical(float(accumulator.value) / accumulator.count) if accumulator.count else None

    def __repr__(self) -> str:
        return f"{self.combiner!r}.retractable()"
