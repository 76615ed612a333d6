"""``MergeWindows`` on open windows: what arrives joins those of its key, and what each of them knew is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows import SessionWindows
from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel import direct_addressing
from airflow_dataflow_provider.spark.kernel.codes import Codes, order_by
from airflow_dataflow_provider.spark.kernel.columns import (
    END,
    FINISHED,
    FIRST_ARRIVAL,
    FRESH,
    ID,
    INDEX,
    LAST_PUBLISHED,
    PASSED,
    START,
)
from airflow_dataflow_provider.spark.kernel.triggers.node import NOT_FRESH, Indices, Mask
from airflow_dataflow_provider.spark.kernel.windows import components

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel

_AT = "_at"
OpenWindows = tuple[pl.DataFrame, Mask, Codes]
"""Open windows, which of them differ from before the epoch, and the numbers of their keys."""


def not_expired(
    kernel: Kernel,
    now: RunningEpoch,
    open_windows: tuple[pl.DataFrame, Codes],
    came: list[pl.DataFrame],
    arrived: Codes,
) -> Mask:
    """Which elements, the last frame of what came, become part of a window that has not expired, all taken together.

    Late ones are counted, expired ones are set aside.
    """
    (sub, existing), elements = open_windows, came[-1]
    window, border = kernel.grouping.window, expired_until(now.horizon, kernel.grouping.allowed_lateness)
    if isinstance(window, SessionWindows) and (elements[END] > max(now.horizon, border)).all():
        return np.ones(len(elements), dtype=np.bool_)  # sessions only grow
    everything = pl.concat([frame.select(START, END) for frame in (*came, sub)])
    codes = np.concatenate([arrived, existing])
    start, end = everything[START].to_numpy(), everything[END].to_numpy()
    order = _ordered(kernel, codes, start, end)
    part_of, starts, ends = components(window, codes[order], start[order], end[order])
    becomes = np.empty(len(order), dtype=np.int64)
    becomes[order] = part_of
    mine = becomes[len(arrived) - len(elements) : len(arrived)]
    until = ends[mine]
    expired = until <= border
    now.late += int((until <= now.horizon).sum()) - int(expired.sum())
    if expired.any():
        windows = pl.Series(START, starts[mine]), pl.Series(END, until)
        now.set_aside(elements.with_columns(windows).filter(expired))
    return ~expired


def _ordered(kernel: Kernel, codes: Codes, start: Indices, end: Indices) -> Codes:
    """The order of windows; a user's own way of merging may ask for their ends, too."""
    return order_by(codes, start) if isinstance(kernel.grouping.window, SessionWindows) else order_by(codes, start, end)


def merge_windows(
    kernel: Kernel,
    now: RunningEpoch,
    open_windows: OpenWindows,
    windows: pl.DataFrame,
    codes: Codes,
    *,
    fresh: bool = True,
) -> tuple[OpenWindows, Indices]:
    """Open windows with what arrived for their keys; and for each row that arrived the position of its window.

    Args:
        kernel: the grouping's.
        now: the epoch.
        open_windows: those of the keys.
        windows: what arrived: key, bounds, accumulators.
        codes: the numbers of its keys.
        fresh: whether elements come with it.
    """
    sub, before, sub_codes = open_windows
    old = len(sub)
    key = np.concatenate([sub_codes, codes])
    start = np.concatenate([sub[START].to_numpy(), windows[START].to_numpy()])
    end = np.concatenate([sub[END].to_numpy(), windows[END].to_numpy()])
    order = _ordered(kernel, key, start, end)
    part_of, starts, ends = components(kernel.grouping.window, key[order], start[order], end[order])
    becomes = np.empty(len(order), dtype=np.int64)
    becomes[order] = part_of
    size = np.bincount(becomes, minlength=len(starts))
    # Most windows do not change: they are neither grouped nor sorted.
    alone = size[becomes] == 1
    stays = alone[:old] & (start[:old] == starts[becomes[:old]]) & (end[:old] == ends[becomes[:old]])
    opens = alone[old:]
    together = np.ones(len(starts), dtype=np.bool_)
    together[becomes[:old][stays]] = False
    together[becomes[old:][opens]] = False

    opened = windows.filter(opens).with_columns(
        pl.Series(START, starts[becomes[old:][opens]]), pl.Series(END, ends[becomes[old:][opens]])
    )
    new = kernel.opened(opened, fresh=fresh).with_columns(pl.Series(ID, now.new_ids(len(opened))))
    frames = [sub.filter(stays), new]
    groups = np.flatnonzero(together)
    if len(groups):
        bounds = starts, ends
        frames.append(
            _joined(kernel, now, sub, windows, order=order, becomes=becomes, groups=groups, bounds=bounds, fresh=fresh)
        )
    after = pl.concat([frame.select(*kernel.state_schema) for frame in frames])
    changed = np.ones(len(after), dtype=np.bool_)
    changed[: len(frames[0])] = before[stays]

    position = np.empty(len(starts), dtype=np.int64)
    kept = int(stays.sum())
    position[becomes[:old][stays]] = np.arange(kept)
    position[becomes[old:][opens]] = np.arange(kept, kept + len(new))
    position[groups] = np.arange(kept + len(new), len(after))
    after_codes = np.empty(len(after), dtype=np.int64)
    after_codes[position[becomes]] = key
    return (after, changed, after_codes), position[becomes[old:]]


