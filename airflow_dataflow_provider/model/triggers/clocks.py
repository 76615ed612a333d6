"""Triggers on clocks: the watermark, processing time, epochs, signals. They are evaluated at epoch boundaries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text
from airflow_dataflow_provider.model.triggers.trigger import Situation, Trigger
from airflow_dataflow_provider.model.watermarks import percentile as checked_percentile
from airflow_dataflow_provider.model.watermarks import percentile_text


class ClockTrigger(Trigger):
    """A trigger on the epoch's clock without a state, which finishes with its firing."""

    __slots__ = ()

    def initial(self) -> None:
        """None: it has no state."""

    def should_fire(self, state: None, now: Situation) -> bool:  # noqa: ARG002
        """At a boundary, or when a pane is fired, if :meth:`is_due`."""
        return now.looks_at_clocks and self.is_due(now)

    def is_due(self, now: Situation) -> bool:
        raise NotImplementedError

    def on_fire(self, state: None, now: Situation) -> tuple[None, bool]:  # noqa: ARG002
        return None, True


@dataclass(frozen=True, slots=True, repr=False)
class AtWatermark(ClockTrigger):
    """Fires when the watermark of a percentile reaches the end of the window, and finishes there.

    The first time it is due even without elements since the last pane: that pane tells readers that the window is
    complete. If the watermark had already passed at the last pane, it is due as soon as an element has come.
    """

    percentile: float

    def __init__(self, percentile: float = 100) -> None:
        object.__setattr__(self, "percentile", checked_percentile(percentile, what="AtWatermark percentile"))

    def is_due(self, now: Situation) -> bool:
        """Whether ``W_p >= end``, for the first time or with new elements."""
        complete = now.clock.watermarks.at(self.percentile) >= now.window.end
        return complete and (now.fresh or self.percentile not in now.passed)

    def may_never_fire(self) -> str:
        """The global window ends only with the input."""
        return f"{self!r} waits for the end of a window that ends only with the input"

    def percentiles(self) -> frozenset[float]:
        return frozenset({self.percentile})

    def __repr__(self) -> str:
        return "AtWatermark()" if self.percentile == 100 else f"AtWatermark({percentile_text(self.percentile)})"


class ProcessingTimeTrigger(ClockTrigger):
    """A leaf that is due at a processing time which follows from the arrival of the pane's first element."""

    __slots__ = ()
    looks_at_processing_time = True

    def due_at(self, first_arrival: Micros) -> Micros:
        """The processing time from which a pane is due. Arithmetic alone: engines call it with a whole column."""
        raise NotImplementedError

    def is_due(self, now: Situation) -> bool:
        """Something new has come, and its time has come, too."""
        return now.first_arrival is not None and now.clock.timers >= self.due_at(now.first_arrival)


def _positive(value: Duration, what: str) -> Micros:
    length = duration(value, what=what)
    if length <= 0:
        raise DefinitionError(
            f"{what}={value!r} is not positive", hint='give a length such as "1m"', code="DEFINITION_TRIGGER"
        )
    return length


@dataclass(frozen=True, slots=True, repr=False)
class AtPeriod(ProcessingTimeTrigger):
    """Fires on the ticks of processing time, every ``period`` since 1970-01-01T00:00Z, if elements have come.

    It is due once a tick lies between the arrival of the pane's first element and the clock (arrival < tick <= clock).

    Args:
        period: from tick to tick, e.g. ``"1h"``; positive.
        offset: moves every tick, taken modulo the period: ``AtPeriod("1h", offset="15m")`` ticks at a quarter past.
    """

    period: Micros
    offset: Micros = 0

    def __init__(self, period: Duration, *, offset: Duration = 0) -> None:
        object.__setattr__(self, "period", _positive(period, "AtPeriod period"))
        object.__setattr__(self, "offset", duration(offset, what="AtPeriod offset") % self.period)

    def due_at(self, first_arrival: Micros) -> Micros:
        """The first tick after the arrival."""
        return ((first_arrival - self.offset) // self.period + 1) * self.period + self.offset

    def __repr__(self) -> str:
        offset = f", offset={duration_text(self.offset)!r}" if self.offset else ""
        return f"AtPeriod({duration_text(self.period)!r}{offset})"


@dataclass(frozen=True, slots=True, repr=False)
class AfterDelay(ProcessingTimeTrigger):
    """Fires ``delay`` of processing time after the pane's first element arrived."""

    delay: Micros

    def __init__(self, delay: Duration) -> None:
        object.__setattr__(self, "delay", _positive(delay, "AfterDelay delay"))

    def due_at(self, first_arrival: Micros) -> Micros:
        """The delay after the arrival."""
        return first_arrival + self.delay

    def __repr__(self) -> str:
        return f"AfterDelay({duration_text(self.delay)!r})"


@dataclass(frozen=True, slots=True)
class AtEpoch(ClockTrigger):
    """Fires at the boundary of every epoch that brought elements: as early as the engine can."""

    def is_due(self, now: Situation) -> bool:
        return now.fresh


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, repr=False)
class AtSignal(Trigger):
    """Fires when a signal of this name is raised from outside: by a DAG, a call, or a file.

    The epoch that takes the signal fires, at its boundary, every window with unpublished elements. Other windows, and
    those that open later, ignore it. The state is whether the window was reached by the signal.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise DefinitionError(
                f"AtSignal name {self.name!r} cannot be used",
                reason="it stands in file names and on command lines",
                hint="start with a letter; use letters, digits, '_', '-' and '.'",
                code="DEFINITION_TRIGGER",
            )

    def initial(self) -> bool:
        return False

    def on_clock(self, state: bool, now: Situation) -> bool:
        return state or (self.name in now.clock.signals and now.fresh)

    def on_merge(self, states: Sequence[bool], now: Situation) -> bool:  # noqa: ARG002
        return any(states)

    def should_fire(self, state: bool, now: Situation) -> bool:
        """Whether the signal was raised, and elements are still unpublished."""
        return now.looks_at_clocks and state and now.fresh

    def on_fire(self, state: bool, now: Situation) -> tuple[bool, bool]:  # noqa: ARG002
        return False, True

    def may_never_fire(self) -> str:
        """The signal may never be raised."""
        return f"{self!r} waits for a signal that may never be raised"

    def signals(self) -> frozenset[str]:
        return frozenset({self.name})

    def __repr__(self) -> str:
        return f"AtSignal({self.name!r})"
