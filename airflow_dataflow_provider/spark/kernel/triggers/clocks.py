"""Compiled triggers that look at clocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.triggers import AtEpoch, AtSignal, AtWatermark
from airflow_dataflow_provider.model.triggers.clocks import ProcessingTimeTrigger
from airflow_dataflow_provider.spark.kernel.triggers.compile_trigger import compile_trigger
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.triggers.node import (
    Indices,
    Mask,
    Node,
    Percentiles,
    States,
    Times,
    Windows,
    merge_column,
)

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock


class ClockNode(Node):
    """A leaf without state that is due once a reading of the clock has come to a threshold; finishes with its firing.

    Both :meth:`should_fire` and :meth:`next_due` follow from the threshold.
    """

    @abstractmethod
    def reading(self, clock: Clock) -> Micros:
        """What the trigger reads off the clock."""

    @abstractmethod
    def threshold(self, now: Windows) -> Times:
        """For each window the reading from which it is due; anything where it does not wait."""

    def waits(self, now: Windows) -> Mask:
        """Where a pane would be news."""
        return now.fresh

    @abstractmethod
    def due_from(self, reading: Micros) -> NextDue:
        """Due once the clock reads this."""

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        if not now.looks_at_clocks:
            return np.zeros(len(now), dtype=np.bool_)
        due: Mask = self.threshold(now) <= self.reading(now.clock)
        if due.any():
            due &= self.waits(now)
        return due

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        return fired

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        threshold = self.threshold(now)
        later = threshold[rows & self.waits(now) & (threshold > self.reading(now.clock))]
        return self.due_from(int(later.min())) if len(later) else NextDue()


@dataclass(frozen=True)
class AtWatermarkNode(ClockNode):
    """``AtWatermark``: ``W_p >= end``, where this is news."""

    percentile: float
    bit: np.uint32

    @override
    def reading(self, clock: Clock) -> Micros:
        return clock.watermarks.at(self.percentile)

    @override
    def threshold(self, now: Windows) -> Times:
        return now.end

    @override
    def waits(self, now: Windows) -> Mask:
        waits: Mask = now.fresh | ((now.passed & self.bit) == 0)
        return waits

    @override
    def due_from(self, reading: Micros) -> NextDue:
        return NextDue({self.percentile: reading})


@compile_trigger.register
def _(trigger: AtWatermark, percentiles: Percentiles, _path: str) -> Node:
    return AtWatermarkNode(trigger.percentile, percentiles.bit(trigger.percentile))


@dataclass(frozen=True)
class ProcessingTimeNode(ClockNode):
    """``AtPeriod``, ``AfterDelay``, and other triggers that are due at a processing time."""

    trigger: ProcessingTimeTrigger

    @override
    def reading(self, clock: Clock) -> Micros:
        return clock.timers

    @override
    def threshold(self, now: Windows) -> Times:
        times: Times = self.trigger.due_at(now.first_arrival)  # type: ignore[arg-type, assignment]  # a whole column
        return times

    @override
    def due_from(self, reading: Micros) -> NextDue:
        return NextDue(processing_time=reading)


@compile_trigger.register
def _(trigger: ProcessingTimeTrigger, _percentiles: Percentiles, _path: str) -> Node:
    return ProcessingTimeNode(trigger)


@dataclass(frozen=True)
class AtEpochNode(Node):
    """``AtEpoch``: where the epoch has brought something."""

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        return now.fresh if now.looks_at_clocks else np.zeros(len(now), dtype=np.bool_)

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        return fired

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return NextDue()  # only elements can make it due


@compile_trigger.register
def _(_trigger: AtEpoch, _percentiles: Percentiles, _path: str) -> Node:
    return AtEpochNode()


@dataclass(frozen=True)
class AtSignalNode(Node):
    """``AtSignal``: the state says where it was heard; only windows with something fresh hear it."""

    path: str
    name: str

    @override
    def columns(self) -> Mapping[str, pl.DataType]:
        return {self.path: pl.Boolean()}

    @override
    def on_clock(self, states: States, now: Windows) -> None:
        if self.name in now.clock.signals:
            states[self.path] |= now.fresh

    @override
    def should_fire(self, states: States, now: Windows) -> Mask:
        if not now.looks_at_clocks:
            return np.zeros(len(now), dtype=np.bool_)
        due: Mask = states[self.path] & now.fresh
        return due

    @override
    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:
        states[self.path][fired] = False
        return fired

    @override
    def next_due(self, states: States, now: Windows, rows: Mask) -> NextDue:
        return NextDue(signals=frozenset({self.name})) if (rows & now.fresh).any() else NextDue()

    @override
    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        merge_column(np.logical_or, states[self.path][rows], into, merged[self.path])


@compile_trigger.register
def _(trigger: AtSignal, _percentiles: Percentiles, path: str) -> Node:
    return AtSignalNode(path, trigger.name)
