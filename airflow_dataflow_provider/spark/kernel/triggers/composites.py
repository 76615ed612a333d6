"""Compiled composite triggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.triggers import AllOf, AnyOf, Repeat, RepeatUntil, SequenceOf, Trigger
from airflow_dataflow_provider.spark.kernel.triggers.compile_trigger import compile_trigger
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    Elements,
    Indices,
    Mask,
    Node,
    Percentiles,
    States,
    Windows,
)


def _parts(trigger: Trigger, percentiles: Percentiles, path: str) -> tuple[Node, ...]:
    parts = enumerate(trigger.children())
    return tuple(compile_trigger(part, percentiles, f"{path}.{index}") for index, part in parts)


class _Parallel(Node):
    """Several nodes that all see everything."""

    nodes: tuple[Node, ...]

    def columns(self) -> Mapping[str, pl.DataType]:
        """All parts' columns, beside each other."""
        return {name: dtype for node in self.nodes for name, dtype in node.columns().items()}

    def on_clock(self, states: States, now: Windows) -> None:
        """All of them see it."""
        for node in self.nodes:
            node.on_clock(states, now)

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return reduce(NextDue.or_when, (node.next_due(states, now, rows) for node in self.nodes))

    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        """All of them see the elements."""
        for node in self.nodes:
            node.consume(states, elements, rows, at, upto)

    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """Part by part."""
        for node in self.nodes:
            node.merge(states, rows, into, merged)


@dataclass(frozen=True)
class RepeatNode(_Parallel):
    """``Repeat``."""

    inner: Node

    @property
    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        """The inner node."""
        return (self.inner,)

    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where the inner node is due."""
        return self.inner.should_fire(states, now)

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """The inner node starts again where it has finished; there is always another firing."""
        self.inner.reset(states, self.inner.on_fire(states, now, fired))
        return np.zeros_like(fired)

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """The inner node's."""
        return self.inner.next_firing(states, elements, rows, at)


@compile_trigger.register
def _(trigger: Repeat, percentiles: Percentiles, path: str) -> Node:
    return RepeatNode(compile_trigger(trigger.trigger, percentiles, path))


@dataclass(frozen=True)
class RepeatUntilNode(_Parallel):
    """``RepeatUntil``."""

    inner: Node
    until: Node

    @property
    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        """Both."""
        return (self.inner, self.until)

    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where either is due."""
        return self.inner.should_fire(states, now) | self.until.should_fire(states, now)

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Finished where the second one was due; otherwise the first starts again where it has finished."""
        ends: Mask = fired & self.until.should_fire(states, now)
        again = fired & ~ends
        self.inner.reset(states, self.inner.on_fire(states, now, again))
        return ends

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """Whichever comes first."""
        return np.minimum(*(node.next_firing(states, elements, rows, at) for node in self.nodes))


@compile_trigger.register
def _(trigger: RepeatUntil, percentiles: Percentiles, path: str) -> Node:
    return RepeatUntilNode(*_parts(trigger, percentiles, path))


@dataclass(frozen=True)
class AnyOfNode(_Parallel):
    """``AnyOf``."""

    nodes: tuple[Node, ...]

    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where one of them is due."""
        due: Mask = np.logical_or.reduce([node.should_fire(states, now) for node in self.nodes])
        return due

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Those that were due take note; finished where one of them has finished."""
        due = [fired & node.should_fire(states, now) for node in self.nodes]
        finished = [node.on_fire(states, now, mine) for node, mine in zip(self.nodes, due, strict=True)]
        ended: Mask = np.logical_or.reduce(finished)
        return ended

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """Whichever comes first."""
        first: Indices = np.minimum.reduce([node.next_firing(states, elements, rows, at) for node in self.nodes])
        return first


@compile_trigger.register
def _(trigger: AnyOf, percentiles: Percentiles, path: str) -> Node:
    return AnyOfNode(_parts(trigger, percentiles, path))


