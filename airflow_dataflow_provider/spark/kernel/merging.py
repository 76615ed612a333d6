"""Windows that merge: what arrives joins the key's open windows, and what was said of each of those is not forgotten.

Sessions whose trigger looks only at clocks arrive partly combined, and an epoch is one merge of all keys at once. Where
windows merge in a user's own way, the elements are taken one by one: the first element of every key, then the second of
every key, and so on. For triggers that look at the elements of sessions see :mod:`by_run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.windows import SessionWindows, expired_until
from airflow_dataflow_provider.spark.kernel import by_element, dense
from airflow_dataflow_provider.spark.kernel.codes import Codes, key_codes, occurrence, order_by
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
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, Progress
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel

_AT = "_at"


def take(kernel: Kernel, now: Progress, arrived: Arrived) -> None:
    """Merge an epoch's partial sessions, and the elements that may be too late, into the open windows."""
    elements = arrived.elements
    came = [part.select(*kernel.partial_schema) for part in arrived.partials if len(part)]
    late = 0 if elements is None else len(elements)
    frames = came if elements is None else [*came, elements]
    if not frames:
        return
    touched = Touched.of(kernel, now, frames)
    codes = touched.arrived
    if elements is not None and late:
        taken = _judged(kernel, now, (touched.sub, touched.codes), [*came, elements], codes)
        kept = np.ones(len(codes), dtype=np.bool_)
        kept[len(codes) - late :] = taken
        codes = codes[kept]
        lifted = elements.filter(taken).select(*kernel.grouping.key, START, END, *kernel.lift())
        came.append(lifted.select(*kernel.partial_schema))
    before = touched.sub, now.changed[touched.mask], touched.codes
    merged, _ = _merge(kernel, now, before, pl.concat(came), codes)
    put_back(kernel, now, touched, *merged[:2])


def one_by_one(kernel: Kernel, now: Progress, arrived: Arrived) -> None:
    """Take an epoch's elements, in arrival order within each key.

    Where the trigger looks at each element they are judged in that order, too, for a window may say something before it
    merges with one that is not too late.
    """
    elements = arrived.elements
    if elements is None or not len(elements):
        return
    touched = Touched.of(kernel, now, [elements])
    codes, key_of = touched.arrived, touched.codes
    if not kernel.by_element:
        taken = _judged(kernel, now, (touched.sub, key_of), [elements], codes)
        elements, codes = elements.filter(taken), codes[taken]
    whole = now.state, now.changed
    now.state, now.changed = touched.sub, now.changed[touched.mask]
    turn = occurrence(codes)
    for number in range(int(turn.max(initial=-1)) + 1):
        mine = turn == number
        of_turn, its_codes = elements.filter(mine), codes[mine]
        if kernel.by_element:
            taken = _judged(kernel, now, (now.state, key_of), [of_turn], its_codes)
            of_turn, its_codes = of_turn.filter(taken), its_codes[taken]
        if not len(of_turn):
            continue
        windows = of_turn.select(*kernel.grouping.key, START, END).with_columns(kernel.nothing())
        windows, before = windows.select(*kernel.partial_schema), (now.state, now.changed, key_of)
        merged, rows = _merge(kernel, now, before, windows, its_codes, fresh=False)
        now.state, now.changed, key_of = merged
        key_of = by_element.take_into(kernel, now, of_turn, rows, beside=key_of)
    after = now.state, now.changed, key_of
    now.state, now.changed = whole
    put_back(kernel, now, touched, *after[:2])


@dataclass(frozen=True, slots=True)
class Touched:
    """What an epoch can touch of a partition: the open windows of the keys that something has arrived for.

    Attributes:
        mask: which rows of the state they are.
        sub: those rows.
        codes: a number for the key of each.
        arrived: and for the key of each row that has arrived.
    """

    mask: Mask
    sub: pl.DataFrame
    codes: Codes
    arrived: Codes

    @classmethod
    def of(cls, kernel: Kernel, now: Progress, arrived: list[pl.DataFrame]) -> Touched:
        """Find them."""
        key = list(kernel.grouping.key)
        frames = [part.select(key) for part in arrived]
        codes = key_codes(pl.concat([*frames, now.state.select(key)]))
        count = len(codes) - len(now.state)
        came, existing = codes[:count], codes[count:]
        known = np.zeros(int(codes.max()) + 1 if len(codes) else 0, dtype=np.bool_)
        known[came] = True
        mask = known[existing]
        return cls(mask, now.state.filter(mask), existing[mask], came)


