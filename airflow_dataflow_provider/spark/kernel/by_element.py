"""Triggers that look at elements: where among an epoch's elements each window fires, and what it publishes there.

Windows are not asked element by element. Each round asks all windows together where they fire next
(:meth:`Node.next_firing`), so there are as many rounds as the busiest window has firings. The firings cut each window's
elements into segments; segments are combined like groups, and accumulated results are a running fold in a logarithmic
number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.triggers import AtCount, Repeat
from airflow_dataflow_provider.spark.kernel import direct_addressing, publishing
from airflow_dataflow_provider.spark.kernel.codes import sorted_order
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, END, FINISHED, FRESH, INDEX, PASSED, RIGHT, START
from airflow_dataflow_provider.spark.kernel.last_published import LastPublishedPane
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    NOT_FRESH,
    Elements,
    Indices,
    Mask,
    States,
    Times,
    Windows,
)
from airflow_dataflow_provider.spark.kernel.windower import Windower

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_dataflow_provider.model.clock import Clock
    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.late_check import LateCheck

_SEGMENT = "_segment"


class ByElement(Windower):
    """Windows that do not merge, under a trigger that looks at elements."""

    sends_elements = True

    @override
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        yield self.elements(check.in_time(self.assign(rows)))

    @override
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        if arrived.elements is not None and len(arrived.elements):
            add_elements(self.kernel, now, arrived.elements, self._open_for(now, arrived.elements))

    def _open_for(self, now: RunningEpoch, elements: pl.DataFrame) -> Indices:
        """For each element the position of its window in the state, which is opened if it is new: empty, not fresh."""
        kernel, columns = self.kernel, [*self.kernel.key_types, START, END]
        found = direct_addressing.find_windows(kernel, now.state, elements)
        at, first = self._find_by_hash(now.state, elements) if found is None else found
        if len(first):
            opened = kernel.opened(elements[first].select(columns).with_columns(kernel.nothing()), fresh=False)
            now.state = pl.concat([now.state, opened], rechunk=True)
            now.changed = np.concatenate([now.changed, np.ones(len(opened), dtype=np.bool_)])
        return at

    def _find_by_hash(self, state: pl.DataFrame, elements: pl.DataFrame) -> tuple[Indices, Indices]:
        """For each element the position of its window, new ones behind the known; an element of each new window."""
        by = self.kernel.by
        where = state.lazy().select(*by, pl.int_range(pl.len(), dtype=pl.Int64).alias("_row"))
        numbered = elements.lazy().select(by).with_row_index("_at")
        found = numbered.join(where, on=by, how="left", nulls_equal=True, maintain_order="left").collect()
        rows = found["_row"].fill_null(0).to_numpy().copy()
        missing = found.filter(pl.col("_row").is_null())
        if not len(missing):
            return rows, np.zeros(0, dtype=np.int64)
        first = missing.unique(subset=by, keep="first", maintain_order=True)
        numbers = first.lazy().select(by).with_row_index("_new")
        new = missing.lazy().join(numbers, on=by, how="left", nulls_equal=True, maintain_order="left").collect()
        rows[missing["_at"].to_numpy()] = new["_new"].to_numpy().astype(np.int64) + len(state)
        return rows, first["_at"].to_numpy().astype(np.int64)


def add_elements(
    kernel: Kernel, now: RunningEpoch, came: pl.DataFrame, rows: Indices, beside: Indices | None = None
) -> Indices:  # fmt: skip
    """Bring elements into open windows: element ``i`` into the one at ``rows[i]`` of the state.

    Windows change their places; the answer is ``beside``, a number for each, in the new order.
    """
    is_touched = np.zeros(len(now.state), dtype=np.bool_)
    is_touched[rows] = True
    touched = np.flatnonzero(is_touched)
    compact = (np.cumsum(is_touched) - 1)[rows]
    sub = now.state[touched]
    order = sorted_order(compact, len(touched))
    ordered, row = came[order], compact[order]
    bounds = np.searchsorted(row, np.arange(len(touched) + 1))
    states = kernel.states(sub)
    going = ~sub[FINISHED].to_numpy()
    windows, elements = kernel.windows(sub, now.clock, at_boundary=False), Elements(ordered, bounds[1:])
    fires = np.zeros(len(ordered), dtype=np.bool_)
    fires[firings(kernel, now.clock, elements, bounds[:-1], windows, states=states, going=going)] = True
    after = _publish(kernel, now, sub, ordered, row, fires=fires)
    after = kernel.with_states(after, states).with_columns(pl.Series(FINISHED, ~going))
    untouched = ~is_touched
    now.state = pl.concat([now.state.filter(untouched), after.select(*kernel.state_schema)], rechunk=True)
    now.changed = np.concatenate([now.changed[untouched], np.ones(len(after), dtype=np.bool_)])
    return touched if beside is None else np.concatenate([beside[untouched], beside[touched]])


def firings(
    kernel: Kernel,
    clock: Clock,
    elements: Elements,
    start: Indices,
    windows: Windows,
    *,
    states: States,
    going: Mask,
    bounds: tuple[Times, Times] | None = None,
) -> Indices:
    """The positions of the elements after which a pane is fired; trigger states and ``going`` are moved on, in place.

    Args:
        kernel: the grouping's.
        clock: the epoch's, while its elements come in.
        elements: those of all windows.
        start: for each window, the position of its first element.
        windows: as they stand before the elements.
        states: the triggers'.
        going: which of them have not finished.
        bounds: where each element's window starts and ends once it is in, if windows grow.
    """
    match kernel.grouping.trigger:
        case Repeat(trigger=AtCount(n=n)):
            (count,) = states.values()
            return _every(n, count, start, elements.stop)
    trigger, stop, at, since = kernel.trigger, elements.stop, start.copy(), start.copy()
    windows.is_firing = True
    elements.prepared |= {"now": windows, "since": since}
    found: list[Indices] = []
    active = np.flatnonzero(going & (at < stop))
    while len(active):
        due = trigger.next_firing(states, elements, active, at[active])
        fires = due < stop[active]
        upto = np.where(fires, due + 1, stop[active])
        trigger.consume(states, elements, active, at[active], upto)
        at[active] = upto
        rows = active[fires]
        if not len(rows):
            break
        found.append(due[fires])
        if bounds is not None:
            windows.start[rows], windows.end[rows] = bounds[0][due[fires]], bounds[1][due[fires]]
        windows.first_arrival[rows] = _first_arrival(kernel, windows, elements, rows, at)
        fired = np.zeros(len(windows), dtype=np.bool_)
        fired[rows] = True
        going[trigger.on_fire(states, windows, fired)] = False
        # As of this pane: the watermarks that have passed, and nothing fresh.
        windows.passed[rows] = kernel.percentiles.reached(clock, windows.end[rows])
        windows.first_arrival[rows] = NOT_FRESH
        since[rows] = at[rows]
        active = rows[going[rows] & (at[rows] < stop[rows])]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _every(n: int, count: Indices, start: Indices, stop: Indices) -> Indices:
    """``Repeat(AtCount(n))`` in closed form: the first firing where the count is full, then every n-th element.

    The count may stand above ``n``: windows that merged have added theirs. It is moved on, in place.
    """
    size = stop - start
    first = np.maximum(n - count, 1)
    many = np.where(size >= first, (size - first) // n + 1, 0)
    count[:] = np.where(many > 0, (size - first) % n, count + size)
    begin = np.cumsum(many) - many
    nth: Indices = np.arange(int(many.sum())) - np.repeat(begin, many)
    return np.repeat(start + first - 1, many) + n * nth


def _first_arrival(kernel: Kernel, windows: Windows, elements: Elements, rows: Indices, at: Indices) -> Times | int:
    """When the first element of the pane arrived, of windows that fire before a position; timers may ask."""
    if not kernel.book.timed:
        return 0
    return np.minimum(earliest(elements, elements.prepared["since"][rows], at[rows]), windows.first_arrival[rows])


def earliest(elements: Elements, start: Indices, stop: Indices) -> Times:
    """The earliest arrival among the elements from each position to before another."""
    if "arrivals" not in elements.prepared:
        elements.prepared["arrivals"] = np.append(elements.frame[ARRIVAL].to_numpy(), NOT_FRESH)
    first: Times = np.minimum.reduceat(elements.prepared["arrivals"], np.column_stack([start, stop]).ravel())[::2]
    return first


def _publish(
    kernel: Kernel, now: RunningEpoch, sub: pl.DataFrame, ordered: pl.DataFrame, row: Indices, *, fires: Mask
) -> pl.DataFrame:  # fmt: skip
    """Publish the panes of all firings, in order; return the windows after the last element."""
    begins = np.ones(len(row), dtype=np.bool_)
    begins[1:] = (row[1:] != row[:-1]) | fires[:-1]
    segment = np.cumsum(begins) - 1
    grouped = ordered.with_columns(pl.Series(_SEGMENT, segment).set_sorted()).group_by(_SEGMENT, maintain_order=True)
    segments = grouped.agg(kernel.make())
    first = np.flatnonzero(begins)
    of = row[first]
    last = np.append(first[1:], len(row)) - 1
    firing = fires[last]
    opens = np.ones(len(of), dtype=np.bool_)
    opens[1:] = of[1:] != of[:-1]
    running = _running(kernel, sub, segments, of, opens)
    after = _after(kernel, sub, running, of, firing)
    if not firing.any():
        return after
    published = _fire(kernel, now, sub, running, of, firing=firing)
    return _noted(kernel, now, after, running.filter(firing), of[firing], published=published)


def _running(kernel: Kernel, sub: pl.DataFrame, segments: pl.DataFrame, of: Indices, opens: Mask) -> pl.DataFrame:
    """The accumulators of each segment's pane: its own elements and, where they count, those before it."""
    names = kernel.field_names
    # Accumulators from before the epoch belong to the first segment of a window.
    before = sub[of].select(pl.col(name).alias(name + RIGHT) for name in names)
    mask = pl.lit(pl.Series(opens))
    paired = [
        pl.when(mask).then(expr).otherwise(pl.col(name)).alias(name)
        for name, expr in zip(names, kernel.pair(RIGHT), strict=True)
    ]
    running = segments.hstack(before).with_columns(paired).select(names)
    lasting = kernel.book.lasting if kernel.discards else [*kernel.aggregates.names, *kernel.book.lasting]
    if not lasting:
        return running
    pair = dict(zip(names, kernel.pair(RIGHT), strict=True))
    position = np.arange(len(of)) - np.maximum.accumulate(np.where(opens, np.arange(len(of)), 0))
    step, longest = 1, int(position.max(initial=0))
    while step <= longest:
        mask = pl.lit(pl.Series(position >= step))
        earlier = running.select(pl.col(name).shift(step).alias(name + RIGHT) for name in names)
        running = (
            running.hstack(earlier)
            .with_columns(pl.when(mask).then(pair[name]).otherwise(pl.col(name)).alias(name) for name in lasting)
            .select(names)
        )
        step *= 2
    return running


