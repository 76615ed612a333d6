"""Variance and standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.combiners.protocol import Combiner, canonical, check, check_column

_Moments = tuple[int, float, float]
"""Count, mean, and the sum of squared distances from the mean."""


@dataclass(frozen=True, slots=True, repr=False)
class Variance(Combiner):
    """The variance of a numeric column, as float64.

    The accumulator is ``(count, mean, m2)``, merged by the stable method of Chan, Golub and LeVeque. A NaN or an
    infinity among the values makes the result NaN.

    Under retraction it keeps every value with its count: rounded squares cannot be subtracted exactly.

    Args:
        column: the column.
        sample: divide by ``n - 1`` (SQL's VAR_SAMP, None over fewer than two values), not by ``n`` (VAR_POP, None over
            none).
    """

    column: str
    sample: bool = True

    def __post_init__(self) -> None:
        check_column(type(self).__name__, self.column)
        check(
            isinstance(self.sample, bool),
            lambda: f"{type(self).__name__}({self.column!r}, sample={self.sample!r}) is neither True nor False",
            "write sample=True or sample=False",
        )

    def create(self) -> _Moments:
        return 0, 0.0, 0.0

    def add(self, accumulator: _Moments, value: Any) -> _Moments:  # noqa: ANN401
        return self.merge(accumulator, (1, float(value), 0.0 if math.isfinite(value) else math.nan))

    def merge(self, left: _Moments, right: _Moments) -> _Moments:
        if not left[0] or not right[0]:
            return left if left[0] else right
        count = left[0] + right[0]
        apart = right[1] - left[1]
        mean = left[1] + apart * right[0] / count
        return count, mean, left[2] + right[2] + apart * apart * left[0] * right[0] / count

    def extract(self, accumulator: _Moments) -> float | None:
        count, _, m2 = accumulator
        degrees = count - self.sample
        return canonical(m2 / degrees) if degrees > 0 else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r}{'' if self.sample else ', sample=False'})"


@dataclass(frozen=True, slots=True, repr=False)
class StdDev(Variance):
    """The standard deviation of a numeric column, as float64: the square root of the variance."""

    def extract(self, accumulator: _Moments) -> float | None:
        variance = Variance.extract(self, accumulator)
        return None if variance is None else canonical(math.sqrt(variance))
