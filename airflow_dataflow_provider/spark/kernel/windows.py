"""``AssignWindows`` and ``MergeWindows``, column-wise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.windows import (
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
)
from airflow_dataflow_provider.spark.kernel.columns import END, EVENT, START
from airflow_dataflow_provider.spark.values.hashing import key_hash

Times = np.ndarray[tuple[int], np.dtype[np.int64]]


def assign_windows(window: WindowStrategy, rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The rows with ``_start`` and ``_end`` of their windows; a row in several windows comes several times.

    A user's own strategy is called for each row.
    """
    event = rows[EVENT].to_numpy()
    match window:
        case FixedWindows(size=size, offset=offset):
            shift: int | Times = offset
            if window.shifted_by_key:
                hashes = key_hash([rows[column] for column in key])
                shift = (offset + (hashes % np.uint64(size)).astype(np.int64)) % size
            start = _floor(event, size, shift)
            return with_bounds(rows, start, start + size)
        case SlidingWindows():
            # An element's copies stay where it was, for the order of arrival.
            copies = slide(with_bounds(rows, event, event).with_row_index("_at"), window)
            return copies.sort("_at", maintain_order=True).drop("_at")
        case SessionWindows(gap=gap):
            return with_bounds(rows, event, event + gap)
        case GlobalWindows():
            return with_bounds(rows, np.full(len(rows), MIN_TIME), np.full(len(rows), MAX_TIME))
        case CalendarWindows():
            return _calendar(window, rows)
        case _:
            return _own(window, rows, key)


def _floor(times: Times, step: int, offset: int | Times) -> Times:
    """The last multiple of a step, counted from an offset, that is not after each time.

    numpy divides by one number with the processor's vectors; for a remainder it does not.
    """
    since: Times = times - offset
    steps: Times = np.floor_divide(since, step)
    return steps * step + offset


def with_bounds(rows: pl.DataFrame, start: Times, end: Times) -> pl.DataFrame:
    return rows.with_columns(pl.Series(START, start, dtype=pl.Int64), pl.Series(END, end, dtype=pl.Int64))


def slices(window: SlidingWindows, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the slice that they are in: all elements of a slice have the same windows."""
    event, size = rows[EVENT].to_numpy(), window.slice
    start = _floor(event, size, window.offset)
    return with_bounds(rows, start, start + size)


def slide(rows: pl.DataFrame, window: SlidingWindows) -> pl.DataFrame:
    """Rows that stand at an instant, or for a slice, in each of their windows: copied, but once combined only."""
    at = rows[START].to_numpy()
    last = _floor(at, window.period, window.offset)
    most = -(-window.size // window.period)
    copies = []
    for number in range(most):
        start = last - number * window.period
        inside = start + window.size > at
        if inside.all():
            copies.append(with_bounds(rows, start, start + window.size))
        elif inside.any():
            copies.append(with_bounds(rows, start, start + window.size).filter(inside))
    return pl.concat(copies) if copies else with_bounds(rows.clear(), at[:0], at[:0])


def _calendar(window: CalendarWindows, rows: pl.DataFrame) -> pl.DataFrame:
    """Every local day is looked up once."""
    day = pl.col(EVENT).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(window.time_zone).dt.date().alias("_day")
    days = rows.select(day)["_day"]
    first = rows.select(day, EVENT).group_by("_day").agg(pl.col(EVENT).min())
    bounds = [window.assign(event)[0] for event in first[EVENT]]
    found = pl.DataFrame(
        {"_day": first["_day"], START: [each.start for each in bounds], END: [each.end for each in bounds]},
        schema={"_day": pl.Date, START: pl.Int64, END: pl.Int64},
    )
    return rows.hstack([days]).join(found, on="_day", how="left", maintain_order="left").drop("_day")


def _own(window: WindowStrategy, rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    at: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    names = list(dict.fromkeys([*key, *window.columns, EVENT]))
    for number, row in enumerate(rows.select(names).iter_rows(named=True)):
        for each in window.assign(row[EVENT], tuple(row[name] for name in key), row):
            at.append(number)
            starts.append(each.start)
            ends.append(each.end)
    return with_bounds(rows[at], np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))


def components(window: WindowStrategy, key: Times, start: Times, end: Times) -> tuple[Times, Times, Times]:
    """``MergeWindows`` over windows sorted by key and start.

    Args:
        window: the strategy.
        key: a number for each key.
        start: the windows' starts.
        end: the windows' ends.

    Returns:
        For each window the number of the result that it becomes part of; and the results' starts and ends.
    """
    if not len(key):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    if isinstance(window, SessionWindows):
        return _sessions(key, start, end)
    results: list[Window] = []
    part_of = np.empty(len(key), dtype=np.int64)
    borders = np.flatnonzero(np.diff(key, prepend=key[0] - 1))
    for low, high in zip(borders, [*borders[1:], len(key)], strict=True):
        windows = [Window(int(a), int(b)) for a, b in zip(start[low:high], end[low:high], strict=True)]
        number_of: dict[Window, int] = {}
        for result, parts in window.merge(set(windows)):
            number_of |= dict.fromkeys(parts, len(results))
            results.append(result)
        part_of[low:high] = [number_of[each] for each in windows]
    return part_of, np.array([each.start for each in results]), np.array([each.end for each in results])


def _sessions(key: Times, start: Times, end: Times) -> tuple[Times, Times, Times]:
    """Those that overlap: a window begins a result where all before it of its key have ended."""
    new_key = key[1:] != key[:-1]
    running = end
    if not (new_key | (end[1:] >= end[:-1])).all():
        # The running maximum of the ends within a key, without a loop over keys: each key's ends lie above those of the
        # key before, as times where they fit into 64 bits, and else as ranks.
        number = np.concatenate([np.zeros(1, np.int64), np.cumsum(new_key)])
        low = int(end.min())
        span = int(end.max()) - low + 1
        if (int(number[-1]) + 1) * span < 2**63:
            running = np.maximum.accumulate(number * span + (end - low)) - number * span + low
        else:
            order = np.argsort(end, kind="stable")
            rank = np.empty(len(end), dtype=np.int64)
            rank[order] = np.arange(len(end))
            running = end[order[np.maximum.accumulate(number * len(end) + rank) - number * len(end)]]
    begins = np.ones(len(key), dtype=np.bool_)
    begins[1:] = new_key | (start[1:] >= running[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(key)) - 1
    return np.cumsum(begins) - 1, start[first], running[last]
