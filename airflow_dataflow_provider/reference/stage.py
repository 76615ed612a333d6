"""One grouping: all its open windows, element by element.

An epoch goes like this. Elements of windows that have expired are set aside. A grouping whose trigger looks at elements
first publishes what the clock alone makes due. Then the elements are taken in arrival order, each into its window after
that has merged with the key's others, and a trigger that looks at elements is asked after each. At the boundary every
window is asked, and those that expire are published if they have anything new, and dropped.

The results of a grouping before are taken while the watermark stands where it stood: it waited for them, and moves on
once they are in.
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
        grouping: what, where, when and how.
        before: the stage whose results are this one's elements, if there is one.
        is_last: its panes are published; those of an accumulating stage before the last take back what they replace,
            for the next grouping would otherwise count both.
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
        placed = [placed for element in epoch.elements for placed in self._placed(element)]
        arriving = epoch if self._before is None else self._before.still_held()
        panes: list[Pane] = []
        # After another grouping that is another clock: each window is asked, whether it has elements or not.
        if self.grouping.trigger.looks_at_elements and (placed or self._before is not None):
            panes += self._boundary(arriving)
        for element, key, window, becomes in self._judged(placed):
            if self._takes(element, becomes, arriving):
                panes += self._take(element, key, window, arriving)
        return panes + self._boundary(epoch)

    def _placed(self, element: Element) -> Iterable[Placed]:
        """``AssignWindows``."""
        key = tuple(element.row.get(column) for column in self.grouping.key)
        if element.window is not None:
            return [(element, key, element.window)]
        return [(element, key, window) for window in self.grouping.window.assign(element.event_time, key, element.row)]

    def _judged(self, placed: Sequence[Placed]) -> Iterator[tuple[Element, Key, Window, Window]]:
        """The elements, each with the window that it becomes part of, by which it is judged.

        Where windows merge, all elements of the epoch are taken together, so that their order loses none. Where the
        trigger looks at each element, order counts, and a window may say something before it merges.
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

    def _takes(self, element: Element, window: Window, epoch: Epoch) -> bool:
        """Whether the window that an element becomes part of still takes it."""
        if self._expires(window, epoch.horizon):
            delay = element.arrival_time - element.event_time
            self.expired.append(ExpiredElement(element, window, epoch.horizon, delay))
            return False
        self.late += window.end <= epoch.horizon
        return True

    def _take(self, element: Element, key: Key, assigned: Window, epoch: Epoch) -> list[Pane]:
        """Add an element to its window, after that has merged with the key's others."""
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
        # Where a trigger looks at clocks only, elements of an epoch have no order, nor has what each has opened a say.
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
        # The element is not fresh yet, so that a trigger can tell the first one since the last pane from the others.
        now = state.situation(epoch.clock, at_boundary=False)
        if not state.finished:
            state.trigger = self.grouping.trigger.on_element(state.trigger, element, now)
        arrival = element.arrival_time
        state.first_arrival = arrival if state.first_arrival is None else min(state.first_arrival, arrival)

    # Firing

    def _boundary(self, epoch: Epoch) -> list[Pane]:
        """What is due by the clock, in the order of windows and keys; and what expires is dropped."""
        panes: list[Pane] = []
        windows = [state for of_key in self._windows.values() for state in of_key.values()]
        for state in sorted(windows, key=OpenWindow.place):
            # What was said of a window that was cut since does not hold any more, which is news like an element.
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
        # A window never takes what it has not published into its grave, whatever its trigger says.
        panes = self._fire(state, epoch.clock, is_last=is_last) if due or (is_last and state.fresh) else []
        if due:
            state.trigger, state.finished = trigger.on_fire(state.trigger, firing)
        return panes

    def _fire(self, state: OpenWindow, clock: Clock, *, is_last: bool) -> list[Pane]:
        """The pane of a window, preceded by what it retracts; or nothing, where it would say nothing new."""
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
        # A window whose elements were all taken back says nothing any more.
        stands = () if state.elements == 0 and self.retracts else (pane,)
        panes: list[Pane] = []
        if self._says_something_new(stands, state):
            if self.retracts:
                claimed = clock.watermarks.completeness
                panes += [retraction(stood, pane, claimed(stood.window.end)) for stood in state.last_published]
            panes += stands
            state.index += len(stands)
            state.last_published = stands
        if self.grouping.refinement is DISCARDING:
            state.accumulators = self._nothing()
            state.earliest, state.latest = MAX_TIME, MIN_TIME
        state.first_arrival = None
        state.is_cut = False
        state.passed = self._passed(state.window, clock)
        return panes

    def _says_something_new(self, stands: Sequence[Pane], state: OpenWindow) -> bool:
        if self.retracts:
            before, after = (list(map(self._said, panes)) for panes in (state.last_published, stands))
            return before != after
        return state.fresh or self.grouping.refinement is not DISCARDING

    def _said(self, pane: Pane) -> tuple[object, ...]:
        """What readers see of a pane; the next grouping sees its event time, too."""
        return pane.window, pane.values, None if self._is_last else pane.timestamp

    def _passed(self, window: Window, clock: Clock) -> frozenset[float]:
        """The percentiles that triggers look at, and 100, whose watermark has reached the window's end."""
        return frozenset(p for p in self._percentiles if clock.watermarks.at(p) >= window.end)

    def _expires(self, window: Window, horizon: Micros) -> bool:
        # The end of the global window is infinity, and no lateness lies beyond that.
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
            # The next pane of a window that discards is not older than the watermark, unless it has elements already.
            opened = [state for state in states if state.fresh or (mark < state.window.end and not forgets)]
            if opened:
                waiting[percentile] = min(map(self._output_time, opened))
        earliest = min([earliest_output(self.grouping, epoch.horizon), *map(self._earliest_output_time, states)])
        time = EpochTime(epoch.clock, epoch.horizon)
        self._hold, time = self._hold.after(time, waiting=waiting, earliest=earliest)
        return Epoch(time.clock, [as_element(pane, self.grouping) for pane in sorted(panes, key=_order)], time.horizon)

    def still_held(self) -> Epoch:
        """The next grouping's clock until this epoch's results were in."""
        return Epoch(self._arriving.clock, horizon=self._arriving.horizon)

    def _earliest_output_time(self, state: OpenWindow) -> Micros:
        """The least output time that the window can come to have, by itself."""
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
    """The order in which the next grouping takes the results of an epoch; every engine can say it of each pane."""
    start = pane.window.start if pane.window.start > MIN_TIME else -(2**63)
    return pane.timestamp, start, key_hash(pane.key), pane.index, pane.is_retraction
