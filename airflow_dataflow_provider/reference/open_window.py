"""An open window of the reference interpreter, and its panes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.combiners import Accumulator
from airflow_dataflow_provider.model.elements import Key, Pane, PaneTiming
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros
from airflow_dataflow_provider.model.triggers import Situation, TriggerState
from airflow_dataflow_provider.model.windows import Window


@dataclass(slots=True)
class OpenWindow:
    """The state of one key and window, from its first element until it expires.

    ``finished``, ``first_arrival`` and ``passed`` are the trigger's (see :class:`Situation`), ``index`` counts the
    panes published, ``last_published`` is the last pane of the window, with those of windows that merged into it
    since, ``elements`` counts elements less those taken back, ``earliest`` and ``latest`` are their event times.
    ``is_new`` holds until the end of the epoch that has opened the window, ``is_cut`` from when its bounds changed
    without an element of its own until the next pane or boundary.
    """

    key: Key
    window: Window
    accumulators: dict[str, Accumulator]
    trigger: TriggerState
    finished: bool = False
    first_arrival: Micros | None = None
    passed: frozenset[float] = frozenset()
    index: int = 0
    last_published: tuple[Pane, ...] = ()
    elements: int = 0
    earliest: Micros = MAX_TIME
    latest: Micros = MIN_TIME
    is_new: bool = True
    is_cut: bool = False

    @property
    def fresh(self) -> bool:
        """Whether elements have come since the last pane."""
        return self.first_arrival is not None

    def situation(self, clock: Clock, *, at_boundary: bool = True, is_firing: bool = False) -> Situation:
        """The input of the trigger's decision."""
        return Situation(clock, self.window, self.first_arrival, self.passed, at_boundary, is_firing)

    def place(self) -> tuple[Any, ...]:
        """The order in which an epoch publishes: by window end, start, and key, nulls first."""
        return self.window.end, self.window.start, tuple((value is not None, value) for value in self.key)


def timing(state: OpenWindow, clock: Clock) -> PaneTiming:
    """The timing of a pane of the window now."""
    if clock.watermark < state.window.end:
        return PaneTiming.EARLY
    return PaneTiming.LATE if 100 in state.passed else PaneTiming.ON_TIME


def retraction(published: Pane, by: Pane, completeness: float) -> Pane:
    """The retraction of a published pane, with the times of the pane that replaces it.

    Args:
        published: the pane that is taken back.
        by: the pane that replaces it.
        completeness: the completeness that the watermark curve now claims for the published pane's window.
    """
    return replace(
        published,
        timing=by.timing,
        is_first=False,
        is_last=False,
        is_retraction=True,
        watermark=by.watermark,
        completeness=completeness,
        processing_time=by.processing_time,
    )