def _fire(
    kernel: Kernel, now: RunningEpoch, sub: pl.DataFrame, running: pl.DataFrame, of: Indices, *, firing: Mask
) -> Mask:
    """Publish the firing segments, each a row of the state at that time; say which have changed anything."""
    at = of[firing]
    again = np.zeros(len(at), dtype=np.bool_)
    again[1:] = at[1:] == at[:-1]
    fields = running.filter(firing)
    rows = sub[at].with_columns(fields[name] for name in kernel.field_names)
    if not kernel.book.timed:
        rows = rows.with_columns(pl.lit(value=True).alias(FRESH))
    reached = kernel.percentiles.reached(now.clock, rows[END].to_numpy())
    rows = rows.with_columns(pl.Series(PASSED, np.where(again, reached, rows[PASSED].to_numpy()), dtype=pl.UInt32))
    if kernel.keeps_last_published and again.any():
        rows = _last_published_in_between(kernel, rows, again)
    published = np.ones(len(rows), dtype=np.bool_)
    if kernel.retracts:
        empty = kernel.empty(rows)
        values, timestamp = kernel.aggregates.extract(rows), kernel.panes.timestamp(rows)
        published = ~kernel.last_published.is_unchanged(rows, values, timestamp, empty) & ~empty
    # The number of panes of the same window published before, in this epoch.
    total: Indices = np.cumsum(published) - published
    base = np.maximum.accumulate(np.where(again, 0, total))
    rows = rows.with_columns(pl.Series(INDEX, rows[INDEX].to_numpy() + total - base, dtype=pl.Int32))
    publishing.publish(kernel, now, rows, is_last=np.zeros(len(rows), dtype=np.bool_), in_turn=True)
    return published


