"""Numbers for keys: what is sorted and compared many times should be one integer, whatever the key is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import polars as pl

Codes = np.ndarray[tuple[int], np.dtype[np.int64]]
_FEW_BITS = 2**26


def key_codes(keys: pl.DataFrame) -> Codes:
    """A small non-negative number for each row, equal where the keys are; nulls are equal to each other.

    The numbers hold for this frame only.
    """
    codes: Codes | None = None
    for column in keys.iter_columns():
        found, many = _codes(column)
        if codes is None:
            codes = found
            continue
        if len(codes) and int(codes.max()) * many >= 2**31:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        codes = codes * many + found
    return np.zeros(len(keys), dtype=np.int64) if codes is None else codes


def _codes(column: pl.Series) -> tuple[Codes, int]:
    """The codes of one column, and a number above all of them; 0 stands for null."""
    if not len(column):
        return np.zeros(0, dtype=np.int64), 1
    if column.dtype.is_integer():
        low, high = cast("int | None", column.min()), cast("int | None", column.max())
        if low is None or high is None:
            return np.zeros(len(column), dtype=np.int64), 1
        many = high - low + 2
        if many <= _FEW_BITS:
            wide = column if column.dtype == pl.UInt64 else column.cast(pl.Int64)
            shifted = (wide - low).cast(pl.Int64) + 1
            return shifted.fill_null(0).to_numpy(), many
    if column.dtype == pl.String:
        # Categories of their own: those that everybody shares would be kept for as long as the process lives.
        ranks = column.cast(pl.Categorical(pl.Categories.random())).to_physical() + 1
    else:
        ranks = column.rank("dense")
    numbers = ranks.cast(pl.Int64).fill_null(0).to_numpy()
    return numbers, int(numbers.max()) + 1


def order_by(codes: Codes, *then: Codes) -> Codes:
    """The order of rows by key, and then by times; equal ones stay in their order."""
    low = [int(times.min()) if len(times) else 0 for times in then]
    spans = [int(times.max()) - least + 1 if len(times) else 1 for times, least in zip(then, low, strict=True)]
    whole = int(codes.max()) + 1 if len(codes) else 1
    for span in spans:
        whole *= span
    if whole >= 2**63:
        return np.lexsort((*reversed(then), codes)).astype(np.int64)
    packed = codes.astype(np.int64)
    for times, least, span in zip(then, low, spans, strict=True):
        packed = packed * span + (times - least)
    return sorted_order(packed, whole)


def sorted_order(numbers: Codes, bound: int) -> Codes:
    """The order of rows by non-negative numbers below a bound; equal ones stay in their order.

    Where number and row fit into one integer they are sorted together: numpy sorts integers with the processor's
    vectors, which it does not for an order.
    """
    bits = max(1, len(numbers) - 1).bit_length()
    if bound << bits > 2**63:
        return np.argsort(numbers, kind="stable")
    packed = numbers << bits
    packed |= np.arange(len(numbers))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def occurrence(codes: Codes) -> Codes:
    """For each row, how many before it have the same code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    begins = np.ones(len(codes), dtype=np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    position = np.arange(len(codes))
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = position - np.maximum.accumulate(np.where(begins, position, 0))
    return found


__all__: Sequence[str] = ("Codes", "key_codes", "occurrence", "order_by")
