"""One grouping: all its open windows, element by element.

An epoch has these steps. Elements of expired windows are set aside. A grouping whose trigger looks at elements first
publishes the windows that the clock alone makes due. Then the elements are added in arrival order, each to its window
after it has merged with the key's other windows, and a trigger that looks at elements is evaluated after each. At the
boundary the trigger of every window is evaluated. An expiring window publishes any unpublished elements and is dropped.

The results of a grouping before this one are added under the watermark of the epoch before; it waited for them, and
advances after that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.combiners import Accumulator
from airflow_dataflow_provider.model.elements import Element, Key, Pane
from airflow_dataflow_provider.model.grouping import EARLIEST, END_OF_WINDOW, Grouping, earliest_output
from airflow_dataflow_provider.model.hashing import key_hash
from airflow_dataflow_provider.model.hold import Hold
from airflow_dataflow_provider.model.proofs import retracts
from airflow_dataflow_provider.model.refinement import DISCARDING
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_datetime
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.reference.epoch import Epoch, ExpiredElement
from airflow_dataflow_provider.reference.open_window import OpenWindow, retraction, timing

Placed = tuple[Element, Key, Window]
"""An element with its key and the window that it was assigned to."""


class Stage:
    """The windows of one grouping.

    Args:
        grouping: the grouping.
        before: the stage whose results are the elements of this one, if there is one.
        is_last: whether its panes are published. An accumulating stage before the last one retracts the panes that it
            replaces, since the next grouping would otherwise count both.
    """

    def __init__(self, grouping: Grouping, before: Stage | None, *, is_last: bool = True) -> None:
        self.grouping = grouping
        self.retracts = retracts(grouping, is_last=is_last)
        self._is_last = is_last
        self._before = before
        takes_back = before is not None and before.retracts
        combiners = grouping.combiners.items()
        self._combiners = {name: each.retractable() if takes_back else each for name, each in combiners}
        self._percentiles = grouping.trigger.percentiles() | {100.0}
        self._windows: defaultdict[Key, dict[Window, OpenWindow]] = defaultdict(dict)
        self._hold = Hold()
        self._arriving = self._hold.arriving(Clock(0, NOTHING_KNOWN))
        self.expired: list[ExpiredElement] = []
        self.late = 0

    # An epoch

    def epoch(self, epoch: Epoch) -> list[Pane]:
        """Every pane of the epoch, in the order of publication."""
        placed = [placed for element in epoch.elements for placed in self._assign_windows(element)]
        arriving = epoch if self._before is None else self._before.still_held()
        panes: list[Pane] = []
        # After another grouping the clock differs, so each window is evaluated even without elements.
        if self.grouping.trigger.looks_at_elements and (placed or self._before is not None):
            panes += self._boundary(arriving)
        for element, key, window, merged in self._with_merged_window(placed):
            if self._is_in_time(element, merged, arriving):
                panes += self._take(element, key, window, arriving)
        return panes + self._boundary(epoch)

    def _assign_windows(self, element: Element) -> Iterable[Placed]:
        key = tuple(element.row.get(column) for column in self.grouping.key)
        if element.window is not None:
            return [(element, key, element.window)]
        return [(element, key, window) for window in self.grouping.window.assign(element.event_time, key, element.row)]

    def _with_merged_window(self, placed: Sequence[Placed]) -> Iterator[tuple[Element, Key, Window, Window]]:
        """The elements, each with the window that it becomes part of, by which it is late or expired.

        Where windows merge, all elements of the epoch merge together, so that no element expires because of their
        order. Where the trigger looks at each element, the order counts, and a window may fire before it merges.
        """
        window = self.grouping.window
        if not window.merges:
            for element, key, assigned in placed:
                yield element, key, assigned, assigned
            return
        if self.grouping.trigger.looks_at_elements:
            for element, key, assigned in placed:
                merges = window.merge({*self._windows[key], assigned})
                yield element, key, assigned, next(result for result, parts in merges if assigned in parts)
            return
        came: defaultdict[Key, set[Window]] = defaultdict(set)
        for _, key, assigned in placed:
            came[key].add(assigned)
        becomes: dict[tuple[Key, Window], Window] = {}
        for key, windows in came.items():
            for result, parts in window.merge({*self._windows[key], *windows}):
                becomes |= {(key, part): result for part in parts}
        for element, key, assigned in placed:
            yield element, key, assigned, becomes[key, assigned]

    def _is_in_time(self, element: Element, window: Window, epoch: Epoch) -> bool:
        """Whether the window that an element becomes part of has not expired; counts late and expired elements."""
        if self._expires(window, epoch.horizon):
            delay = element.arrival_time - element.event_time
            self.expired.append(ExpiredElement(element, window, epoch.horizon, delay))
            return False
        self.late += window.end <= epoch.horizon
        return True

    def _take(self, element: Element, key: Key, assigned: Window, epoch: Epoch) -> list[Pane]:
        """Add an element to its window, after the window has merged with the key's other windows."""
        state = self._opened(key, assigned, epoch)
        self._add(state, element, epoch)
        if self.grouping.trigger.looks_at_elements:
            return self._fire_if_due(state, epoch, at_boundary=False)
        return []

    def _opened(self, key: Key, assigned: Window, epoch: Epoch) -> OpenWindow:
        """The open window of a key that the assigned one is, or becomes part of."""
        windows = self._windows[key]
        if not self.grouping.window.merges:
            if assigned not in windows:
                windows[assigned] = self._merged(key, assigned, [], epoch)
            return windows[assigned]
        merges = self.grouping.window.merge({*windows, assigned})
        window = next(result for result, parts in merges if assigned in parts)
        before = dict(windows)
        windows.clear()
        for result, parts in merges:
            states = [before[part] for part in sorted(parts & set(before))]
            if states or result == window:
                windows[result] = self._merged(key, result, states, epoch)
            if result != window and result not in before:
                windows[result].is_cut = True
        return windows[window]

    def _merged(self, key: Key, window: Window, parts: Sequence[OpenWindow], epoch: Epoch) -> OpenWindow:
        """The open window that these become; made of none, it has just opened."""
        if [part.window for part in parts] == [window]:
            return parts[0]
        trigger = self.grouping.trigger
        merged = OpenWindow(key, window, self._nothing(), trigger.initial())
        if not parts:
            return merged
        for part in parts:
            for name, combiner in self._combiners.items():
                merged.accumulators[name] = combiner.merge(merged.accumulators[name], part.accumulators[name])
        arrivals = [part.first_arrival for part in parts if part.first_arrival is not None]
        merged.first_arrival = min(arrivals, default=None)
        # Where a trigger looks at clocks only, the order of an epoch's elements does not matter, and windows that they
        # have opened in this epoch do not count.
        before = [part for part in parts if not part.is_new or trigger.looks_at_elements]
        merged.is_new, asked = not before, before or parts
        merged.is_cut = any(part.is_cut for part in parts)
        merged.finished = all(part.finished for part in asked)
        # A percentile that had passed the end of a part has passed the whole only if it is beyond its end, too.
        merged.passed = frozenset(p for part in parts for p in part.passed) & self._passed(window, epoch.clock)
        merged.index = max((part.index for part in parts if part.window == window), default=0)
        merged.last_published = tuple(pane for part in parts for pane in part.last_published)
        merged.earliest = min(part.earliest for part in parts)
        merged.latest = max(part.latest for part in parts)
        merged.elements = sum(part.elements for part in parts)
        going = [part.trigger for part in asked if not part.finished] or [part.trigger for part in asked]
        merged.trigger = trigger.on_merge(going, merged.situation(epoch.clock))
        return merged

    def _add(self, state: OpenWindow, element: Element, epoch: Epoch) -> None:
        for name, combiner in self._combiners.items():
            value = combiner.value_of(element.row, element.event_time)
            if value is not None:
                change = combiner.uncombine if element.is_retraction else combiner.add
                state.accumulators[name] = change(state.accumulators[name], value)
        state.elements += -1 if element.is_retraction else 1
        state.earliest = min(state.earliest, element.event_time)
        state.latest = max(state.latest, element.event_time)
        # first_arrival is set afterwards, so that a trigger can recognise the first element since the last pane.
        now = state.situation(epoch.clock, at_boundary=False)
        if not state.finished:
            state.trigger = self.grouping.trigger.on_element(state.trigger, element, now)
        arrival = element.arrival_time
        state.first_arrival = arrival if state.first_arrival is None else min(state.first_arrival, arrival)

    # Firing

    def _boundary(self, epoch: Epoch) -> list[Pane]:
        """Publish the windows that are due at the boundary, in the order of windows and keys; drop expired windows."""
        panes: list[Pane] = []
        windows = [state for of_key in self._windows.values() for state in of_key.values()]
        for state in sorted(windows, key=OpenWindow.place):
            # The last pane of a window whose bounds have changed is no longer valid, which counts as a new element.
            if state.is_cut and not state.fresh and self.grouping.refinement is not DISCARDING:
                state.first_arrival = epoch.clock.processing_time
            state.is_new = state.is_cut = False
            if not state.finished:
                state.trigger = self.grouping.trigger.on_clock(state.trigger, state.situation(epoch.clock))
            panes += self._fire_if_due(state, epoch, at_boundary=True)
            if self._expires(state.window, epoch.horizon):
                del self._windows[state.key][state.window]
        return panes

    def _fire_if_due(self, state: OpenWindow, epoch: Epoch, *, at_boundary: bool) -> list[Pane]:
        trigger, now = self.grouping.trigger, state.situation(epoch.clock, at_boundary=at_boundary)
        due = not state.finished and trigger.should_fire(state.trigger, now)
        firing = state.situation(epoch.clock, at_boundary=at_boundary, is_firing=True)
        is_last = at_boundary and self._expires(state.window, epoch.horizon)
        # An expiring window publishes its unpublished elements, even if its trigger is not due.
        panes = self._fire(state, epoch.clock, is_last=is_last) if due or (is_last and state.fresh) else []
        if due:
            state.trigger, state.finished = trigger.on_fire(state.trigger, firing)
        return panes

    def _fire(self, state: OpenWindow, clock: Clock, *, is_last: bool) -> list[Pane]:
        """The pane of a window, preceded by the retractions; or nothing, if readers would see no change."""
        pane = Pane(
            key=state.key,
            window=state.window,
            values={name: combiner.extract(state.accumulators[name]) for name, combiner in self._combiners.items()},
            timing=timing(state, clock),
            index=state.index,
            is_first=state.index == 0,
            is_last=is_last,
            is_retraction=False,
            watermark=clock.watermark,
            completeness=clock.watermarks.completeness(state.window.end),
            processing_time=clock.processing_time,
            timestamp=self._output_time(state),
        )
        # A window whose elements were all taken back has no pane.
        published = () if state.elements == 0 and self.retracts else (pane,)
        panes: list[Pane] = []
        if self._is_news(published, state):
            if self.retracts:
                claimed = clock.watermarks.completeness
                panes += [retraction(last, pane, claimed(last.window.end)) for last in state.last_published]
            panes += published
            state.index += len(published)
            state.last_published = published
        if self.grouping.refinement is DISCARDING:
            state.accumulators = self._nothing()
            state.earliest, state.latest = MAX_TIME, MIN_TIME
        state.first_arrival = None
        state.is_cut = False
        state.passed = self._passed(state.window, clock)
        return panes

    def _is_news(self, published: Sequence[Pane], state: OpenWindow) -> bool:
        if self.retracts:
            before, after = (list(map(self._content, panes)) for panes in (state.last_published, published))
            return before != after
        return state.fresh or self.grouping.refinement is not DISCARDING

    def _content(self, pane: Pane) -> tuple[object, ...]:
        """The content of a pane for readers; for the next grouping its event time belongs to it."""
        return pane.window, pane.values, None if self._is_last else pane.timestamp

    def _passed(self, window: Window, clock: Clock) -> frozenset[float]:
        """The percentiles (of triggers, and 100) whose watermark has reached the window's end."""
        return frozenset(p for p in self._percentiles if clock.watermarks.at(p) >= window.end)

    def _expires(self, window: Window, horizon: Micros) -> bool:
        # The end of the global window is infinity, and adding the lateness must not exceed it.
        return min(window.end + self.grouping.allowed_lateness, MAX_TIME) <= horizon

    def _nothing(self) -> dict[str, Accumulator]:
        return {name: combiner.create() for name, combiner in self._combiners.items()}

    # The next grouping

    def next_epoch(self, epoch: Epoch, panes: Sequence[Pane]) -> Epoch:
        """The epoch of the grouping after this one: this one's panes, under a clock that waits for its open windows."""
        self._arriving = self._hold.arriving(epoch.clock)
        states = [state for of_key in self._windows.values() for state in of_key.values()]
        waiting: dict[float, Micros] = {}
        forgets = self.grouping.forgets_times
        for percentile, mark in epoch.clock.watermarks:
            # The next pane of a discarding window is not older than the watermark, unless it has elements already.
            opened = [state for state in states if state.fresh or (mark < state.window.end and not forgets)]
            if opened:
                waiting[percentile] = min(map(self._output_time, opened))
        earliest = min([earliest_output(self.grouping, epoch.horizon), *map(self._earliest_output_time, states)])
        time = EpochTime(epoch.clock, epoch.horizon)
        self._hold, time = self._hold.after(time, waiting=waiting, earliest=earliest)
        return Epoch(time.clock, [as_element(pane, self.grouping) for pane in sorted(panes, key=_order)], time.horizon)

    def still_held(self) -> Epoch:
        """The next grouping's clock before this epoch's results."""
        return Epoch(self._arriving.clock, horizon=self._arriving.horizon)

    def _earliest_output_time(self, state: OpenWindow) -> Micros:
        """The least output time that the window can have with its present elements."""
        return MAX_TIME if self.grouping.forgets_times and not state.fresh else self._output_time(state)

    def _output_time(self, state: OpenWindow) -> Micros:
        policy = self.grouping.output_time
        if policy is END_OF_WINDOW:
            return state.window.end - 1
        return state.earliest if policy is EARLIEST else state.latest


def as_element(pane: Pane, grouping: Grouping) -> Element:
    """A result of a grouping as an element: of the next grouping, or of the steps before it is published."""
    row = dict(zip(grouping.key, pane.key, strict=True)) | dict(pane.values)
    for name, time in (("window_start", pane.window.start), ("window_end", pane.window.end)):
        row[name] = to_datetime(time) if MIN_TIME < time < MAX_TIME else None
    return Element(row, pane.timestamp, pane.processing_time, is_retraction=pane.is_retraction)


def _order(pane: Pane) -> tuple[int, int, int, int, bool]:
    """The order in which the next grouping takes the results of an epoch; every engine can compute it."""
    start = pane.window.start if pane.window.start > MIN_TIME else -(2**63)
    return pane.timestamp, start, key_hash(pane.key), pane.index, pane.is_retraction