@dataclass(frozen=True)
class AllOfNode(_Parallel):
    """``AllOf``: a flag for each part says whether it has finished."""

    path: str
    nodes: tuple[Node, ...]

    def _done(self, index: int) -> str:
        return f"{self.path}.{index}.done"

    def columns(self) -> Mapping[str, pl.DataType]:
        """A flag for each part, and the parts' own columns."""
        return {**{self._done(index): pl.Boolean() for index in range(len(self.nodes))}, **super().columns()}

    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where every part is due or has finished, and not all had finished before."""
        due = np.ones(len(now), dtype=np.bool_)
        over = np.ones(len(now), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)]
            over &= done
            due &= done | node.should_fire(states, now)
        return due & ~over

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Every part that has not finished takes note; finished where the last of them has."""
        over = fired.copy()
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)]
            done |= node.on_fire(states, now, fired & ~done)
            over &= done
        return over

    def on_clock(self, states: States, now: Windows) -> None:
        """Parts that have finished stay as they are."""
        before = {name: states[name].copy() for name in self.columns()}
        super().on_clock(states, now)
        for index, node in enumerate(self.nodes):
            for name in node.columns():
                done = states[self._done(index)]
                states[name][done] = before[name][done]

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """Where the last of those that have not finished is due."""
        last, over = at.copy(), np.ones(len(rows), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)][rows]
            last = np.where(done, last, np.maximum(last, node.next_firing(states, elements, rows, at)))
            over &= done
        return np.where(over, elements.stop[rows], last)

    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        """Parts that have not finished see the elements."""
        for index, node in enumerate(self.nodes):
            going = ~states[self._done(index)][rows]
            node.consume(states, elements, rows[going], at[going], upto[going])

    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """A part has finished where it had in all that merge; otherwise the states where it had not are merged."""
        for index, node in enumerate(self.nodes):
            name = self._done(index)
            going = ~states[name][rows]
            merged[name][into] = True
            merged[name][into[going]] = False
            node.merge(states, rows[going], into[going], merged)


@compile_trigger.register
def _(trigger: AllOf, percentiles: Percentiles, path: str) -> Node:
    return AllOfNode(path, _parts(trigger, percentiles, path))


@dataclass(frozen=True)
class SequenceOfNode(Node):
    """``SequenceOf``: the position of the trigger whose turn it is."""

    path: str
    nodes: tuple[Node, ...]

    def columns(self) -> Mapping[str, pl.DataType]:
        """The position, and all parts' columns."""
        below = {name: dtype for node in self.nodes for name, dtype in node.columns().items()}
        return {self.path: pl.Int16(), **below}

    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where the one whose turn it is is due."""
        position = states[self.path]
        due = np.zeros(len(now), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            due |= (position == index) & node.should_fire(states, now)
        return due

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """The next one has its turn where this one has finished; after the last, the sequence has finished."""
        position = states[self.path]
        before = position.copy()
        for index, node in enumerate(self.nodes):
            mine = fired & (before == index)
            if mine.any():
                position[node.on_fire(states, now, mine)] += 1
        finished: Mask = fired & (position == len(self.nodes))
        return finished

    def on_clock(self, states: States, now: Windows) -> None:
        """Only the one whose turn it is takes note."""
        for index, node in enumerate(self.nodes):
            if columns := node.columns():
                before = {name: states[name].copy() for name in columns}
                node.on_clock(states, now)
                waiting = states[self.path] != index
                for name in columns:
                    states[name][waiting] = before[name][waiting]

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        turn = states[self.path]
        parts = (node.next_due(states, now, rows & (turn == index)) for index, node in enumerate(self.nodes))
        return reduce(NextDue.or_when, parts)

    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """That of the one whose turn it is."""
        due, position = elements.stop[rows].copy(), states[self.path][rows]
        for index, node in enumerate(self.nodes):
            mine = position == index
            if mine.any():
                due[mine] = node.next_firing(states, elements, rows[mine], at[mine])
        return due

    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        """Only the one whose turn it is sees the elements."""
        position = states[self.path][rows]
        for index, node in enumerate(self.nodes):
            mine = position == index
            if mine.any():
                node.consume(states, elements, rows[mine], at[mine], upto[mine])

    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """The least advanced of what merges says whose turn it is, and only windows that stand there count."""
        position = states[self.path][rows]
        least = np.full(len(merged[self.path]), np.iinfo(np.int16).max, dtype=np.int16)
        np.minimum.at(least, into, position)
        merged[self.path][into] = least[into]
        for index, node in enumerate(self.nodes):
            mine = (position == index) & (least[into] == index)
            node.merge(states, rows[mine], into[mine], merged)


@compile_trigger.register
def _(trigger: SequenceOf, percentiles: Percentiles, path: str) -> Node:
    return SequenceOfNode(path, _parts(trigger, percentiles, path))
