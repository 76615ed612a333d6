"""Windows that merge: what arrives joins the key's open windows, and what was said of each of those is not forgotten.

Sessions whose trigger looks only at clocks arrive partly combined, and an epoch is one merge of all keys at once. Where
the order of elements matters (a trigger that looks at them, or a user's own way of merging), they are taken one by one:
the first element of every key, then the second of every key, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.windows import expired_until
from airflow_dataflow_provider.spark.kernel import by_element
from airflow_dataflow_provider.spark.kernel.columns import END, FINISHED, FRESH, ID, INDEX, PASSED, STANDING, START
from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask
from airflow_dataflow_provider.spark.kernel.windows import components

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.kernel import Arrived, Kernel, Progress

_KEY, _OLD, _AT = "_key", "_old", "_at"


def take(kernel: Kernel, now: Progress, arrived: Arrived) -> None:
    """Merge an epoch's partial sessions, and the elements that may be too late, into the open windows."""
    partials = list(arrived.partials)
    rest, sub, key_of = _touched(kernel, now, [*partials, *([] if arrived.elements is None else [arrived.elements])])
    if arrived.elements is not None and len(arrived.elements):
        taken = _judged(kernel, now, sub, arrived.elements, partials, key_of)
        if len(taken):
            partials.append(taken.select(*kernel.grouping.key, START, END, *kernel.lift()))
    if not any(map(len, partials)):
        _put_back(kernel, now, rest, sub, sub)
        return
    merged, _ = _merge(kernel, now, sub, pl.concat([part.select(*kernel.partial_schema) for part in partials]), key_of)
    _put_back(kernel, now, rest, sub, merged)


def one_by_one(kernel: Kernel, now: Progress, arrived: Arrived) -> None:
    """Take an epoch's elements, in arrival order within each key."""
    if arrived.elements is None or not len(arrived.elements):
        return
    rest, before, key_of = _touched(kernel, now, [arrived.elements])
    elements = _judged(kernel, now, before, arrived.elements, [], key_of)
    sub, changed = before, np.zeros(len(before), dtype=np.bool_)
    if len(elements):
        turn = elements.select((pl.int_range(pl.len()).over(kernel.grouping.key)).alias("_turn"))["_turn"].to_numpy()
        whole, now.state, now.changed = (now.state, now.changed), before, changed
        for number in range(int(turn.max()) + 1):
            mine = elements.filter(pl.Series(turn == number))
            windows = mine.select(*kernel.grouping.key, START, END).with_columns(kernel.nothing())
            now.state, rows = _merge(kernel, now, now.state, windows, key_of, fresh=False)
            now.changed = np.ones(len(now.state), dtype=np.bool_)
            by_element.take_into(kernel, now, mine, rows)
        sub, (now.state, now.changed) = now.state, whole
    _put_back(kernel, now, rest, before, sub)


