"""The protocol of compiled triggers: the model's, for every open window of a partition at once.

:mod:`airflow_dataflow_provider.model.triggers` says what a trigger means for one window; here a tree is compiled to a
few operations on whole columns. A node keeps its state in columns named after its path in the tree; a node without
state costs nothing. The tests compare every tree with the model's protocol, window by window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Times = np.ndarray[tuple[int], np.dtype[np.int64]]
Bits = np.ndarray[tuple[int], np.dtype[np.uint32]]
Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
Column = np.ndarray[Any, Any]
States = dict[str, Column]
"""The state columns of a tree, by name; every window has one entry in each."""

NOT_FRESH = MAX_TIME
"""The first arrival of a window with nothing new."""


@dataclass(slots=True)
class Windows:
    """Open windows, column by column: what a trigger may look at (the model's ``Situation``).

    ``first_arrival`` is :data:`NOT_FRESH` where nothing has come since the last pane.
    """

    clock: Clock
    start: Times
    end: Times
    first_arrival: Times
    passed: Bits
    at_boundary: bool = True
    is_firing: bool = False

    @property
    def looks_at_clocks(self) -> bool:
        """Whether clocks may be looked at."""
        return self.at_boundary or self.is_firing

    @property
    def fresh(self) -> Mask:
        """Where something has come since the last pane."""
        mask: Mask = self.first_arrival != NOT_FRESH
        return mask

    @property
    def left_over(self) -> Mask:
        """Where something is fresh and the input has ended."""
        if self.at_boundary and self.clock.watermark == MAX_TIME:
            return self.fresh
        return np.zeros(len(self), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.end)


@dataclass(slots=True)
class Elements:
    """The epoch's elements, those of a window beside each other and in arrival order.

    Attributes:
        frame: their columns.
        stop: for each window, the position after its last element.
        prepared: what nodes have worked out about all elements, by the nodes' paths.
    """

    frame: pl.DataFrame
    stop: Indices
    prepared: dict[str, Any] = field(default_factory=dict)


class Percentiles:
    """The percentiles of a tree, and 100: each has one bit in the ``passed`` column."""

    def __init__(self, trigger: Trigger) -> None:
        self.values = tuple(sorted(trigger.percentiles() | {100.0}))
        if len(self.values) > 32:
            raise SubmissionError(
                f"the trigger asks for {len(self.values)} percentiles", hint="use at most 31", code="ENGINE_TRIGGER"
            )

    def bit(self, percentile: float) -> np.uint32:
        return np.uint32(1 << self.values.index(percentile))

    def reached(self, clock: Clock, end: Times) -> Bits:
        """For each window the set of percentiles whose watermark has reached its end."""
        bits = np.zeros(len(end), dtype=np.uint32)
        for percentile in self.values:
            bits |= np.where(clock.watermarks.at(percentile) >= end, self.bit(percentile), np.uint32(0))
        return bits

    def of(self, bits: int) -> frozenset[float]:
        """The percentiles of one window's bits."""
        return frozenset(value for index, value in enumerate(self.values) if bits & (1 << index))


class Node(ABC):
    """A compiled trigger. Masks select windows; the others stay as they are."""

    def columns(self) -> Mapping[str, pl.DataType]:
        """The state columns of this node and all below it; each starts at 0, False or null."""
        return {}

    def parts(self) -> tuple[Node, ...]:
        """The nodes right below this one."""
        return ()

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for part in self.parts():
            yield from part.walk()

    # At an epoch's boundary

    @abstractmethod
    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where a pane is due."""

    @abstractmethod
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Take note of panes, in place; the answer says where the trigger has finished."""

    def on_clock(self, states: States, now: Windows) -> None:  # noqa: B027 - most triggers note nothing
        """Take note of the clock, in place."""

    def reset(self, states: States, where: Mask) -> None:
        for name in self.columns():
            states[name][where] = None if states[name].dtype == object else 0

    @abstractmethod
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        """What has to happen to the clock, after this boundary, for a pane of these windows to become due."""

    # Among elements

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:  # noqa: ARG002
        """For some windows, the position of the element with which the trigger is due, from a position on.

        ``elements.stop`` where none of the epoch does it; a trigger that is due already says the position itself. What
        looks at clocks says ``stop``: it waits for the boundary.
        """
        return elements.stop[rows]

    def consume(  # noqa: B027 - what looks at clocks notes no elements
        self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices
    ) -> None:
        """Take note of these windows' elements from one position to before another, in place."""

    # When windows merge

    def merge(  # noqa: B027 - what has no state has none to merge
        self, states: States, rows: Indices, into: Indices, merged: States
    ) -> None:
        """Fill the states of merged windows, in place: ``into[i]`` is what the window ``rows[i]`` becomes part of.

        The merged states hold initial values.
        """


def merge_column(ufunc: np.ufunc, parts: Column, into: Indices, merged: Column) -> None:
    """Merge one state column by adding, or-ing, or the like; 0 must be its neutral element."""
    ufunc.at(merged, into, parts)
