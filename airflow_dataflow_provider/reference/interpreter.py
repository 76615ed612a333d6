"""What a pipeline means: every pane of every epoch, worked out one element at a time.

An engine is right when it publishes these panes. So this module trades everything for being easy to check by reading.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.combiners import Accumulator
from airflow_dataflow_provider.model.elements import Element, Key, Pane, PaneTiming
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.time import MAX_TIME, Micros, iso
from airflow_dataflow_provider.model.triggers import Situation, TriggerState
from airflow_dataflow_provider.model.windows import Window


@dataclass(frozen=True, slots=True)
class Epoch:
    """A clock, and the elements that are looked at under it, in arrival order.

    Attributes:
        clock: what triggers look at; it stands still for the whole epoch.
        elements: none for a clock-only epoch.
        horizon: the ``W_100`` by which elements are late or expired and windows expire; by default the clock's own. It
            is behind the clock only at the end of a batch's input: every window fires, and those that a later run may
            still add to stay open.

    Raises:
        DefinitionError: ``DEFINITION_EPOCH`` for a horizon ahead of the clock: it would expire windows unseen.
    """

    clock: Clock
    elements: tuple[Element, ...]
    horizon: Micros

    def __init__(self, clock: Clock, elements: Iterable[Element] = (), horizon: Micros | None = None) -> None:
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "elements", tuple(elements))
        object.__setattr__(self, "horizon", clock.watermark if horizon is None else horizon)
        if self.horizon > clock.watermark:
            raise DefinitionError(
                f"the horizon {iso(self.horizon)} is ahead of the watermark {iso(clock.watermark)}",
                why="windows would expire before they are complete",
                todo="leave it out: it is then the watermark",
                code="DEFINITION_EPOCH",
            )


@dataclass(frozen=True, slots=True)
class ExpiredElement:
    """An element that came after its window had expired: an output of its own, never a silent drop.

    Attributes:
        element: as it came.
        window: the expired window; where windows merge, the one that it would have become part of.
        watermark: the horizon by which it was judged.
        delay: arrival minus event time, in microseconds.
    """

    element: Element
    window: Window
    watermark: Micros
    delay: Micros


@dataclass(frozen=True, slots=True)
class Counts:
    """Elements so far. One that has several windows counts once as read, and for each of them as late or expired."""

    read: int = 0
    late: int = 0
    expired: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a run published, and what it could not."""

    panes: tuple[Pane, ...]
    expired: tuple[ExpiredElement, ...]
    counts: Counts


def interpret(pipeline: Pipeline, epochs: Iterable[Epoch]) -> Outcome:
    """Run epochs from an empty state on."""
    interpreter = Interpreter(pipeline)
    panes = [pane for epoch in epochs for pane in interpreter.epoch(epoch)]
    return Outcome(tuple(panes), tuple(interpreter.expired), interpreter.counts)


@dataclass(slots=True)
class _OpenWindow:
    """What is kept for one key and window, from its first element until it expires.

    ``finished``, ``fresh`` and ``passed`` are the trigger's (see :class:`Situation`), ``index`` counts the panes
    published, and ``standing`` is the pane that stands for the window, with those of windows that merged into it since.
    """

    key: Key
    window: Window
    accumulators: dict[str, Accumulator]
    trigger: TriggerState
    finished: bool = False
    fresh: bool = False
    passed: frozenset[float] = frozenset()
    index: int = 0
    standing: tuple[Pane, ...] = ()

    def situation(self, clock: Clock) -> Situation:
        return Situation(clock, self.window, self.fresh, self.passed)

    def place(self) -> tuple[Any, ...]:
        """The order in which an epoch publishes: by window end, start, and key, nulls first."""
        return self.window.end, self.window.start, tuple((value is not None, value) for value in self.key)


