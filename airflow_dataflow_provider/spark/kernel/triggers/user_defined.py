"""A user's own trigger, run as the model's protocol has it: one Python call for each window and element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME, EVENT_TIME
from airflow_dataflow_provider.model.triggers import Situation, Trigger
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    NOT_FRESH,
    Elements,
    Indices,
    Mask,
    Node,
    Percentiles,
    States,
    Windows,
)
from airflow_dataflow_provider.spark.values.kept_values import dump, load


@dataclass(frozen=True)
class UserTriggerNode(Node):
    """The trigger's state is kept as bytes; null stands for the initial one."""

    path: str
    trigger: Trigger
    percentiles: Percentiles

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        return {self.path: pl.Binary()}

    def _state(self, value: bytes | None) -> Any:  # noqa: ANN401 - it is the trigger's own
        return self.trigger.initial() if value is None else load(value, self.trigger)

    def _situation(self, now: Windows, row: int) -> Situation:
        first = int(now.first_arrival[row])
        return Situation(
            now.clock,
            Window(int(now.start[row]), int(now.end[row])),
            None if first == NOT_FRESH else first,
            self.percentiles.of(int(now.passed[row])),
            now.at_boundary,
            now.is_firing,
        )

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        values = states[self.path]
        answers = (
            self.trigger.should_fire(self._state(value), self._situation(now, row)) for row, value in enumerate(values)
        )
        return np.fromiter(answers, dtype=np.bool_, count=len(now))

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        finished = np.zeros_like(fired)
        for row in np.flatnonzero(fired):
            state = self._state(states[self.path][row])
            after, finished[row] = self.trigger.on_fire(state, self._situation(now, int(row)))
            states[self.path][row] = dump(after, self.trigger)
        return finished

    @override
    def on_clock(self, states: States, now: Windows) -> None:
        for row in range(len(now)):
            state = self._state(states[self.path][row])
            states[self.path][row] = dump(self.trigger.on_clock(state, self._situation(now, row)), self.trigger)

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return NextDue(every_epoch=bool(rows.any()))

    @override
    def reset(self, states: States, where: Mask) -> None:
        for row in np.flatnonzero(where):
            states[self.path][row] = dump(self.trigger.reset(self._state(states[self.path][row])), self.trigger)

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """Tries the elements one after the other, on a state that is thrown away."""
        due = elements.stop[rows].copy()
        if not self.trigger.looks_at_elements:
            return due
        for number, (row, start) in enumerate(zip(rows.tolist(), at.tolist(), strict=True)):
            state = self._state(states[self.path][row])
            for position in range(start, int(elements.stop[row])):
                state = self._on_element(state, elements, row, position)
                if self.trigger.should_fire(state, self._among(elements, row, position + 1, position)):
                    due[number] = position
                    break
        return due

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        for row, start, end in zip(rows.tolist(), at.tolist(), upto.tolist(), strict=True):
            state = self._state(states[self.path][row])
            for position in range(start, end):
                state = self._on_element(state, elements, row, position)
            states[self.path][row] = dump(state, self.trigger)

    def _on_element(self, state: Any, elements: Elements, row: int, position: int) -> Any:  # noqa: ANN401 - the same
        return self.trigger.on_element(
            state, _element(elements, position), self._among(elements, row, position, position)
        )

    def _among(self, elements: Elements, row: int, position: int, last: int) -> Situation:
        """The situation of a window before the element at a position, since the element after its last pane.

        The window is as the ``last`` element has made it, if windows grow.
        """
        now: Windows = elements.prepared["now"]
        window, passed = Window(int(now.start[row]), int(now.end[row])), now.passed[row]
        if "bounds" in elements.prepared:
            starts, ends = elements.prepared["bounds"]
            grown = Window(int(starts[last]), int(ends[last]))
            if grown != window:
                window, passed = grown, passed & self.percentiles.reached(now.clock, ends[last : last + 1])[0]
        first = int(now.first_arrival[row])
        since = int(elements.prepared["since"][row])
        if position > since:
            first = min(first, cast("int", elements.frame[ARRIVAL_TIME][since:position].min()))
        return Situation(
            now.clock,
            window,
            None if first == NOT_FRESH else first,
            self.percentiles.of(int(passed)),
            at_boundary=False,
        )

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """Asks the trigger what several states make; a window that merges with none keeps its own."""
        now: Windows = merged["now"]  # type: ignore[assignment]
        parts: dict[int, list[Any]] = {}
        for row, target in zip(rows.tolist(), into.tolist(), strict=True):
            parts.setdefault(target, []).append(self._state(states[self.path][row]))
        for target, (first, *others) in parts.items():
            after = self.trigger.on_merge([first, *others], self._situation(now, target)) if others else first
            merged[self.path][target] = dump(after, self.trigger)


def _element(elements: Elements, position: int) -> Element:
    row = elements.frame.row(position, named=True)
    columns = {name: value for name, value in row.items() if not name.startswith("_")}
    return Element(columns, row[EVENT_TIME], row[ARRIVAL_TIME], is_retraction=row.get("_sign", 1) < 0)
