"""Trigger trees that look only at clocks and watermarks, evaluated for every open window at once.

:mod:`airflow_dataflow_provider.model.triggers` says what a trigger means for one window; here a tree is compiled to a
few operations on whole columns. A node keeps its state in at most one small integer column; nodes without one cost
nothing. The tests compare every tree with the model's protocol, window by window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.time import MAX_TIME, Micros
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, SequenceOf, Trigger
from airflow_dataflow_provider.model.windows import expired_until

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Times = np.ndarray[tuple[int], np.dtype[np.int64]]
Bits = np.ndarray[tuple[int], np.dtype[np.uint32]]
Positions = np.ndarray[tuple[int], np.dtype[np.int16]]
NodeStates = dict[str, Positions]
"""The state columns of a tree, by column name: for a sequence, the position of the trigger whose turn it is."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The open windows of a partition, column by column: what a trigger may look at (the model's ``Situation``)."""

    clock: Clock
    end: Times
    fresh: Mask
    passed: Bits


class Percentiles:
    """The percentiles of a tree, and 100: each has one bit in the ``passed`` column."""

    def __init__(self, trigger: Trigger) -> None:
        self.looked_at = trigger.percentiles()
        self.values = tuple(sorted(self.looked_at | {100.0}))
        if len(self.values) > 32:
            raise SubmissionError(
                f"the trigger asks for {len(self.values)} percentiles", todo="use at most 31", code="ENGINE_TRIGGER"
            )

    def bit(self, percentile: float) -> np.uint32:
        """The bit of one percentile."""
        return np.uint32(1 << self.values.index(percentile))

    def reached(self, clock: Clock, end: Times) -> Bits:
        """For each window the set of percentiles whose watermark has reached its end."""
        bits = np.zeros(len(end), dtype=np.uint32)
        for percentile in self.values:
            bits |= np.where(clock.watermarks.at(percentile) >= end, self.bit(percentile), np.uint32(0))
        return bits


class Node(ABC):
    """A compiled trigger. Masks say which windows a call speaks of; others are left as they are."""

    def columns(self) -> tuple[str, ...]:
        """The state columns of this node and all below it; each starts at 0."""
        return ()

    @abstractmethod
    def should_fire(self, states: NodeStates, now: Windows) -> Mask:
        """Where a pane is due."""

    @abstractmethod
    def on_fire(self, states: NodeStates, now: Windows, fired: Mask) -> Mask:
        """Take note of panes, in place; the answer says where the trigger has finished."""

    def reset(self, states: NodeStates, where: Mask) -> None:
        """Start again, in place."""
        for column in self.columns():
            states[column][where] = 0


@dataclass(frozen=True)
class _AtWatermark(Node):
    percentile: float
    bit: np.uint32

    def should_fire(self, states: NodeStates, now: Windows) -> Mask:  # noqa: ARG002 - it has none
        complete = now.clock.watermarks.at(self.percentile) >= now.end
        due: Mask = complete & (now.fresh | ((now.passed & self.bit) == 0))
        return due

    def on_fire(self, states: NodeStates, now: Windows, fired: Mask) -> Mask:  # noqa: ARG002
        return fired


@dataclass(frozen=True)
class _Repeat(Node):
    inner: Node

    def columns(self) -> tuple[str, ...]:
        return self.inner.columns()

    def should_fire(self, states: NodeStates, now: Windows) -> Mask:
        return self.inner.should_fire(states, now)

    def on_fire(self, states: NodeStates, now: Windows, fired: Mask) -> Mask:
        self.inner.reset(states, self.inner.on_fire(states, now, fired))
        return np.zeros_like(fired)


@dataclass(frozen=True)
class _SequenceOf(Node):
    column: str
    nodes: tuple[Node, ...]

    def columns(self) -> tuple[str, ...]:
        return (self.column, *(name for node in self.nodes for name in node.columns()))

    def should_fire(self, states: NodeStates, now: Windows) -> Mask:
        position = states[self.column]
        due = np.zeros(len(now.end), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            due |= (position == index) & node.should_fire(states, now)
        return due

    def on_fire(self, states: NodeStates, now: Windows, fired: Mask) -> Mask:
        position = states[self.column]
        before = position.copy()
        for index, node in enumerate(self.nodes):
            mine = fired & (before == index)
            if mine.any():
                position[node.on_fire(states, now, mine)] += 1
        finished: Mask = fired & (position == len(self.nodes))
        return finished


def compile_trigger(trigger: Trigger, percentiles: Percentiles, path: str = "_trigger") -> Node:
    """The column-wise form of a trigger tree; ``path`` names its state columns.

    Raises:
        SubmissionError: ``ENGINE_TRIGGER`` for a trigger that the engine does not know.
    """
    match trigger:
        case AtWatermark(percentile=percentile):
            return _AtWatermark(percentile, percentiles.bit(percentile))
        case Repeat(trigger=inner):
            return _Repeat(compile_trigger(inner, percentiles, path))
        case SequenceOf(triggers=triggers):
            parts = (compile_trigger(part, percentiles, f"{path}.{index}") for index, part in enumerate(triggers))
            return _SequenceOf(path, tuple(parts))
        case _:
            raise SubmissionError(
                f"the Spark engine does not know the trigger {trigger!r}",
                todo="build it from AtWatermark, Repeat and SequenceOf, or run it on the reference interpreter",
                code="ENGINE_TRIGGER",
            )


@dataclass(frozen=True, slots=True)
class Wake:
    """When a partition next has something to do.

    Attributes:
        unreached: for each percentile that the trigger looks at, the least window end that it has not reached.
        first_end: the least window end of all; beyond ``MAX_TIME`` where no window is open.
    """

    unreached: dict[float, Micros]
    first_end: Micros

    @classmethod
    def of(cls, percentiles: Percentiles, end: Times, passed: Bits) -> Wake:
        """Read it off the open windows."""
        unreached = {}
        for percentile in percentiles.looked_at:
            open_ends = end[(passed & percentiles.bit(percentile)) == 0]
            if len(open_ends):
                unreached[percentile] = int(open_ends.min())
        return cls(unreached, int(end.min()) if len(end) else MAX_TIME + 1)

    def is_due(self, clock: Clock, horizon: Micros, lateness: Micros) -> bool:
        """Whether an epoch without elements could fire or expire anything here."""
        fires = any(clock.watermarks.at(percentile) >= end for percentile, end in self.unreached.items())
        return fires or self.first_end <= expired_until(horizon, lateness)