def _touched(
    kernel: Kernel, now: Progress, arrived: list[pl.DataFrame]
) -> tuple[tuple[pl.DataFrame, Mask], pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """The open windows of other keys, those of the keys that something has arrived for, and a number for each key."""
    key = kernel.grouping.key
    key_of = pl.concat([part.select(key) for part in arrived]).unique().with_row_index(_KEY)
    flagged = now.state.select(key).join(key_of, on=key, how="left", nulls_equal=True, maintain_order="left")
    mask = flagged[_KEY].is_not_null()
    other = (~mask).to_numpy()
    return (now.state.filter(~mask), now.changed[other]), now.state.filter(mask), key_of


def _numbered(kernel: Kernel, key_of: pl.DataFrame, frame: pl.DataFrame) -> Indices:
    """The number of each row's key."""
    key = kernel.grouping.key
    found = frame.select(key).join(key_of, on=key, how="left", nulls_equal=True, maintain_order="left")
    return found[_KEY].to_numpy().astype(np.int64)


def _put_back(
    kernel: Kernel, now: Progress, rest: tuple[pl.DataFrame, Mask], before: pl.DataFrame, after: pl.DataFrame
) -> None:  # fmt: skip
    """The touched windows beside the others."""
    state, changed = rest
    now.state = pl.concat([state, after.select(*kernel.state_schema)], rechunk=True)
    now.changed = np.concatenate([changed, np.ones(len(after), dtype=np.bool_)])
    now.touched = before


def tombstones(now: Progress, border: Micros) -> pl.DataFrame | None:
    """What to write of windows that are no more, where their end does not say it to whoever reads the files.

    They became part of others, or have shrunk and expired since.
    """
    if now.touched is None or not len(now.touched):
        return None
    gone = now.touched.join(now.state.select(ID), on=ID, how="anti").filter(pl.col(END) > border)
    # A window that ends before all time has expired.
    marker = pl.lit(MIN_TIME, dtype=pl.Int64)
    return gone.with_columns(marker.alias(START), marker.alias(END)) if len(gone) else None


def _judged(
    kernel: Kernel, now: Progress, sub: pl.DataFrame, elements: pl.DataFrame, partials: list[pl.DataFrame], key_of: pl.DataFrame
) -> pl.DataFrame:  # fmt: skip
    """The elements that a window still takes: the one that each becomes part of, all that has arrived together."""
    parts = [frame.select(*kernel.grouping.key, START, END) for frame in (elements, sub, *partials)]
    everything = pl.concat(parts)
    key = _numbered(kernel, key_of, everything)
    start, end = everything[START].to_numpy(), everything[END].to_numpy()
    order = np.lexsort((end, start, key))
    part_of, starts, ends = components(kernel.grouping.window, key[order], start[order], end[order])
    becomes = np.empty(len(order), dtype=np.int64)
    becomes[order] = part_of
    mine = becomes[: len(elements)]
    until = ends[mine]
    expired = until <= expired_until(now.horizon, kernel.grouping.allowed_lateness)
    now.late += int((until <= now.horizon).sum()) - int(expired.sum())
    if not expired.any():
        return elements
    windows = pl.Series(START, starts[mine]), pl.Series(END, until)
    now.expired = elements.with_columns(windows).filter(expired)
    return elements.filter(~expired)


def _merge(
    kernel: Kernel, now: Progress, sub: pl.DataFrame, windows: pl.DataFrame, key_of: pl.DataFrame, *, fresh: bool = True
) -> tuple[pl.DataFrame, Indices]:  # fmt: skip
    """Open windows with what arrived for their keys; and for each of the arrived, the position of what it became part of.

    Args:
        kernel: of the grouping.
        now: the epoch.
        sub: the keys' open windows.
        windows: what arrived: key, bounds, accumulators.
        key_of: a number for each key.
        fresh: whether something new comes with it.
    """
    old, new = len(sub), len(windows)
    parts = pl.concat([sub.select(*kernel.partial_schema), windows.select(*kernel.partial_schema)])
    key = _numbered(kernel, key_of, parts)
    start, end = parts[START].to_numpy(), parts[END].to_numpy()
    order = np.lexsort((end, start, key))
    part_of, starts, ends = components(kernel.grouping.window, key[order], start[order], end[order])
    becomes = np.empty(old + new, dtype=np.int64)
    becomes[order] = part_of
    results = len(starts)
    size = np.bincount(becomes, minlength=results)
    folded = _folded(kernel, parts, order, part_of, size)
    folded = folded.with_columns(pl.Series(START, starts), pl.Series(END, ends))
    after = kernel.opened(folded, fresh=fresh)
    if old:
        after = _remembering(kernel, now, sub, becomes[:old], after, touched=_touches(becomes[old:], results), fresh=fresh)
    else:
        after = after.with_columns(pl.Series(ID, now.new_ids(results)))
    return after, becomes[old:]


def _touches(becomes: Indices, results: int) -> Mask:
    touched = np.zeros(results, dtype=np.bool_)
    touched[becomes] = True
    return touched


def _folded(kernel: Kernel, parts: pl.DataFrame, order: Indices, part_of: Indices, size: Indices) -> pl.DataFrame:
    """The accumulators of each result, in their order; most are made of one part, and those are not grouped."""
    ordered = parts[order]
    alone = size[part_of] == 1
    if alone.all():
        return ordered
    several = ordered.filter(~alone).with_columns(pl.Series(_AT, part_of[~alone]).set_sorted())
    keys = [pl.col(name).first() for name in kernel.grouping.key]
    grouped = several.group_by(_AT, maintain_order=True).agg(*keys, *kernel.merge())
    columns = [name for name in kernel.partial_schema if name not in (START, END)]
    single = ordered.filter(alone).select(pl.Series(_AT, part_of[alone]), *columns)
    return pl.concat([single, grouped.select(_AT, *columns)]).sort(_AT).with_columns(
        pl.lit(0, dtype=pl.Int64).alias(START), pl.lit(0, dtype=pl.Int64).alias(END)
    ).select(*kernel.partial_schema)  # fmt: skip


def _remembering(  # noqa: PLR0913 - what the merge knows
    kernel: Kernel, now: Progress, sub: pl.DataFrame, becomes: Indices, after: pl.DataFrame, *, touched: Mask, fresh: bool
) -> pl.DataFrame:  # fmt: skip
    """The results with what their open parts knew: triggers' states, watermarks, panes that stand, their number."""
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
        if kernel.has_own_trigger:
            merged["now"] = kernel.windows(after, now.clock)  # type: ignore[assignment]
        kernel.trigger.merge(states, rows[going], becomes[going], merged)
        after = kernel.with_states(after, merged)
    if kernel.retracts:
        after = _all_that_stands(sub, becomes, after)
    return after


def _all_that_stands(sub: pl.DataFrame, becomes: Indices, after: pl.DataFrame) -> pl.DataFrame:
    stood = sub.select(STANDING, START, END).with_columns(pl.Series(_AT, becomes)).filter(pl.col(STANDING).list.len() > 0)
    listed = stood.sort(_AT, START, END).group_by(_AT, maintain_order=True).agg(pl.col(STANDING).explode())
    by_result = after.drop(STANDING).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_AT))
    return by_result.join(listed, on=_AT, how="left", maintain_order="left").select(after.columns)

