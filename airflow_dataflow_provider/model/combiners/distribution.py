"""Distinct counts and quantiles.

Each has an exact and an approximate form. The protocol here is exact in both: an engine's sketch may differ from it by
the sketch's error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.combiners.protocol import Combiner, check, check_column


@dataclass(frozen=True, slots=True, repr=False)
class CountDistinct(Combiner):
    """The number of different values of a column. Every NaN is the same value, and -0.0 is 0.0.

    With ``exact=True`` it keeps the set of values. With ``exact=False`` the engine keeps a HyperLogLog sketch of about
    ``2 ** (lg_k - 1)`` bytes at most: it is exact for few values, then has a relative standard error of
    ``1.04 / sqrt(2 ** lg_k)``, which is 1.6 % by default.

    Under retraction it keeps every value with its count, and is exact in both forms: values cannot be removed from a
    sketch of this kind.

    Args:
        column: the column.
        exact: whether to count exactly.
        lg_k: binary logarithm of the sketch's registers, 7 to 21.
    """

    column: str
    exact: bool = True
    lg_k: int = 12

    def __post_init__(self) -> None:
        check_column("CountDistinct", self.column)
        check(
            isinstance(self.exact, bool),
            lambda: f"CountDistinct({self.column!r}, exact={self.exact!r}) is neither True nor False",
            "write exact=True or exact=False",
        )
        check(
            isinstance(self.lg_k, int) and 7 <= self.lg_k <= 21,
            lambda: f"CountDistinct({self.column!r}, lg_k={self.lg_k!r}) is not a valid sketch size",
            "give lg_k from 7 to 21",
        )

    def create(self) -> frozenset[Any]:
        return frozenset()

    def add(self, accumulator: frozenset[Any], value: Any) -> frozenset[Any]:  # noqa: ANN401
        return accumulator | {value}

    def merge(self, left: frozenset[Any], right: frozenset[Any]) -> frozenset[Any]:
        return left | right

    def extract(self, accumulator: frozenset[Any]) -> int:
        return len(accumulator)

    def __repr__(self) -> str:
        size = "" if self.lg_k == 12 else f", lg_k={self.lg_k}"
        return f"CountDistinct({self.column!r}{'' if self.exact else ', exact=False'}{size})"


@dataclass(frozen=True, slots=True, repr=False)
class Quantiles(Combiner):
    """The quantiles of a numeric column, as a list of float64 in the order of ``ranks``; None over no values.

    The quantile of rank ``q`` among ``n`` sorted values is the one at position ``ceil(q * n)``, and the least for 0. It
    is always a value that occurred. NaNs have no rank and are skipped.

    By default the engine keeps a KLL sketch: it is exact for up to ``k`` values, then ranks are off by at most about
    ``2.3 / k`` (99 % confidence), which is 1.3 % by default. KLL is randomised: beyond ``k`` values two runs over the
    same input may differ, each within that error. With ``exact=True`` it keeps every value with its count.

    Under retraction it keeps every value with its count, and is exact in both forms: values cannot be removed from a
    sketch of this kind.

    Args:
        column: the column; integers beyond 2**53 are rounded.
        ranks: each from 0 to 1.
        exact: whether to keep every value.
        k: size of the sketch, 8 to 65535.
    """

    column: str
    ranks: tuple[float, ...]
    exact: bool = False
    k: int = 200

    def __post_init__(self) -> None:
        check_column("Quantiles", self.column)
        ranks: object = self.ranks  # any iterable is taken
        if isinstance(ranks, Iterable) and not isinstance(ranks, str):
            ranks = tuple(ranks)
            object.__setattr__(self, "ranks", ranks)
        check(
            isinstance(ranks, tuple)
            and bool(ranks)
            and all(isinstance(rank, int | float) and not isinstance(rank, bool) and 0 <= rank <= 1 for rank in ranks),
            lambda: f"Quantiles({self.column!r}, {self.ranks!r}) needs ranks from 0 to 1",
            f"write Quantiles({self.column!r}, (0.5, 0.9))",
        )
        check(
            isinstance(self.exact, bool),
            lambda: f"Quantiles({self.column!r}, ..., exact={self.exact!r}) is neither True nor False",
            "write exact=True or exact=False",
        )
        check(
            isinstance(self.k, int) and 8 <= self.k <= 65535,
            lambda: f"Quantiles({self.column!r}, ..., k={self.k!r}) is not a valid sketch size",
            "give k from 8 to 65535",
        )
        object.__setattr__(self, "ranks", tuple(map(float, self.ranks)))

    def create(self) -> tuple[float, ...]:
        return ()

    def add(self, accumulator: tuple[float, ...], value: Any) -> tuple[float, ...]:  # noqa: ANN401
        number = float(value)
        return accumulator if math.isnan(number) else (*accumulator, number)

    def merge(self, left: tuple[float, ...], right: tuple[float, ...]) -> tuple[float, ...]:
        return left + right

    def extract(self, accumulator: tuple[float, ...]) -> list[float] | None:
        if not accumulator:
            return None
        values = sorted(accumulator)
        return [values[max(math.ceil(rank * len(values)), 1) - 1] for rank in self.ranks]

    def __repr__(self) -> str:
        more = f"{', exact=True' if self.exact else ''}{'' if self.k == 200 else f', k={self.k}'}"
        return f"Quantiles({self.column!r}, {self.ranks!r}{more})"