def _last_published_in_between(kernel: Kernel, rows: pl.DataFrame, again: Mask) -> pl.DataFrame:
    """Where a window fires again within the epoch, its last published pane is that of the firing before."""
    if not isinstance(kernel.last_published, LastPublishedPane):  # windows that merge take one element at a time
        raise TypeError(kernel.last_published)
    values = kernel.aggregates.extract(rows)
    stood = kernel.last_published.set(rows, values, kernel.panes.timestamp(rows), kernel.empty(rows))
    return _where(again, stood.select(pl.all().shift(1)), rows, list(kernel.last_published.columns()))


def _where(mask: Mask, first: pl.DataFrame, second: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The second frame, with these columns of the first one where the mask says so."""
    beside = second.hstack([first[name].alias(name + RIGHT) for name in names])
    condition = pl.lit(pl.Series(mask))
    chosen = (pl.when(condition).then(pl.col(name + RIGHT)).otherwise(pl.col(name)).alias(name) for name in names)
    return beside.with_columns(chosen).select(second.columns)


def _after(
    kernel: Kernel, sub: pl.DataFrame, running: pl.DataFrame, of: Indices, firing: Mask
) -> pl.DataFrame:  # fmt: skip
    """The windows after the epoch's last element."""
    ends = np.ones(len(of), dtype=np.bool_)
    ends[:-1] = of[1:] != of[:-1]
    rest = running.filter(ends)
    said = firing[ends]
    after = sub.with_columns(rest[name] for name in kernel.field_names)
    if not kernel.book.timed:
        after = after.with_columns(pl.lit(value=True).alias(FRESH))
    after = after.with_columns(kernel.not_fresh(pl.lit(pl.Series(said))))
    if kernel.discards and said.any():
        mask = pl.lit(pl.Series(said))
        zeros = [*kernel.aggregates.zeros(), *kernel.book.discarded()]
        names = [zero.meta.output_name() for zero in zeros]
        after = after.with_columns(
            pl.when(mask).then(zero).otherwise(pl.col(name)).alias(name)
            for name, zero in zip(names, zeros, strict=True)
        )
    return after


def _noted(
    kernel: Kernel, now: RunningEpoch, after: pl.DataFrame, fired: pl.DataFrame, at: Indices, *, published: Mask
) -> pl.DataFrame:
    """With the index, the watermarks and the last published pane of each window's last firing."""
    final = np.ones(len(at), dtype=np.bool_)
    final[:-1] = at[1:] != at[:-1]
    last = at[final]
    index, passed = after[INDEX].to_numpy().copy(), after[PASSED].to_numpy().copy()
    np.add.at(index, at, published)
    passed[last] = kernel.percentiles.reached(now.clock, after[END].to_numpy()[last])
    after = after.with_columns(pl.Series(INDEX, index, dtype=pl.Int32), pl.Series(PASSED, passed, dtype=pl.UInt32))
    if not kernel.keeps_last_published:
        return after
    fields = fired.filter(final)
    rows = after[last].with_columns(fields[name] for name in kernel.field_names)
    values, timestamp = kernel.aggregates.extract(rows), kernel.panes.timestamp(rows)
    stood = kernel.last_published.set(rows, values, timestamp, kernel.empty(rows))
    where = np.full(len(after), -1)
    where[last] = np.arange(len(last))
    return _where(where >= 0, stood[np.maximum(where, 0)], after, list(kernel.last_published.columns()))
