"""Floating-point sums that can be undone: kept exactly, rounded once when they are read.

A double is an integer times a power of two, and so a short sum of integers times powers of ``2**32``: its digits, each
below ``2**32``. Digits of many doubles add up in 64-bit integers, which loses nothing and can be subtracted again. An
accumulator is a list of (place, digit), of two or three entries where values are of like size, and of some seventy at
most. NaN and the infinities are counted at places of their own, so that none can poison what is left without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import SIGN, Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.collected_values import CollectedValues
from airflow_dataflow_provider.spark.aggregates.division import quotient
from airflow_dataflow_provider.spark.aggregates.ragged import ROW, Ragged
from airflow_dataflow_provider.spark.aggregates.sums import count

PLACE, DIGIT = "place", "digit"
TYPES: dict[str, pl.DataType] = {PLACE: pl.Int16(), DIGIT: pl.Int64()}
_BASE = 2**32
_NANS, _ABOVE, _BELOW = 1000, 1001, 1002
"""Places beyond those of any finite number."""

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def digits(rows: pl.Series) -> pl.Series:
    """The digits of each value, as lists of (place, digit) structs; null values have none.

    Args:
        rows: structs of the value, and of the sign that says whether it is added or taken back.
    """
    values, signs = rows.struct.field("value"), rows.struct.field("sign").to_numpy()
    numbers = values.fill_null(0.0).to_numpy()
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    place, shift = np.divmod(exponent, 32)
    # |rest| < 2**31 with at most 53 binary digits behind: three digits hold them all, and each step is exact.
    rest = np.ldexp(mantissa, shift)
    columns = []
    for behind in range(3):
        digit = np.trunc(rest)
        columns.append((place - behind, digit.astype(np.int64)))
        rest = (rest - digit) * _BASE
    special = np.select([np.isnan(numbers), numbers > 0], [_NANS, _ABOVE], _BELOW)
    columns[0] = np.where(finite, columns[0][0], special), np.where(finite, columns[0][1], 1)
    places = np.stack([places for places, _ in columns], axis=1).ravel()
    amounts = (np.stack([amounts for _, amounts in columns], axis=1) * signs[:, None]).ravel()
    there = (amounts != 0) & np.repeat(values.is_not_null().to_numpy(), 3)
    offsets = np.concatenate(([0], np.cumsum(there.reshape(-1, 3).sum(axis=1))))
    entries = pl.DataFrame({PLACE: places[there], DIGIT: amounts[there]}, schema=TYPES)
    return Ragged(offsets, entries.to_struct()).to_lists(pl.List(pl.Struct(TYPES)))


def carried(entries: pl.DataFrame) -> pl.DataFrame:
    """Digits of like places added up, each below ``2**32`` again, none zero; sorted by row and place."""
    place, digit = pl.col(PLACE), pl.col(DIGIT)
    while True:
        entries = entries.group_by(ROW, PLACE).agg(digit.sum()).filter(digit != 0)
        over = (digit.abs() >= _BASE) & (place < _NANS)
        large = entries.filter(over)
        if not len(large):
            return entries.sort(ROW, PLACE)
        # Towards zero, so that a small negative sum stays one small digit.
        carry = digit.abs() // _BASE * digit.sign()
        entries = pl.concat(
            [
                entries.filter(~over),
                large.with_columns((digit - carry * _BASE).alias(DIGIT)),
                large.with_columns((place + 1).cast(pl.Int16).alias(PLACE), carry.alias(DIGIT)),
            ]
        )


def rounded(ragged: Ragged) -> pl.Series:
    """The sum of each row, 0 over none."""
    entries = ragged.entries().sort(ROW, PLACE, descending=[False, True])
    places, amounts = entries[PLACE].to_numpy(), entries[DIGIT].to_numpy()
    rows = entries[ROW].to_numpy()
    total = np.zeros(len(ragged.lengths), dtype=np.float64)
    finite = places < _NANS
    # From the greatest place down: by the time that anything is rounded, what follows cannot cancel it any more.
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    # What overflows may be brought back by what follows: rows of huge numbers are added up as 2**-64 of themselves.
    scale = np.zeros(len(total), dtype=np.int32)
    scale[rows[finite & (places > 30)]] = 64
    with np.errstate(over="ignore"):
        terms = np.ldexp(amounts.astype(np.float64), 32 * np.where(finite, places, 0).astype(np.int32) - scale[rows])
        for step in range(int(rank.max(initial=-1)) + 1):
            here = finite & (rank == step)
            total[rows[here]] += terms[here]
        total = np.ldexp(total, scale)
    special = {kind: np.zeros(len(total), dtype=np.bool_) for kind in (_NANS, _ABOVE, _BELOW)}
    for kind, rows_with in special.items():
        rows_with[rows[(places == kind) & (amounts > 0)]] = True
    total[special[_ABOVE]] = np.inf
    total[special[_BELOW]] = -np.inf
    total[special[_NANS] | (special[_ABOVE] & special[_BELOW])] = np.nan
    return pl.Series(total)


def exact_sum(name: str, column: str) -> Aggregate:
    """``Sum`` of floating-point values under retraction."""
    row = pl.struct(value=pl.col(column).cast(pl.Float64), sign=pl.col(SIGN).cast(pl.Int64))
    dtype = pl.List(pl.Struct(TYPES))
    entry = row.map_batches(digits, return_dtype=dtype, is_elementwise=True)
    return CollectedValues(name, "digits", entry, TYPES, carried, rounded, pl.Float64())


@dataclass(frozen=True, slots=True)
class _Mean(Aggregate):
    name: str
    total: Aggregate
    count: Aggregate

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (*self.total.fields, *self.count.fields)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return [*self.total.lift(), *self.count.lift()]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return [*self.total.make(), *self.count.make()]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return [*self.total.merge(), *self.count.merge()]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        return [*self.total.pair(suffix), *self.count.pair(suffix)]

    @override
    def result(self) -> pl.Expr:
        return pl.when(self.count.result() > 0).then(quotient(self.total.result(), self.count.result()))


def exact_mean(name: str, column: str) -> Aggregate:
    """``Mean`` of floating-point values under retraction."""
    return _Mean(name, exact_sum(name, column), count(name, column, retracting=True))
