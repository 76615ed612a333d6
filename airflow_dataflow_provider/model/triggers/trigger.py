"""The protocol of triggers.

A trigger is a frozen value with a small protocol; its state for one key and window is an immutable value that it gets
and gives back. The reference interpreter runs the protocol as it stands; an engine may compile a tree of triggers to
something faster, and is compared with the reference.

An epoch looks at a window in two ways. After each element, in arrival order, the triggers that look at elements are
asked; those that look at clocks say no. At the boundary, once the epoch's elements are in, all of them are asked. A
tree that looks at elements is asked at the boundary *before* the epoch's elements, too, so that what the clock has
moved is settled first and the elements' firings do not depend on how they were cut into epochs. When a pane is fired,
whatever made it due, every part of the tree is asked, those that look at clocks too: a part that is due takes note.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.described import Described
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, Micros
from airflow_dataflow_provider.model.windows.window import Window

TriggerState = Any
"""What a trigger remembers about one key and window: an immutable, picklable value that only the trigger reads."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a trigger may look at when it decides.

    Attributes:
        clock: the epoch's.
        window: of the pane.
        first_arrival: the earliest arrival time among the elements that came since the last pane; None if none came.
        passed: the percentiles whose watermark had already reached the end of the window when the last pane was fired.
        at_boundary: the epoch's elements are in (or none was looked at yet): clocks may be looked at.
        is_firing: a pane is being fired. Clocks may be looked at then, too, so that a part of a tree that is due by the
            clock takes note of a pane that an element has made due.
    """

    clock: Clock
    window: Window
    first_arrival: Micros | None
    passed: frozenset[float]
    at_boundary: bool = True
    is_firing: bool = False

    @property
    def looks_at_clocks(self) -> bool:
        """Whether clocks may be looked at."""
        return self.at_boundary or self.is_firing

    @property
    def fresh(self) -> bool:
        """Whether elements have come since the last pane."""
        return self.first_arrival is not None

    @property
    def is_left_over(self) -> bool:
        """Whether elements have come since the last pane, and the input has ended, so that none follow."""
        return self.at_boundary and self.fresh and self.clock.watermark == MAX_TIME


class Trigger(Described, ABC):
    """One answer to *when*. Every method is a pure function of its arguments.

    A trigger that is due stays due until a pane is fired, whatever comes in between; composites count on it.
    """

    __slots__ = ()

    looks_at_elements: bool = False
    """Whether single elements can make it due, so that engines must show it each one in arrival order."""

    looks_at_processing_time: bool = False
    """Whether the processing time of a clock (``Clock.timers``) can make it due. A composite's own is False."""

    @abstractmethod
    def initial(self) -> TriggerState:
        """The state of a window that has just opened."""

    def on_element(self, state: TriggerState, element: Element, now: Situation) -> TriggerState:  # noqa: ARG002
        """Take note of one element, in arrival order. A retraction is an element, too."""
        return state

    def on_clock(self, state: TriggerState, now: Situation) -> TriggerState:  # noqa: ARG002
        """Take note of the epoch's clock, at its boundary, before :meth:`should_fire` is asked."""
        return state

    def on_merge(self, states: Sequence[TriggerState], now: Situation) -> TriggerState:  # noqa: ARG002
        """The state of a window made of several that merged; never called with none."""
        return states[0]

    @abstractmethod
    def should_fire(self, state: TriggerState, now: Situation) -> bool:
        """Whether a pane is due."""

    @abstractmethod
    def on_fire(self, state: TriggerState, now: Situation) -> tuple[TriggerState, bool]:
        """Take note of the pane; the second answer says that the trigger has finished and will not fire again."""

    def reset(self, state: TriggerState) -> TriggerState:  # noqa: ARG002
        """Start again within the same window."""
        return self.initial()

    def may_lose_data(self) -> str | None:
        """Why elements could come after the last firing, or None. They are published when the window expires."""
        return f"{self!r} can finish, and elements that come later have no firing of their own"

    def may_never_fire(self) -> str | None:
        """Why a window that never ends could stay without a pane although elements came, or None."""
        return None

    def children(self) -> tuple[Trigger, ...]:
        """The parts of a composite."""
        return ()

    def columns(self) -> tuple[str, ...]:
        """The input columns that the tree looks at."""
        return tuple(dict.fromkeys(name for child in self.children() for name in child.columns()))

    def walk(self) -> Iterator[Trigger]:
        """This trigger and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def percentiles(self) -> frozenset[float]:
        """Every watermark percentile that the tree looks at."""
        return frozenset[float]().union(*(child.percentiles() for child in self.children()))

    def signals(self) -> frozenset[str]:
        """The names of the signals that the tree listens to."""
        return frozenset[str]().union(*(child.signals() for child in self.children()))


def check_triggers(name: str, triggers: Sequence[object]) -> None:
    """Refuse a composite of anything but triggers.

    Raises:
        DefinitionError: ``DEFINITION_TRIGGER``.
    """
    wrong = [trigger for trigger in triggers if not isinstance(trigger, Trigger)]
    if wrong or not triggers:
        raise DefinitionError(
            f"{name} needs triggers, got {wrong[0]!r}" if wrong else f"{name} needs at least one trigger",
            hint="write for example Repeat(AtWatermark(97))",
            code="DEFINITION_TRIGGER",
        )
