"""What the column-wise form of a combiner is: a few accumulator columns, and expressions on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

SIGN = "_sign"
"""Under retraction every row says whether it is an element (1) or takes one back (-1)."""


@dataclass(frozen=True, slots=True)
class Field:
    """One accumulator column; ``zero`` is the accumulator of nothing.

    ``how`` is ``sum``, ``min`` or ``max`` where that alone is how accumulators are merged.
    """

    name: str
    dtype: pl.DataType
    zero: Any = None
    how: str | None = None


class Aggregate(ABC):
    """One named output. Each method gives one expression a field, in their order, not yet named.

    Attributes:
        name: of the output column; accumulator columns are named ``<name>.<field>``.
        fields: the accumulator columns.
    """

    name: str
    fields: tuple[Field, ...]

    @abstractmethod
    def lift(self) -> Sequence[pl.Expr]:
        """Rows to accumulators, one each."""

    @abstractmethod
    def make(self) -> Sequence[pl.Expr]:
        """Rows to accumulators, inside a group."""

    @abstractmethod
    def merge(self) -> Sequence[pl.Expr]:
        """Accumulators to one, inside a group."""

    @abstractmethod
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        """Two accumulators side by side to one; the second one's columns have the suffix."""

    @abstractmethod
    def result(self) -> pl.Expr:
        """The output column."""


def signed(value: pl.Expr, *, retracting: bool) -> pl.Expr:
    """The value, or its negative where a row takes it back."""
    return pl.when(pl.col(SIGN) < 0).then(0 - value).otherwise(value) if retracting else value


def number(value: pl.Expr) -> pl.Expr:
    """Floating-point values with one zero, for where values are told apart."""
    return value + 0.0
