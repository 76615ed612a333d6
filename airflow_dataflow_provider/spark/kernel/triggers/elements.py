"""Compiled triggers that look at elements: each says in one step where among many elements it becomes due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.predicates import Predicate
from airflow_dataflow_provider.model.triggers import AtBytes, AtCount, AtPattern, AtPunctuation
from airflow_dataflow_provider.spark.kernel.predicates import mask_of
from airflow_dataflow_provider.spark.kernel.triggers.compile_trigger import compile_trigger
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    Column,
    Elements,
    Indices,
    Mask,
    Node,
    Percentiles,
    States,
    Windows,
    merge_column,
)


class ElementNode(Node):
    """A leaf that elements alone make due, with one state column, and that finishes with its firing."""

    path: str

    def is_due(self, state: Column) -> Mask:
        raise NotImplementedError

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        """Where :meth:`is_due`, at a boundary as among elements, and where no more elements will come."""
        return self.is_due(states[self.path]) | now.left_over

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        states[self.path][fired] = 0
        return fired

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return NextDue(end_of_input=bool((rows & now.fresh).any()))


@dataclass(frozen=True)
class TotalNode(ElementNode):
    """Due when a total over the elements since the last pane has come to ``n``."""

    path: str
    n: int

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        return {self.path: pl.Int64()}

    @override
    def is_due(self, state: Column) -> Mask:
        due: Mask = state >= self.n
        return due

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        merge_column(np.add, states[self.path][rows], into, merged[self.path])


@dataclass(frozen=True)
class AtCountNode(TotalNode):
    """``AtCount``: in closed form."""

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        missing = np.maximum(self.n - states[self.path][rows], 1)
        due: Indices = np.minimum(at + missing - 1, elements.stop[rows])
        return due

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        states[self.path][rows] += upto - at


@compile_trigger.register
def _(trigger: AtCount, _percentiles: Percentiles, path: str) -> Node:
    return AtCountNode(path, trigger.n)


@dataclass(frozen=True)
class AtBytesNode(TotalNode):
    """``AtBytes``: a search in the running total."""

    measured: tuple[str, ...]

    def _before(self, elements: Elements) -> Indices:
        """The bytes of all elements before each position."""
        if self.path not in elements.prepared:
            weights = elements.frame.select(
                pl.sum_horizontal(_weight(name, elements.frame.schema[name]) for name in self.measured).alias("bytes")
            )["bytes"].to_numpy()
            elements.prepared[self.path] = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights, dtype=np.int64)])
        before: Indices = elements.prepared[self.path]
        return before

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        before, have = self._before(elements), states[self.path][rows]
        # The least position whose running total is enough; elements that weigh nothing do not count.
        found = np.searchsorted(before, before[at] + (self.n - have), side="left") - 1
        return np.where(have >= self.n, at, np.minimum(np.maximum(found, at), elements.stop[rows]))

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        before = self._before(elements)
        states[self.path][rows] += before[upto] - before[at]


@compile_trigger.register
def _(trigger: AtBytes, _percentiles: Percentiles, path: str) -> Node:
    return AtBytesNode(path, trigger.n, trigger.measured)


def _weight(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.String:
        size = column.str.len_bytes()
    elif dtype == pl.Binary:
        size = column.bin.size()
    else:
        size = pl.when(column.is_not_null()).then(1 if dtype == pl.Boolean else 8)
    return size.fill_null(0).cast(pl.Int64)


@dataclass(frozen=True)
class AtPunctuationNode(ElementNode):
    """``AtPunctuation``: the next matching element, worked out for all positions at once."""

    path: str
    predicate: Predicate

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        return {self.path: pl.Boolean()}

    @override
    def is_due(self, state: Column) -> Mask:
        due: Mask = state.astype(np.bool_)
        return due

    def _next(self, elements: Elements) -> Indices:
        """For each position, that of the next matching element."""
        if self.path not in elements.prepared:
            matches = mask_of(self.predicate, elements.frame)
            count = len(matches)
            positions = np.where(matches, np.arange(count), count)
            following = np.minimum.accumulate(positions[::-1])[::-1]
            elements.prepared[self.path] = np.append(following, count)
        found: Indices = elements.prepared[self.path]
        return found

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        following = np.minimum(self._next(elements)[at], elements.stop[rows])
        return np.where(states[self.path][rows], at, following)

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        states[self.path][rows] |= self._next(elements)[at] < upto

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """Held in one part is held in the whole."""
        merge_column(np.logical_or, states[self.path][rows], into, merged[self.path])


@compile_trigger.register
def _(trigger: AtPunctuation, _percentiles: Percentiles, path: str) -> Node:
    return AtPunctuationNode(path, trigger.predicate)


@dataclass(frozen=True)
class AtPatternNode(ElementNode):
    """``AtPattern``: all windows step together, element by element; as many steps as the busiest window has elements.

    The state is the model's bit mask.
    """

    path: str
    pattern: AtPattern

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        """The steps that the pattern has come to, as bits."""
        return {self.path: pl.Int64()}

    @override
    def is_due(self, state: Column) -> Mask:
        """Where the bit of the complete pattern is set."""
        due: Mask = (state & self.pattern.complete) != 0
        return due

    def _fits(self, elements: Elements) -> Indices:
        """For each element, the steps that match it, as bits."""
        if self.path not in elements.prepared:
            bits = np.zeros(len(elements.frame), dtype=np.int64)
            for number, step in enumerate(self.pattern.steps):
                bits |= mask_of(step.predicate, elements.frame).astype(np.int64) << number
            elements.prepared[self.path] = bits
        found: Indices = elements.prepared[self.path]
        return found

    def _advance(self, state: Indices, fits: Indices) -> Indices:
        pattern, count = self.pattern, len(self.pattern.steps)
        after = state & pattern.complete
        for at in range(-1, count):
            here = np.ones(len(state), dtype=np.bool_) if at < 0 else (state & (1 << at)) != 0
            for step in pattern.reaches(at):
                if step < count:
                    bit = (1 << step) | (pattern.complete if count in pattern.reaches(step) else 0)
                    after |= np.where(here & ((fits & (1 << step)) != 0), bit, 0)
        return after | state if pattern.gaps else after

    @override
    def next_firing(self, states: States, elements: Elements, rows: Indices, at: Indices) -> Indices:
        """The element that completes the pattern, found by stepping all windows that still wait."""
        fits, stop = self._fits(elements), elements.stop[rows]
        state = states[self.path][rows].copy()
        due = np.where(self.is_due(state), at, stop)
        going = np.flatnonzero(~self.is_due(state) & (at < stop))
        position = at.copy()
        while len(going):
            state[going] = self._advance(state[going], fits[position[going]])
            complete = self.is_due(state[going])
            due[going[complete]] = position[going[complete]]
            position[going] += 1
            going = going[~complete & (position[going] < stop[going])]
        return due

    @override
    def consume(self, states: States, elements: Elements, rows: Indices, at: Indices, upto: Indices) -> None:
        fits, position = self._fits(elements), at.copy()
        state = states[self.path][rows].copy()
        going = np.flatnonzero(position < upto)
        while len(going):
            state[going] = self._advance(state[going], fits[position[going]])
            position[going] += 1
            going = going[position[going] < upto[going]]
        states[self.path][rows] = state

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """What any part has come to, the whole has come to."""
        merge_column(np.bitwise_or, states[self.path][rows], into, merged[self.path])


@compile_trigger.register
def _(trigger: AtPattern, _percentiles: Percentiles, path: str) -> Node:
    return AtPatternNode(path, trigger)