class Interpreter:
    """Runs a pipeline epoch by epoch, and carries the state on.

    Guarantees: every element is part of a pane, of an open window's state, or of :attr:`expired`; the same epochs give
    the same panes.

    Does not do: anything fast. Every expired element stays in memory.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline that computes nothing yet.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.expired: list[ExpiredElement] = []
        self._grouping = pipeline.grouping
        self._combiners = pipeline.grouping.combiners
        self._percentiles = self._grouping.trigger.percentiles() | {100.0}
        self._windows: defaultdict[Key, dict[Window, _OpenWindow]] = defaultdict(dict)
        self._read = self._late = 0

    @property
    def counts(self) -> Counts:
        """Elements read, late and expired so far."""
        return Counts(self._read, self._late, len(self.expired))

    def epoch(self, epoch: Epoch) -> list[Pane]:
        """Take the elements; then publish what is due, in the order of windows and keys, and drop what expires."""
        for element in epoch.elements:
            self._read += 1
            for window in self._grouping.window.assign(element.event_time):
                self._take(element, window, epoch)
        windows = [state for of_key in self._windows.values() for state in of_key.values()]
        return [pane for state in sorted(windows, key=_OpenWindow.place) for pane in self._evaluate(state, epoch)]

    def _take(self, element: Element, assigned: Window, epoch: Epoch) -> None:
        """Add an element to its window, after that has merged with the key's others; or say that it came too late."""
        key = tuple(element.row.get(column) for column in self._grouping.key)
        windows = self._windows[key]
        merges = self._grouping.window.merge({*windows, assigned})
        window = next(result for result, parts in merges if assigned in parts)
        if self._expires(window, epoch.horizon):
            delay = element.arrival_time - element.event_time
            self.expired.append(ExpiredElement(element, window, epoch.horizon, delay))
            return
        self._late += window.end <= epoch.horizon
        for result, parts in merges:
            states = [windows.pop(part) for part in sorted(parts & set(windows))]
            windows[result] = self._merged(key, result, states, epoch)
        self._add(windows[window], element, epoch)

    def _merged(self, key: Key, window: Window, parts: Sequence[_OpenWindow], epoch: Epoch) -> _OpenWindow:
        """The open window that these become; made of none, it has just opened."""
        if [part.window for part in parts] == [window]:
            return parts[0]
        trigger = self._grouping.trigger
        merged = _OpenWindow(key, window, self._nothing(), trigger.initial())
        if not parts:
            return merged
        for part in parts:
            for name, combiner in self._combiners.items():
                merged.accumulators[name] = combiner.merge(merged.accumulators[name], part.accumulators[name])
        merged.finished = all(part.finished for part in parts)
        merged.fresh = any(part.fresh for part in parts)
        # A percentile that had passed the end of a part has passed the whole only if it is beyond its end, too.
        merged.passed = frozenset(p for part in parts for p in part.passed) & self._passed(window, epoch.clock)
        merged.index = max((part.index for part in parts if part.window == window), default=0)
        merged.standing = tuple(pane for part in parts for pane in part.standing)
        merged.trigger = trigger.on_merge([part.trigger for part in parts], merged.situation(epoch.clock))
        return merged

    def _add(self, state: _OpenWindow, element: Element, epoch: Epoch) -> None:
        for name, combiner in self._combiners.items():
            value = combiner.value_of(element.row)
            if value is not None:
                state.accumulators[name] = combiner.add(state.accumulators[name], value)
        # The element is not fresh yet, so that a trigger can tell the first one since the last pane from the others.
        state.trigger = self._grouping.trigger.on_element(state.trigger, element, state.situation(epoch.clock))
        state.fresh = True
        # Here a trigger that looks at the data will be asked whether it is due; those that look at clocks wait for the
        # epoch's end.

    def _evaluate(self, state: _OpenWindow, epoch: Epoch) -> list[Pane]:
        """What one window publishes at the end of an epoch; and if it expires, that is the end of it."""
        trigger, now = self._grouping.trigger, state.situation(epoch.clock)
        expires = self._expires(state.window, epoch.horizon)
        due = not state.finished and trigger.should_fire(state.trigger, now)
        # A window never takes what it has not published into its grave, whatever its trigger says.
        panes = self._fire(state, epoch.clock, is_last=expires) if due or (expires and state.fresh) else []
        if due:
            state.trigger, state.finished = trigger.on_fire(state.trigger, now)
        if expires:
            del self._windows[state.key][state.window]
        return panes

    def _fire(self, state: _OpenWindow, clock: Clock, *, is_last: bool) -> list[Pane]:
        """The pane of a window, preceded by what it retracts; or nothing, where it would say nothing new."""
        refinement = self._grouping.refinement
        pane = Pane(
            key=state.key,
            window=state.window,
            values={name: combiner.extract(state.accumulators[name]) for name, combiner in self._combiners.items()},
            timing=self._timing(state, clock),
            index=state.index,
            is_first=state.index == 0,
            is_last=is_last,
            is_retraction=False,
            watermark=clock.watermark,
            completeness=clock.watermarks.completeness(state.window.end),
            processing_time=clock.processing_time,
        )
        panes: list[Pane] = []
        if self._says_something_new(pane, state):
            if refinement is ACCUMULATING_AND_RETRACTING:
                panes += [_retraction(stood, pane, clock) for stood in state.standing]
            panes.append(pane)
            state.index += 1
            state.standing = (pane,)
        if refinement is DISCARDING:
            state.accumulators = self._nothing()
        state.fresh = False
        state.passed = self._passed(state.window, clock)
        return panes

    def _says_something_new(self, pane: Pane, state: _OpenWindow) -> bool:
        match self._grouping.refinement:
            case Refinement.DISCARDING:
                return state.fresh
            case Refinement.ACCUMULATING:
                return True
            case Refinement.ACCUMULATING_AND_RETRACTING:
                return [(stood.window, stood.values) for stood in state.standing] != [(pane.window, pane.values)]

    def _timing(self, state: _OpenWindow, clock: Clock) -> PaneTiming:
        if clock.watermark < state.window.end:
            return PaneTiming.EARLY
        return PaneTiming.LATE if 100 in state.passed else PaneTiming.ON_TIME

    def _passed(self, window: Window, clock: Clock) -> frozenset[float]:
        """The percentiles that triggers look at, and 100, whose watermark has reached the window's end."""
        return frozenset(p for p in self._percentiles if clock.watermarks.at(p) >= window.end)

    def _expires(self, window: Window, horizon: Micros) -> bool:
        # The end of the global window is infinity, and no lateness lies beyond that.
        return min(window.end + self._grouping.allowed_lateness, MAX_TIME) <= horizon

    def _nothing(self) -> dict[str, Accumulator]:
        return {name: combiner.create() for name, combiner in self._combiners.items()}


def _retraction(stood: Pane, by: Pane, clock: Clock) -> Pane:
    """Takes back exactly what stood, at the moment of the pane that replaces it."""
    return replace(
        stood,
        timing=by.timing,
        is_first=False,
        is_last=False,
        is_retraction=True,
        watermark=by.watermark,
        completeness=clock.watermarks.completeness(stood.window.end),
        processing_time=by.processing_time,
    )
