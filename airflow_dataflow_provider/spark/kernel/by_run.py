"""Sessions under triggers that look at elements: an epoch's elements at once, by the runs between merges.

Within a run a session only grows, so its firings are found as those of windows that do not merge are
(:func:`by_element.firings`): all runs that nothing merges into first, then those that begin with a merge of these, and
so on. There are as many rounds as sessions merge deep, not as many as the busiest key has elements.

Every element is published first by one firing, or by none in the epoch: these are groups, combined at once. A firing of
an accumulating session also has the elements of the firings before it in the same session, and retracts these: they are
a forest, laid out so that the elements of a firing are a range (:mod:`ranges`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel import by_element, ranges
from airflow_dataflow_provider.spark.kernel.codes import sorted_order
from airflow_dataflow_provider.spark.kernel.columns import (
    END,
    FINISHED,
    FIRST_ARRIVAL,
    FRESH,
    ID,
    INDEX,
    PASSED,
    START,
)
from airflow_dataflow_provider.spark.kernel.merging import OneByOneMerging
from airflow_dataflow_provider.spark.kernel.session_groups import GROUP, Groups
from airflow_dataflow_provider.spark.kernel.session_last_published import SessionLastPublished
from airflow_dataflow_provider.spark.kernel.session_runs import Runs, last_of, runs_of
from airflow_dataflow_provider.spark.kernel.touched import Touched
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    NOT_FRESH,
    Bits,
    Column,
    Elements,
    Indices,
    Mask,
    States,
    Times,
    Windows,
)

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


class SessionsByRun(OneByOneMerging):
    """Sessions under a trigger that looks at elements: all elements of an epoch at once."""

    @override
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        kernel, elements = self.kernel, arrived.elements
        if elements is None or not len(elements):
            return
        touched = Touched.of(kernel, now, [elements])
        sub = touched.sub
        border = expired_until(now.horizon, kernel.grouping.allowed_lateness)
        runs = runs_of(
            (touched.arrived, elements[START].to_numpy(), elements[END].to_numpy()),
            (touched.codes, sub[START].to_numpy(), sub[END].to_numpy()),
            border,
        )
        taken = runs.of >= 0
        now.late += int((runs.end[taken] <= now.horizon).sum())
        if not taken.all():
            bounds = pl.Series(START, runs.start), pl.Series(END, runs.end)
            now.set_aside(elements.with_columns(bounds).filter(~taken))
        if not taken.any():
            return
        sessions = _Sessions.of(kernel, now, sub, elements, runs)
        sessions.fire()
        after = sessions.published()
        other = ((runs.parent < 0) & ~sessions.has_elements)[: len(sub)]
        changed = np.concatenate([now.changed[touched.mask][other], np.ones(len(after), dtype=np.bool_)])
        touched.put_back(kernel, now, pl.concat([sub.filter(other), after]), changed)


@dataclass(slots=True)
class _Sessions:
    """The runs of an epoch, with trigger states; a run without elements is an open window that others join.

    Attributes:
        kernel: the grouping's.
        now: the epoch.
        sub: the open windows of the keys; their runs come first.
        runs: all of them.
        order: for each element taken, where it stands among all that have arrived.
        ordered: the elements that are taken, those of a run beside each other.
        low: for each of these, where its session starts once it is in.
        high: and where it ends.
        borders: for each run the position of its first element; one more than there are runs.
        states: of the triggers, by run.
        going: the runs whose triggers have not finished.
        first_arrival: by run, the first arrival since the last pane.
        incoming: by run, the watermarks that had passed at the last pane before it.
        passed: by run, those at its end.
        start: by run, where its session starts at its end.
        end: and where it ends.
        fires: the positions of the elements after which a pane is fired.
    """

    kernel: Kernel
    now: RunningEpoch
    sub: pl.DataFrame
    runs: Runs
    order: Indices
    ordered: pl.DataFrame
    low: Times
    high: Times
    borders: Indices
    states: States
    going: Mask
    first_arrival: Times
    incoming: Bits
    passed: Bits
    start: Times
    end: Times
    fires: Indices

    @classmethod
    def of(cls, kernel: Kernel, now: RunningEpoch, sub: pl.DataFrame, elements: pl.DataFrame, runs: Runs) -> _Sessions:
        """Before any trigger was asked."""
        came = np.flatnonzero(runs.of >= 0)
        order = came[sorted_order(runs.of[came], len(runs))]
        borders = np.searchsorted(runs.of[order], np.arange(len(runs) + 1))
        low, high = runs.start[order], runs.end[order]
        new = len(runs) - len(sub)
        windows = kernel.windows(sub, now.clock)
        states = {name: np.concatenate([column, _initial(new, column)]) for name, column in kernel.states(sub).items()}
        last = np.maximum(borders[1:] - 1, 0)
        some = borders[1:] > borders[:-1]
        known = [np.concatenate([column, np.zeros(new, np.int64)]) for column in (windows.start, windows.end)]
        start, end = (np.where(some, column[last], before) for column, before in zip((low, high), known, strict=True))
        return cls(
            kernel, now, sub, runs, order, elements[order], low, high, borders, states,
            np.concatenate([~sub[FINISHED].to_numpy(), np.ones(new, np.bool_)]),
            np.concatenate([windows.first_arrival, np.full(new, NOT_FRESH)]),
            np.concatenate([windows.passed, np.zeros(new, np.uint32)]), np.zeros(len(runs), np.uint32),
            start, end, np.zeros(0, np.int64),
        )  # fmt: skip

    @property
    def has_elements(self) -> Mask:
        some: Mask = self.borders[1:] > self.borders[:-1]
        return some

    def stays(self, rows: Indices, start: Times, end: Times) -> Mask:
        """Which of these runs are of an open window that has these bounds already."""
        old = rows < len(self.sub)
        at = np.where(old, rows, 0)
        if not len(self.sub):
            return old
        same: Mask = old & (self.sub[START].to_numpy()[at] == start) & (self.sub[END].to_numpy()[at] == end)
        return same

    # Where they fire

    def fire(self) -> None:
        """Find the firings of all runs, level by level."""
        joins = np.flatnonzero(self.runs.parent >= 0)
        joins = joins[np.argsort(self.runs.level[self.runs.parent[joins]], kind="stable")]
        levels = int(self.runs.level.max()) + 1
        of_join = np.searchsorted(self.runs.level[self.runs.parent[joins]], np.arange(levels + 1))
        by_level = np.argsort(self.runs.level, kind="stable")
        of_run = np.searchsorted(self.runs.level[by_level], np.arange(levels + 1))
        elements, fires = Elements(self.ordered, self.borders[1:]), list[Indices]()
        elements.prepared["bounds"] = self.low, self.high
        for level in range(levels):
            rows = by_level[of_run[level] : of_run[level + 1]]
            if level:
                self._merge(joins[of_join[level] : of_join[level + 1]], rows)
            fires.append(self._fire(rows, elements))
        self.fires = np.sort(np.concatenate(fires))

    def _merge(self, parts: Indices, rows: Indices) -> None:
        """Give these runs the merged states of the runs that end in them."""
        into = np.searchsorted(rows, self.runs.parent[parts])
        finished = np.ones(len(rows), np.bool_)
        np.logical_and.at(finished, into, ~self.going[parts])
        self.going[rows] = ~finished
        first, passed = np.full(len(rows), NOT_FRESH), np.zeros(len(rows), np.uint32)
        np.minimum.at(first, into, self.first_arrival[parts])
        np.bitwise_or.at(passed, into, self.passed[parts])
        start, end = self.low[self.borders[:-1][rows]], self.high[self.borders[:-1][rows]]
        passed &= self.kernel.percentiles.reached(self.now.clock, end)
        self.first_arrival[rows], self.incoming[rows] = first, passed
        if self.states:
            asked = self.going[parts] | finished[into]
            before = {name: column[parts[asked]] for name, column in self.states.items()}
            merged = {name: _initial(len(rows), column) for name, column in self.states.items()}
            if self.kernel.has_user_trigger:
                merged["now"] = Windows(self.now.clock, start, end, first, passed)  # type: ignore[assignment]
            self.kernel.trigger.merge(before, np.arange(int(asked.sum())), into[asked], merged)
            for name, column in self.states.items():
                column[rows] = merged[name]

    def _begins_with(self, rows: Indices) -> tuple[Times, Times]:
        """The bounds with which these runs begin: those of an open window, or those that the first element makes."""
        first = np.minimum(self.borders[:-1][rows], len(self.low) - 1)
        start, end, old = self.low[first], self.high[first], rows < len(self.sub)
        start[old], end[old] = self.sub[START].to_numpy()[rows[old]], self.sub[END].to_numpy()[rows[old]]
        return start, end

    def _fire(self, rows: Indices, elements: Elements) -> Indices:
        """The firings of these runs; moves their trigger states on."""
        kernel, start, stop = self.kernel, self.borders[:-1][rows], self.borders[1:][rows]
        states = {name: column[rows] for name, column in self.states.items()}
        going, first = self.going[rows], self.first_arrival[rows]
        windows = Windows(
            self.now.clock, *self._begins_with(rows), first.copy(), self.incoming[rows], at_boundary=False
        )
        mine = Elements(elements.frame, stop, elements.prepared)
        fires = by_element.firings(
            kernel, self.now.clock, mine, start, windows, states=states, going=going, bounds=(self.low, self.high)
        )
        for name, column in states.items():
            self.states[name][rows] = column
        self.going[rows] = going
        before = np.searchsorted(fires, stop) - 1
        last = np.append(fires, -1)[before]
        fired = last >= start
        since = np.where(fired, last + 1, start)
        rest = np.where(fired, NOT_FRESH, first)
        more = since < stop
        if more.any():
            if kernel.book.timed:
                rest[more] = np.minimum(rest[more], by_element.earliest(elements, since[more], stop[more]))
            else:
                rest[more] = 0
        self.first_arrival[rows] = rest
        # What had passed the end of a session that has grown since passes it only if it is beyond the new end, too.
        reached = kernel.percentiles.reached(self.now.clock, self.end[rows])
        incoming = self.incoming[rows]
        kept = np.where(self.stays(rows, self.start[rows], self.end[rows]), incoming, incoming & reached)
        self.passed[rows] = np.where(fired, reached, kept)
        return fires

    # What they publish

    def published(self) -> pl.DataFrame:
        """Publish all firings; the sessions that have taken elements, as they are after the epoch."""
        kernel, fires = self.kernel, self.fires
        groups = Groups.of(self.runs, len(self.sub), self.borders, fires)
        results = self._results(groups)
        bounds = pl.Series(START, self.low[fires], dtype=pl.Int64), pl.Series(END, self.high[fires], dtype=pl.Int64)
        rows = self.ordered[fires].select(*kernel.grouping.key).with_columns(bounds).hstack(results[: len(fires)])
        rows = rows.with_columns(pl.Series(PASSED, self._passed(groups), dtype=pl.UInt32))
        values = kernel.aggregates.extract(rows)
        last_published = (
            SessionLastPublished.of(kernel, self.sub, rows, values, groups) if kernel.keeps_last_published else None
        )
        if last_published is None or not kernel.retracts:
            # Without retraction a pane is published even where it says what stands.
            unchanged = np.zeros(len(fires), np.bool_)
        else:
            unchanged = last_published.unchanged(rows, values)
        index, then = self._indices(groups, unchanged)
        rows = rows.with_columns(pl.Series(INDEX, index, dtype=pl.Int32))
        if last_published is not None:
            last_published.number(index - unchanged)
        self._publish(rows, values, unchanged, last_published)
        after = self._after(groups, results[len(fires) :], then)
        if last_published is not None:
            after = after.with_columns(last_published.left(len(fires), len(groups.left)))
        return after.select(*kernel.state_schema)

    def _results(self, groups: Groups) -> pl.DataFrame:
        """The accumulators of each firing, and of what is left of each session."""
        kernel, names = self.kernel, self.kernel.field_names
        kept = groups.of_window >= 0
        open_windows = self.sub.filter(kept).select(pl.Series(GROUP, groups.of_window[kept]), *names)
        elements = self.ordered.with_columns(pl.Series(GROUP, groups.of_element))
        folded = elements.group_by(GROUP, maintain_order=True).agg(kernel.make()).select(GROUP, *names)
        left = np.arange(len(self.fires), len(self.fires) + len(groups.left))
        nothing = pl.DataFrame({GROUP: left}).with_columns(kernel.nothing()).select(GROUP, *names)
        parts = pl.concat([open_windows, folded, nothing])
        results = parts.group_by(GROUP, maintain_order=True).agg(kernel.merge()).sort(GROUP).select(names)
        return results if kernel.discards else ranges.running(kernel, results, groups.follows)

    def _passed(self, groups: Groups) -> Bits:
        """The watermarks that had passed at the pane before each firing."""
        start, end, run = self.low[self.fires], self.high[self.fires], groups.run
        incoming, reached = self.incoming[run], self.kernel.percentiles.reached(self.now.clock, end)
        kept = np.where(self.stays(run, start, end), incoming, incoming & reached)
        passed: Bits = np.where(groups.is_first, kept, reached)
        return passed

    def _indices(self, groups: Groups, unchanged: Mask) -> tuple[Indices, Indices]:
        """The number of each firing's pane among those of the same bounds; that of the next pane of what is left."""
        fires, run = self.fires, groups.run
        start, end = self.low[fires], self.high[fires]
        begins = groups.is_first.copy()
        begins[1:] |= (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        before: Indices = np.cumsum(~unchanged) - ~unchanged
        index = self._published_before(run, start, end) + before - np.maximum.accumulate(np.where(begins, before, 0))
        left = groups.left
        start, end = self.start[left], self.end[left]
        then = self._published_before(left, start, end)
        last = np.searchsorted(fires, self.borders[1:][left]) - 1
        fired = (last >= 0) & (np.append(fires, -1)[last] >= self.borders[:-1][left])
        at = fires[last[fired]]
        same = (self.low[at] == start[fired]) & (self.high[at] == end[fired])
        then[np.flatnonzero(fired)[same]] = (index + ~unchanged)[last[fired][same]]
        return index, then

    def _published_before(self, rows: Indices, start: Times, end: Times) -> Indices:
        """The number of panes with these bounds before the epoch."""
        stays = self.stays(rows, start, end)
        stood = np.zeros(len(rows), np.int64)
        stood[stays] = self.sub[INDEX].to_numpy()[rows[stays]]
        return stood

    def _publish(
        self, rows: pl.DataFrame, values: pl.DataFrame, unchanged: Mask, last_published: SessionLastPublished | None
    ) -> None:
        """Publish panes, each after its retractions, in the order of the elements that made them due."""
        if not len(rows) or unchanged.all():
            return
        kernel, clock, came = self.kernel, self.now.clock, self.order[self.fires]
        published = np.flatnonzero(~unchanged)
        is_last = np.zeros(len(published), np.bool_)
        panes, places = (
            [kernel.panes.inserts(rows[published], values[published], is_last, clock)],
            [2 * came[published] + 1],
        )
        if last_published is not None:
            retracted, by = last_published.retracted(rows, unchanged)
            panes.insert(0, kernel.panes.retractions(retracted, rows[by], clock))
            places.insert(0, 2 * came[by])
        self.now.panes.append(pl.concat(panes)[np.argsort(np.concatenate(places), kind="stable")])

    def _after(self, groups: Groups, results: pl.DataFrame, index: Indices) -> pl.DataFrame:
        """The sessions that have taken elements, without their last published panes."""
        kernel, left = self.kernel, groups.left
        lowest = np.full(len(self.runs), np.iinfo(np.int64).max)
        np.minimum.at(lowest, last_of(self.runs.parent)[: len(self.sub)], self.sub[ID].to_numpy())
        identity = lowest[left]
        opened = identity == np.iinfo(np.int64).max
        identity[opened] = self.now.new_ids(int(opened.sum()))
        first = self.first_arrival[left]
        after = self.ordered[self.borders[left]].select(*kernel.grouping.key).hstack(results)
        after = after.with_columns(
            pl.Series(START, self.start[left], dtype=pl.Int64),
            pl.Series(END, self.end[left], dtype=pl.Int64),
            pl.Series(INDEX, index, dtype=pl.Int32),
            pl.Series(PASSED, self.passed[left], dtype=pl.UInt32),
            pl.Series(FINISHED, ~self.going[left]),
            pl.Series(ID, identity, dtype=pl.Int64),
            pl.Series(FIRST_ARRIVAL, first) if kernel.book.timed else pl.Series(FRESH, first != NOT_FRESH),
        )
        return kernel.with_states(after, {name: column[left] for name, column in self.states.items()})


def _initial(many: int, column: Column) -> Column:
    """The trigger states of windows that have just opened, as in another column."""
    return np.full(many, None) if column.dtype == object else np.zeros(many, column.dtype)
