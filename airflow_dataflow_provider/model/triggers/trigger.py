"""The protocol of triggers.

A trigger is a frozen value. Its state for one key and window is an immutable value that its methods take and return.
The reference interpreter runs the protocol. An engine may compile a tree of triggers, and is compared with the
reference.

An epoch evaluates the trigger of a window at two kinds of moments. After each element, in arrival order, it evaluates
triggers that look at elements; those that look at clocks are not due then. At the boundary, when the epoch's elements
are in, it evaluates all of them. A tree that looks at elements is also evaluated at the boundary *before* the epoch's
elements, so that its firings do not depend on how the elements were cut into epochs. When a pane is fired, every part
of the tree is evaluated, those that look at clocks too, and each part that is due is told by :meth:`Trigger.on_fire`.
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
    """The input of a trigger's decision.

    Attributes:
        clock: the clock of the epoch.
        window: the window of the pane.
        first_arrival: the earliest arrival time of the elements since the last pane; None if there are none.
        passed: the percentiles whose watermark had already reached the end of the window when the last pane was fired.
        at_boundary: whether this is an epoch boundary, at which clocks are looked at.
        is_firing: whether a pane is being fired. Clocks are looked at then, too, so that a part that is due by the
            clock is told of a pane that an element made due.
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
    """Decides when a window publishes a pane. Every method is a pure function of its arguments.

    A trigger that is due must stay due until a pane is fired; composites depend on it.
    """

    __slots__ = ()

    looks_at_elements: bool = False
    """Whether single elements can make it due. Engines then evaluate it for each element in arrival order."""

    looks_at_processing_time: bool = False
    """Whether processing time (``Clock.timers``) can make it due. It is False for a composite itself."""

    @abstractmethod
    def initial(self) -> TriggerState:
        """The state of a window that has just opened."""

    def on_element(self, state: TriggerState, element: Element, now: Situation) -> TriggerState:  # noqa: ARG002
        """The state after one element, in arrival order. A retraction is an element, too."""
        return state

    def on_clock(self, state: TriggerState, now: Situation) -> TriggerState:  # noqa: ARG002
        """The state after the epoch's clock is read, at a boundary, before :meth:`should_fire`."""
        return state

    def on_merge(self, states: Sequence[TriggerState], now: Situation) -> TriggerState:  # noqa: ARG002
        """The state of a window that several windows (at least one) have merged into."""
        return states[0]

    @abstractmethod
    def should_fire(self, state: TriggerState, now: Situation) -> bool:
        """Whether a pane is due."""

    @abstractmethod
    def on_fire(self, state: TriggerState, now: Situation) -> tuple[TriggerState, bool]:
        """The state after a pane is fired, and whether the trigger has finished: it will not fire again."""

    def reset(self, state: TriggerState) -> TriggerState:  # noqa: ARG002
        """The state of a restart within the same window."""
        return self.initial()

    def may_lose_data(self) -> str | None:
        """Why elements could come after the last firing, or None. They are published when the window expires."""
        return f"{self!r} can finish, and elements that come later are published only when their window expires"

    def may_never_fire(self) -> str | None:
        """Why the global window could stay without a pane although it has elements, or None."""
        return None

    def children(self) -> tuple[Trigger, ...]:
        """The parts of a composite."""
        return ()

    def columns(self) -> tuple[str, ...]:
        """The input columns that the tree reads."""
        return tuple(dict.fromkeys(name for child in self.children() for name in child.columns()))

    def walk(self) -> Iterator[Trigger]:
        """This trigger and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def percentiles(self) -> frozenset[float]:
        """The watermark percentiles that the tree uses."""
        return frozenset[float]().union(*(child.percentiles() for child in self.children()))

    def signals(self) -> frozenset[str]:
        """The names of the signals that the tree waits for."""
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
