"""Numbers added up by position, where every key and window has a small number of its own.

Most groupings add, count or compare plain numbers, over keys and windows that lie close together. There a table indexed
by the number of key and window says where each row belongs, and one pass over the rows adds them up: a tenth of what
hashing several columns to group and then to join takes. Where that does not fit, the answer is None, and
:mod:`~airflow_dataflow_provider.spark.kernel.folding` hashes.
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
    from airflow_dataflow_provider.spark.kernel.epoch import Progress
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel

_FOLDS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_ROOM = 2**20
"""Places that a table may have, beside eight a row: it is cleared for each epoch."""


def take(kernel: Kernel, now: Progress, came: pl.DataFrame) -> bool:
    """Bring partial accumulators into the open windows; False where it cannot be done here, and nothing has been."""
    state = now.state
    numbered = None if kernel.folds is None else _numbers(kernel, [state, came])
    if numbered is None:
        return False
    count = len(state)
    at, first = _places(*numbered, count)
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


def place(kernel: Kernel, state: pl.DataFrame, elements: pl.DataFrame) -> tuple[Codes, Codes] | None:
    """For each element the position of its window, new ones behind the known; and an element of each new one.

    Which of a window's elements that is, is not said.
    """
    numbered = _numbers(kernel, [state, elements])
    return None if numbered is None else _places(*numbered, len(state))


def fold(kernel: Kernel, came: pl.DataFrame, *, sparse: bool = True) -> pl.DataFrame | None:
    """Partial accumulators, one row a key and window, in the order of key and start.

    Args:
        kernel: whose accumulators.
        came: several rows a key and window.
        sparse: also where a table has too many places, so that rows are sorted.
    """
    numbered = None if kernel.folds is None else _numbers(kernel, [came])
    if numbered is None:
        return None
    codes, places = numbered
    windows = came.select(kernel.by)
    if not _fits(places, len(codes)):
        if not sparse:
            return None
        order, first = _runs(codes, places)
        found = reduced(kernel, came, order, first)
        return None if found is None else windows[order[first]].with_columns(
            pl.Series(name, values) for name, values in found.items()
        )  # fmt: skip
    row = np.full(places, -1, dtype=_narrow(len(codes)))
    row[codes] = np.arange(len(codes), dtype=row.dtype)
    numbers = np.flatnonzero(row >= 0)
    sums = _folded(kernel, came.clear(), came, codes, places)
    if sums is None:
        return None
    return windows[row[numbers]].with_columns(pl.Series(name, values[numbers]) for name, values in sums.items())


def reduced(kernel: Kernel, lifted: pl.DataFrame, order: Codes, first: Codes) -> dict[str, np.ndarray[Any, Any]] | None:
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
    numbered = _identities(windows) if kernel.merges else _numbers(kernel, [windows])
    if numbered is None:
        return None
    codes, places = numbered
    if not _fits(places, len(codes)):
        order, first = _runs(codes, places)
        last = np.append(first[1:], len(order)) - 1
        return windows[np.sort(order[last])]
    table, row = np.empty(places, dtype=np.int64), np.arange(len(codes))
    # Of several rows with one number the last one to be written stands.
    table[codes] = row
    return windows.filter(table[codes] == row)


def _identities(windows: pl.DataFrame) -> tuple[Codes, int] | None:
    """The numbers that windows that merge have of their own."""
    codes = windows[ID].to_numpy()
    if not len(codes):
        return None
    codes = codes - codes.min()
    return codes, int(codes.max()) + 1


def _numbers(kernel: Kernel, frames: list[pl.DataFrame]) -> tuple[Codes, int] | None:
    """A number for the key and window of each row, and a bound above all of them."""
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
    places = (int(codes.max()) + 1) * starts
    if places * rows >= 2**62:
        return None
    index += codes * starts
    return index, places


def _fits(places: int, rows: int) -> bool:
    """Whether a table may have so many places for so many rows."""
    return places <= 8 * rows + _ROOM


def _step(window: WindowStrategy) -> int | None:
    """What all window starts, and those of slices, are apart by a multiple of."""
    match window:
        case FixedWindows(shifted_by_key=False):
            return window.size
        case SlidingWindows():
            return math.gcd(window.size, window.period)
        case GlobalWindows():
            return 1
        case _:
            return None


def _places(codes: Codes, places: int, known: int) -> tuple[Codes, Codes]:
    """Where each row after the known ones belongs: to one of them, or behind them; and a row for each new place."""
    find = _positions if _fits(places, len(codes)) else _sorted_positions
    return find(codes[:known], codes[known:], places)


def _positions(known: Codes, came: Codes, places: int) -> tuple[Codes, Codes]:
    """Where each row that came belongs: behind those known, if its number is new; and a row for each new number."""
    table = np.full(places, -1, dtype=_narrow(len(known) + len(came)))
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


def _sorted_positions(known: Codes, came: Codes, places: int) -> tuple[Codes, Codes]:
    """The same where a table would have too many places: those that came are sorted, then joined by their numbers."""
    order, first = _runs(came, places)
    numbers = pl.DataFrame({"number": came[order[first]]})
    rows = pl.DataFrame({"number": known, "row": np.arange(len(known))})
    row = numbers.join(rows, on="number", how="left", maintain_order="left")["row"].fill_null(-1).to_numpy().copy()
    missing = np.flatnonzero(row < 0)
    row[missing] = np.arange(len(known), len(known) + len(missing))
    at = np.empty(len(came), dtype=np.int64)
    at[order] = np.repeat(row, np.diff(np.append(first, len(came))))
    return at, order[first[missing]]


def _runs(codes: Codes, places: int) -> tuple[Codes, Codes]:
    """The order in which equal numbers are beside each other, and where in it each run of them begins."""
    order = sorted_order(codes, places)
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
    """Whether some sum of these could leave 64 bits: then it is added in more, and refused where it does not fit."""
    if new.dtype == pl.Float64 or not len(new):
        return False
    return _greatest(before) + len(new) * _greatest(new) > int(np.iinfo(np.int64).max)


def _greatest(values: pl.Series) -> int:
    if not len(values):
        return 0
    numbers = values.to_numpy()
    return max(abs(int(numbers.min())), abs(int(numbers.max())))
