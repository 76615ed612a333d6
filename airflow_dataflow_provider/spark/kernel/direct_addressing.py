"""Direct addressing: plain numbers are added up in a table with one slot a key and window.

Most groupings add, count or compare plain numbers, over keys and windows that lie close together. There the number of
key and window is the row's slot, and one pass over the rows adds them up, in a tenth of the time that hashing several
columns to group and to join takes. Each function returns None, or False, where that does not fit; callers hash then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows import FixedWindows, GlobalWindows, SlidingWindows, WindowStrategy
from airflow_dataflow_provider.spark.kernel.codes import Codes, key_codes, sorted_order
from airflow_dataflow_provider.spark.kernel.columns import END, FRESH, ID, START

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel

_FOLDS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_FREE_SLOTS = 2**20
"""Slots that a table may have beside eight a row. It is cleared for each epoch."""


def add(kernel: Kernel, now: RunningEpoch, came: pl.DataFrame) -> bool:
    """Fold partial accumulators into the open windows; False where that does not fit, and nothing is changed."""
    state = now.state
    numbered = None if kernel.folds is None else _slot_numbers(kernel, [state, came])
    if numbered is None:
        return False
    count = len(state)
    at, first = _assign_slots(*numbered, count)
    sums = _folded(kernel, state, came, at, count + len(first))
    if sums is None:
        return False
    opened = came[first]
    if kernel.end is not None:
        opened = opened.with_columns(kernel.end.alias(END))
    columns = [pl.Series(name, values) for name, values in sums.items()]
    if not kernel.book.timed:
        fresh = np.concatenate([state[FRESH].to_numpy(), np.ones(len(first), dtype=np.bool_)])
        fresh[at] = True
        columns.append(pl.Series(FRESH, fresh))
    now.state = pl.concat([state, kernel.opened(opened)], rechunk=True).with_columns(columns)
    now.changed = np.concatenate([now.changed, np.ones(len(first), dtype=np.bool_)])
    now.changed[at] = True
    return True


def find_windows(kernel: Kernel, state: pl.DataFrame, elements: pl.DataFrame) -> tuple[Codes, Codes] | None:
    """For each element the position of its window, new ones behind the known; and any element of each new window."""
    numbered = _slot_numbers(kernel, [state, elements])
    return None if numbered is None else _assign_slots(*numbered, len(state))


def combine(kernel: Kernel, came: pl.DataFrame, *, sparse: bool = True) -> pl.DataFrame | None:
    """Partial accumulators, one row a key and window, in the order of key and start.

    Args:
        kernel: whose accumulators.
        came: several rows a key and window.
        sparse: also where a table needs too many slots, so that rows are sorted.
    """
    numbered = None if kernel.folds is None else _slot_numbers(kernel, [came])
    if numbered is None:
        return None
    codes, slots = numbered
    windows = came.select(kernel.by)
    if not _fits(slots, len(codes)):
        if not sparse:
            return None
        order, first = _runs(codes, slots)
        found = combine_runs(kernel, came, order, first)
        return None if found is None else windows[order[first]].with_columns(
            pl.Series(name, values) for name, values in found.items()
        )  # fmt: skip
    row = np.full(slots, -1, dtype=_narrow(len(codes)))
    row[codes] = np.arange(len(codes), dtype=row.dtype)
    numbers = np.flatnonzero(row >= 0)
    sums = _folded(kernel, came.clear(), came, codes, slots)
    if sums is None:
        return None
    return windows[row[numbers]].with_columns(pl.Series(name, values[numbers]) for name, values in sums.items())


def combine_runs(
    kernel: Kernel, lifted: pl.DataFrame, order: Codes, first: Codes
) -> dict[str, np.ndarray[Any, Any]] | None:
    """Each accumulator of runs of rows.

    Args:
        kernel: whose accumulators.
        lifted: the rows' accumulators.
        order: the order in which rows that belong together are beside each other.
        first: where in that order each run begins.
    """
    if kernel.folds is None:
        return None
    sums: dict[str, np.ndarray[Any, Any]] = {}
    for name, how in kernel.folds.items():
        values = lifted[name]
        if values.has_nulls() or (how == "sum" and _may_overflow(values, values)):
            return None
        sums[name] = _FOLDS[how].reduceat(values.to_numpy()[order], first)
    return sums


def newest(kernel: Kernel, windows: pl.DataFrame) -> pl.DataFrame | None:
    """The last row of each open window."""
    numbered = _identities(windows) if kernel.merges else _slot_numbers(kernel, [windows])
    if numbered is None:
        return None
    codes, slots = numbered
    if not _fits(slots, len(codes)):
        order, first = _runs(codes, slots)
        last = np.append(first[1:], len(order)) - 1
        return windows[np.sort(order[last])]
    table, row = np.empty(slots, dtype=np.int64), np.arange(len(codes))
    # Of several rows with one number the last one to be written stands.
    table[codes] = row
    return windows.filter(table[codes] == row)


def _identities(windows: pl.DataFrame) -> tuple[Codes, int] | None:
    """The ids of merging windows as slots."""
    codes = windows[ID].to_numpy()
    if not len(codes):
        return None
    codes = codes - codes.min()
    return codes, int(codes.max()) + 1


def _slot_numbers(kernel: Kernel, frames: list[pl.DataFrame]) -> tuple[Codes, int] | None:
    """The slot of each row, and the number of slots."""
    step = _step(kernel.grouping.window)
    rows = sum(map(len, frames))
    if step is None or not rows:
        return None
    keys_and_starts = pl.concat([frame.select(*kernel.grouping.key, START) for frame in frames])
    start = keys_and_starts[START].to_numpy()
    # Dividing by one number alone, numpy uses the processor's vectors; it does not for a remainder.
    since = start - start.min()
    index = since // step
    if (index * step != since).any():
        return None
    codes = key_codes(keys_and_starts.drop(START))
    starts = int(index.max()) + 1
    slots = (int(codes.max()) + 1) * starts
    if slots * rows >= 2**62:
        return None
    index += codes * starts
    return index, slots


def _fits(slots: int, rows: int) -> bool:
    """Whether a table may have so many slots for so many rows."""
    return slots <= 8 * rows + _FREE_SLOTS


def _step(window: WindowStrategy) -> int | None:
    """The length of which the distance of any two window starts, or slice starts, is a multiple."""
    match window:
        case FixedWindows(shifted_by_key=False):
            return window.size
        case SlidingWindows():
            return math.gcd(window.size, window.period)
        case GlobalWindows():
            return 1
        case _:
            return None


def _assign_slots(codes: Codes, slots: int, known: int) -> tuple[Codes, Codes]:
    """For each row after the known ones its position, new windows behind the known; and a row of each new window."""
    search = _positions if _fits(slots, len(codes)) else _sorted_positions
    return search(codes[:known], codes[known:], slots)


def _positions(known: Codes, came: Codes, slots: int) -> tuple[Codes, Codes]:
    """By a table that is indexed by slot."""
    table = np.full(slots, -1, dtype=_narrow(len(known) + len(came)))
    table[known] = np.arange(len(known))
    at = table[came].astype(np.int64)
    missing = np.flatnonzero(at < 0)
    numbers = came[missing]
    # Of several rows with one number the last one to be written stands.
    table[numbers] = missing
    first = missing[table[numbers] == missing]
    table[came[first]] = np.arange(len(known), len(known) + len(first))
    at[missing] = table[numbers]
    return at, first


def _sorted_positions(known: Codes, came: Codes, slots: int) -> tuple[Codes, Codes]:
    """By sorting and a join, where a table would have too many slots."""
    order, first = _runs(came, slots)
    numbers = pl.DataFrame({"number": came[order[first]]})
    rows = pl.DataFrame({"number": known, "row": np.arange(len(known))})
    row = numbers.join(rows, on="number", how="left", maintain_order="left")["row"].fill_null(-1).to_numpy().copy()
    missing = np.flatnonzero(row < 0)
    row[missing] = np.arange(len(known), len(known) + len(missing))
    at = np.empty(len(came), dtype=np.int64)
    at[order] = np.repeat(row, np.diff(np.append(first, len(came))))
    return at, order[first[missing]]


def _runs(codes: Codes, slots: int) -> tuple[Codes, Codes]:
    """The order in which equal numbers are beside each other, and where in it each run of them begins."""
    order = sorted_order(codes, slots)
    ordered = codes[order]
    begins = np.ones(len(codes), dtype=np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(begins)


def _narrow(rows: int) -> type[np.signedinteger[Any]]:
    """The type in which row numbers fit: what is looked up at random should be small."""
    return np.int32 if rows < 2**31 else np.int64


def _folded(
    kernel: Kernel, state: pl.DataFrame, came: pl.DataFrame, at: Codes, count: int
) -> dict[str, np.ndarray[Any, Any]] | None:  # fmt: skip
    """Each accumulator column with what came, or None where there are nulls, or a sum might not fit."""
    sums: dict[str, np.ndarray[Any, Any]] = {}
    for name, how in (kernel.folds or {}).items():
        before, new = state[name], came[name]
        if before.has_nulls() or new.has_nulls() or (how == "sum" and _may_overflow(before, new)):
            return None
        values = np.full(count, _nothing(how), dtype=np.float64 if new.dtype == pl.Float64 else np.int64)
        values[: len(before)] = before.to_numpy()
        _FOLDS[how].at(values, at, new.to_numpy())
        sums[name] = values
    return sums


def _nothing(how: str) -> int:
    limits = np.iinfo(np.int64)
    return {"sum": 0, "min": int(limits.max), "max": int(limits.min)}[how]


def _may_overflow(before: pl.Series, new: pl.Series) -> bool:
    """Whether a sum of these could leave 64 bits. Such sums are made in 128 bits, and refused if they do not fit."""
    if new.dtype == pl.Float64 or not len(new):
        return False
    return _greatest(before) + len(new) * _greatest(new) > int(np.iinfo(np.int64).max)


def _greatest(values: pl.Series) -> int:
    if not len(values):
        return 0
    numbers = values.to_numpy()
    return max(abs(int(numbers.min())), abs(int(numbers.max())))
