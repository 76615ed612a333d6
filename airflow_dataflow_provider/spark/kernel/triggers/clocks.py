"""Compiled triggers that look at clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MAX_TIME, Micros
from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask, Node, States, Times, Windows, fold


class ClockNode(Node):
    """A leaf without state that finishes with its firing."""

    def should_fire(self, states: States, now: Windows) -> Mask:  # noqa: ARG002
        """At a boundary, or when panes are fired, where :meth:`is_due`."""
        return self.is_due(now) if now.looks_at_clocks else np.zeros(len(now), dtype=np.bool_)

    def is_due(self, now: Windows) -> Mask:
        """What the clock says."""
        raise NotImplementedError

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:  # noqa: ARG002
        """Once is all."""
        return fired


@dataclass(frozen=True)
class AtWatermarkNode(ClockNode):
    """``AtWatermark``."""

    percentile: float
    bit: np.uint32

    def is_due(self, now: Windows) -> Mask:
        """``W_p >= end``, where this is news."""
        due: Mask = now.clock.watermarks.at(self.percentile) >= now.end
        if due.any():
            due &= now.fresh | ((now.passed & self.bit) == 0)
        return due


class TimerNode(ClockNode):
    """Due when processing time has come to a moment that follows from the pane's first arrival."""

    def moment(self, first_arrival: Times) -> Times:
        """That moment; anything where nothing is fresh."""
        raise NotImplementedError

    def is_due(self, now: Windows) -> Mask:
        """Where something is fresh and its moment has come."""
        due: Mask = now.fresh & (self.moment(now.first_arrival) <= now.clock.timers)
        return due

    def next_timer(self, states: States, now: Windows) -> Times:  # noqa: ARG002
        """The moments that are still to come."""
        moment = self.moment(now.first_arrival)
        return np.where(now.fresh & (moment > now.clock.timers), moment, MAX_TIME)


@dataclass(frozen=True)
class AtPeriodNode(TimerNode):
    """``AtPeriod``: the first tick after the arrival."""

    period: Micros
    offset: Micros

    def moment(self, first_arrival: Times) -> Times:
        """The first tick after the arrival."""
        tick: Times = ((first_arrival - self.offset) // self.period + 1) * self.period + self.offset
        return tick


@dataclass(frozen=True)
class AfterDelayNode(TimerNode):
    """``AfterDelay``."""

    delay: Micros

    def moment(self, first_arrival: Times) -> Times:
        """The delay after the arrival."""
        later: Times = first_arrival + self.delay
        return later


@dataclass(frozen=True)
class AtEpochNode(ClockNode):
    """``AtEpoch``."""

    def is_due(self, now: Windows) -> Mask:
        """Where the epoch has brought something."""
        return now.fresh


@dataclass(frozen=True)
class AtSignalNode(Node):
    """``AtSignal``: the state says whether it was heard."""

    path: str
    name: str

    def columns(self) -> Mapping[str, pl.DataType]:
        """Whether the signal was heard."""
        return {self.path: pl.Boolean()}

    def on_clock(self, states: States, now: Windows) -> None:
        """It is heard where there is something fresh to publish."""
        if self.name in now.clock.signals:
            states[self.path] |= now.fresh

    def should_fire(self, states: States, now: Windows) -> Mask:
        """At a boundary, where it was heard and there is something fresh."""
        if not now.looks_at_clocks:
            return np.zeros(len(now), dtype=np.bool_)
        due: Mask = states[self.path] & now.fresh
        return due

    def on_fire(self, states: States, now: Windows, fired: Mask) -> Mask:  # noqa: ARG002
        """What was heard is used up."""
        states[self.path][fired] = False
        return fired

    def merge(self, states: States, rows: Indices, into: Indices, merged: States) -> None:
        """Heard in one part is heard in the whole."""
        fold(np.logical_or, states[self.path][rows], into, merged[self.path])