def _joined(
    kernel: Kernel,
    now: RunningEpoch,
    sub: pl.DataFrame,
    windows: pl.DataFrame,
    *,
    order: Indices,
    becomes: Indices,
    groups: Indices,
    bounds: tuple[Indices, Indices],
    fresh: bool,
) -> pl.DataFrame:
    """The results that are made of several windows, or whose bounds have changed."""
    (starts, ends), old = bounds, len(sub)
    number = np.full(len(starts), -1)
    number[groups] = np.arange(len(groups))
    # In the order of windows: it decides in which one floating-point sums are added.
    rows = order[number[becomes[order]] >= 0]
    mine, theirs = rows[rows < old], rows[rows >= old] - old
    group = number[becomes[rows]]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    schema = [*kernel.partial_schema]
    parts = pl.concat([sub.select(schema), windows.select(schema)])
    sums = direct_addressing.combine_runs(kernel, parts, rows, first)
    if sums is None:
        keys = [pl.col(name).first() for name in kernel.grouping.key]
        numbered = parts[rows].with_columns(pl.Series(_AT, group).set_sorted())
        folded = numbered.group_by(_AT, maintain_order=True).agg(*keys, *kernel.merge())
    else:
        folded = parts[rows[first]].with_columns(pl.Series(name, values) for name, values in sums.items())
    folded = folded.with_columns(pl.Series(START, starts[groups]), pl.Series(END, ends[groups]))
    after = kernel.opened(folded, fresh=fresh)
    touched = np.zeros(len(groups), dtype=np.bool_)
    touched[number[becomes[theirs + old]]] = True
    return _remembering(kernel, now, sub[mine], number[becomes[mine]], after, touched=touched, fresh=fresh)


def _remembering(
    kernel: Kernel,
    now: RunningEpoch,
    sub: pl.DataFrame,
    becomes: Indices,
    after: pl.DataFrame,
    *,
    touched: Mask,
    fresh: bool,
) -> pl.DataFrame:
    """The results with what their open parts knew: trigger states, watermarks, published panes and their number."""
    results, rows = len(after), np.arange(len(sub))
    starts, ends = after[START].to_numpy(), after[END].to_numpy()
    same = (sub[START].to_numpy() == starts[becomes]) & (sub[END].to_numpy() == ends[becomes])
    parts = np.bincount(becomes, minlength=results)

    index = np.zeros(results, dtype=np.int32)
    np.maximum.at(index, becomes, np.where(same, sub[INDEX].to_numpy(), 0))
    passed = np.zeros(results, dtype=np.uint32)
    np.bitwise_or.at(passed, becomes, sub[PASSED].to_numpy())
    unchanged = np.zeros(results, dtype=np.bool_)
    unchanged[becomes[same]] = True
    # A percentile that had passed the end of a part has passed the whole only if it is beyond its end, too.
    passed = np.where(unchanged, passed, passed & kernel.percentiles.reached(now.clock, ends))
    ended = sub[FINISHED].to_numpy()
    finished = parts > 0
    np.logical_and.at(finished, becomes, ended)
    going = ~ended | finished[becomes]

    identity = np.full(results, np.iinfo(np.int64).max)
    np.minimum.at(identity, becomes, sub[ID].to_numpy())
    opened = parts == 0
    identity[opened] = now.new_ids(int(opened.sum()))
    columns = [
        pl.Series(INDEX, index, dtype=pl.Int32),
        pl.Series(PASSED, passed, dtype=pl.UInt32),
        pl.Series(FINISHED, finished),
        pl.Series(ID, identity),
    ]
    if not kernel.book.timed:
        was_fresh = np.zeros(results, dtype=np.bool_)
        np.logical_or.at(was_fresh, becomes, sub[FRESH].to_numpy())
        columns.append(pl.Series(FRESH, was_fresh | (touched & fresh)))
    after = after.with_columns(columns)
    if kernel.trigger.columns():
        states, merged = kernel.states(sub), kernel.states(after)
        if kernel.has_user_trigger:
            merged["now"] = kernel.windows(after, now.clock)  # type: ignore[assignment]
        kernel.trigger.merge(states, rows[going], becomes[going], merged)
        after = kernel.with_states(after, merged)
    if not (kernel.discards or touched.all()):
        # A window whose bounds have changed since its last pane has something new to publish.
        after = after.with_columns(_fresh_from(kernel, now, pl.lit(pl.Series(~touched))))
    if kernel.keeps_last_published:
        after = _all_last_published(sub, becomes, after)
    return after


def _fresh_from(kernel: Kernel, now: RunningEpoch, where: pl.Expr) -> pl.Expr:
    """The column of freshness, with these windows fresh, as of now where they were not."""
    if not kernel.book.timed:
        return pl.col(FRESH) | where
    arrival, moment = pl.col(FIRST_ARRIVAL), pl.lit(now.clock.processing_time, dtype=pl.Int64)
    return pl.when(where & (arrival == NOT_FRESH)).then(moment).otherwise(arrival).alias(FIRST_ARRIVAL)


def _all_last_published(sub: pl.DataFrame, becomes: Indices, after: pl.DataFrame) -> pl.DataFrame:
    panes = sub.select(LAST_PUBLISHED, START, END).with_columns(pl.Series(_AT, becomes))
    panes = panes.filter(pl.col(LAST_PUBLISHED).list.len() > 0)
    listed = panes.sort(_AT, START, END).group_by(_AT, maintain_order=True).agg(pl.col(LAST_PUBLISHED).explode())
    by_result = after.drop(LAST_PUBLISHED).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_AT))
    return by_result.join(listed, on=_AT, how="left", maintain_order="left").select(after.columns)