_Open = tuple[pl.DataFrame, Mask, Codes]
"""Open windows, which of them differ from before the epoch, and their keys' numbers."""


def put_back(kernel: Kernel, now: Progress, touched: Touched, after: pl.DataFrame, changed: Mask) -> None:
    """The touched windows, as they are now, beside the others."""
    other = ~touched.mask
    now.touched = touched.sub
    now.state = pl.concat([now.state.filter(other), after.select(*kernel.state_schema)], rechunk=True)
    now.changed = np.concatenate([now.changed[other], changed])


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
    kernel: Kernel, now: Progress, open_windows: tuple[pl.DataFrame, Codes], came: list[pl.DataFrame], arrived: Codes
) -> Mask:  # fmt: skip
    """Which elements, the last of what came, a window still takes: the one that each becomes part of, all together."""
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
        lost = elements.with_columns(windows).filter(expired)
        now.expired = lost if now.expired is None else pl.concat([now.expired, lost])
    return ~expired


def _ordered(kernel: Kernel, codes: Codes, start: Indices, end: Indices) -> Codes:
    """The order of windows; a user's own way of merging may ask for their ends, too."""
    return order_by(codes, start) if isinstance(kernel.grouping.window, SessionWindows) else order_by(codes, start, end)


def _merge(
    kernel: Kernel, now: Progress, open_windows: _Open, windows: pl.DataFrame, codes: Codes, *, fresh: bool = True
) -> tuple[_Open, Indices]:  # fmt: skip
    """Open windows with what arrived for their keys; and for each of the arrived, where what it became part of stands.

    Args:
        kernel: of the grouping.
        now: the epoch.
        open_windows: those of the keys.
        windows: what arrived: key, bounds, accumulators.
        codes: the numbers of its keys.
        fresh: whether something new comes with it.
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
    # What stays by itself, as it is, is most of what there is; it is neither grouped nor sorted.
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
    now: Progress,
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
    sums = dense.reduced(kernel, parts, rows, first)
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
    now: Progress,
    sub: pl.DataFrame,
    becomes: Indices,
    after: pl.DataFrame,
    *,
    touched: Mask,
    fresh: bool,
) -> pl.DataFrame:
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
    if not (kernel.discards or touched.all()):
        # What was said of a window that was cut since does not hold any more, which is news like an element.
        after = after.with_columns(_fresh_from(kernel, now, pl.lit(pl.Series(~touched))))
    if kernel.remembers:
        after = _all_that_stands(sub, becomes, after)
    return after


def _fresh_from(kernel: Kernel, now: Progress, where: pl.Expr) -> pl.Expr:
    """The column that says what is fresh, with something fresh there, as of now where nothing was."""
    if not kernel.book.timed:
        return pl.col(FRESH) | where
    arrival, moment = pl.col(FIRST_ARRIVAL), pl.lit(now.clock.processing_time, dtype=pl.Int64)
    return pl.when(where & (arrival == NOT_FRESH)).then(moment).otherwise(arrival).alias(FIRST_ARRIVAL)


def _all_that_stands(sub: pl.DataFrame, becomes: Indices, after: pl.DataFrame) -> pl.DataFrame:
    stood = sub.select(LAST_PUBLISHED, START, END).with_columns(pl.Series(_AT, becomes))
    stood = stood.filter(pl.col(LAST_PUBLISHED).list.len() > 0)
    listed = stood.sort(_AT, START, END).group_by(_AT, maintain_order=True).agg(pl.col(LAST_PUBLISHED).explode())
    by_result = after.drop(LAST_PUBLISHED).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_AT))
    return by_result.join(listed, on=_AT, how="left", maintain_order="left").select(after.columns)
