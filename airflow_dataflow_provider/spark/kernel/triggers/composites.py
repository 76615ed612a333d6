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

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        return {name: dtype for node in self.parts() for name, dtype in node.columns().items()}

    @override
    def on_clock(self, states: States, now: Windows) -> None:
        for node in self.parts():
            node.on_clock(states, now)

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return reduce(NextDue.or_when, (node.next_due(states, now, rows) for node in self.parts()))

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        for node in self.parts():
            node.consume(states, elements, rows, at, upto)

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        for node in self.parts():
            node.merge(states, rows, into, merged)


@dataclass(frozen=True)
class RepeatNode(_Parallel):
    """``Repeat``."""

    inner: Node

    @override
    def parts(self) -> tuple[Node, ...]:
        return (self.inner,)

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        return self.inner.should_fire(states, now)

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """The inner node starts again where it has finished; there is always another firing."""
        self.inner.reset(states, self.inner.on_fire(states, now, fired))
        return np.zeros_like(fired)

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        return self.inner.next_firing(states, elements, rows, at)


@compile_trigger.register
def _(trigger: Repeat, percentiles: Percentiles, path: str) -> Node:
    return RepeatNode(compile_trigger(trigger.trigger, percentiles, path))


@dataclass(frozen=True)
class RepeatUntilNode(_Parallel):
    """``RepeatUntil``."""

    inner: Node
    until: Node

    @override
    def parts(self) -> tuple[Node, ...]:
        return (self.inner, self.until)

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        return self.inner.should_fire(states, now) | self.until.should_fire(states, now)

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Finished where the second one was due; otherwise the first starts again where it has finished."""
        ends: Mask = fired & self.until.should_fire(states, now)
        again = fired & ~ends
        self.inner.reset(states, self.inner.on_fire(states, now, again))
        return ends

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        return np.minimum(*(node.next_firing(states, elements, rows, at) for node in self.parts()))


@compile_trigger.register
def _(trigger: RepeatUntil, percentiles: Percentiles, path: str) -> Node:
    return RepeatUntilNode(*_parts(trigger, percentiles, path))


@dataclass(frozen=True)
class AnyOfNode(_Parallel):
    """``AnyOf``."""

    nodes: tuple[Node, ...]

    @override
    def parts(self) -> tuple[Node, ...]:
        return self.nodes

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        due: Mask = np.logical_or.reduce([node.should_fire(states, now) for node in self.nodes])
        return due

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Those that were due take note; finished where one of them has finished."""
        due = [fired & node.should_fire(states, now) for node in self.nodes]
        finished = [node.on_fire(states, now, mine) for node, mine in zip(self.nodes, due, strict=True)]
        ended: Mask = np.logical_or.reduce(finished)
        return ended

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
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

    @override
    def parts(self) -> tuple[Node, ...]:
        return self.nodes

    def _done(self, index: int) -> str:
        return f"{self.path}.{index}.done"

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        """A flag for each part, and the parts' own columns."""
        return {**{self._done(index): pl.Boolean() for index in range(len(self.nodes))}, **super().columns()}

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where every part is due or has finished, and not all had finished before."""
        due = np.ones(len(now), dtype=np.bool_)
        over = np.ones(len(now), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)]
            over &= done
            due &= done | node.should_fire(states, now)
        return due & ~over

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        """Every part that has not finished takes note; finished where the last of them has."""
        over = fired.copy()
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)]
            done |= node.on_fire(states, now, fired & ~done)
            over &= done
        return over

    @override
    def on_clock(self, states: States, now: Windows) -> None:
        before = {name: states[name].copy() for name in self.columns()}
        super().on_clock(states, now)
        for index, node in enumerate(self.nodes):
            for name in node.columns():
                done = states[self._done(index)]
                states[name][done] = before[name][done]

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """Where the last of those that have not finished is due."""
        last, over = at.copy(), np.ones(len(rows), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            done = states[self._done(index)][rows]
            last = np.where(done, last, np.maximum(last, node.next_firing(states, elements, rows, at)))
            over &= done
        return np.where(over, elements.stop[rows], last)

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        for index, node in enumerate(self.nodes):
            going = ~states[self._done(index)][rows]
            node.consume(states, elements, rows[going], at[going], upto[going])

    @override
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

    @override
    def parts(self) -> tuple[Node, ...]:
        return self.nodes

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        below = {name: dtype for node in self.nodes for name, dtype in node.columns().items()}
        return {self.path: pl.Int16(), **below}

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where the one whose turn it is is due."""
        position = states[self.path]
        due = np.zeros(len(now), dtype=np.bool_)
        for index, node in enumerate(self.nodes):
            due |= (position == index) & node.should_fire(states, now)
        return due

    @override
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

    @override
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

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        due, position = elements.stop[rows].copy(), states[self.path][rows]
        for index, node in enumerate(self.nodes):
            mine = position == index
            if mine.any():
                due[mine] = node.next_firing(states, elements, rows[mine], at[mine])
        return due

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        """Only the one whose turn it is sees the elements."""
        position = states[self.path][rows]
        for index, node in enumerate(self.nodes):
            mine = position == index
            if mine.any():
                node.consume(states, elements, rows[mine], at[mine], upto[mine])

    @override
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
