"""When in processing time: triggers (Dataflow Model, section 2.3).

A trigger is a frozen value with a small protocol; its state for one key and window is an immutable value that it gets
and gives back. The reference interpreter runs the protocol as it stands; an engine may compile a tree of triggers to
something faster, and is compared with the reference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.watermarks import percentile as checked_percentile
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows import Window

TriggerState = Any
"""What a trigger remembers about one key and window: an immutable value that only the trigger itself reads."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a trigger may look at when it decides.

    ``fresh``: elements have come since the last pane. ``passed``: the percentiles whose watermark had already reached
    the end of the window when the last pane was fired.
    """

    clock: Clock
    window: Window
    fresh: bool
    passed: frozenset[float]


class Trigger(ABC):
    """One answer to *when*. Every method is a pure function of its arguments."""

    __slots__ = ()

    @abstractmethod
    def initial(self) -> TriggerState:
        """The state of a window that has just opened."""

    def on_element(self, state: TriggerState, element: Element, now: Situation) -> TriggerState:  # noqa: ARG002
        """Take note of one element, in arrival order."""
        return state

    def on_merge(self, states: Sequence[TriggerState], now: Situation) -> TriggerState:  # noqa: ARG002
        """The state of a window made of several that merged."""
        return states[0] if states else self.initial()

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
        return None

    def children(self) -> tuple[Trigger, ...]:
        """The parts of a composite."""
        return ()

    def walk(self) -> Iterator[Trigger]:
        """This trigger and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def percentiles(self) -> frozenset[float]:
        """Every watermark percentile that the tree looks at."""
        return frozenset(node.percentile for node in self.walk() if isinstance(node, AtWatermark))


@dataclass(frozen=True, slots=True, repr=False)
class AtWatermark(Trigger):
    """When the watermark of a percentile reaches the end of the window; finishes there.

    The first time it is due even if nothing came since the last pane (that pane says: this is complete). Where the
    watermark had already passed at the last pane, it is due as soon as something new has come.
    """

    percentile: float

    def __init__(self, percentile: float = 100) -> None:
        object.__setattr__(self, "percentile", checked_percentile(percentile, what="AtWatermark percentile"))

    def initial(self) -> None:
        """Nothing to remember."""

    def should_fire(self, state: None, now: Situation) -> bool:  # noqa: ARG002
        """``W_p >= end``, and this is news."""
        complete = now.clock.watermarks.at(self.percentile) >= now.window.end
        return complete and (now.fresh or self.percentile not in now.passed)

    def on_fire(self, state: None, now: Situation) -> tuple[None, bool]:  # noqa: ARG002
        """Once is all."""
        return None, True

    def may_lose_data(self) -> str:
        """Elements later than the watermark have no firing of their own."""
        return f"{self!r} fires once; elements that come later have no firing of their own (wrap it in Repeat)"

    def __repr__(self) -> str:
        return "AtWatermark()" if self.percentile == 100 else f"AtWatermark({percentile_text(self.percentile)})"


@dataclass(frozen=True, slots=True, repr=False)
class Repeat(Trigger):
    """The inner trigger again and again; never finishes."""

    trigger: Trigger

    def __post_init__(self) -> None:
        _check_triggers("Repeat", [self.trigger])

    def initial(self) -> TriggerState:
        """The inner trigger's."""
        return self.trigger.initial()

    def on_element(self, state: TriggerState, element: Element, now: Situation) -> TriggerState:
        """The inner trigger's."""
        return self.trigger.on_element(state, element, now)

    def on_merge(self, states: Sequence[TriggerState], now: Situation) -> TriggerState:
        """The inner trigger's."""
        return self.trigger.on_merge(states, now)

    def should_fire(self, state: TriggerState, now: Situation) -> bool:
        """The inner trigger's."""
        return self.trigger.should_fire(state, now)

    def on_fire(self, state: TriggerState, now: Situation) -> tuple[TriggerState, bool]:
        """An inner trigger that has finished starts again."""
        after, finished = self.trigger.on_fire(state, now)
        return (self.trigger.reset(after) if finished else after), False

    def children(self) -> tuple[Trigger, ...]:
        """The inner trigger."""
        return (self.trigger,)

    def __repr__(self) -> str:
        return f"Repeat({self.trigger!r})"


@dataclass(frozen=True, slots=True, repr=False)
class SequenceOf(Trigger):
    """One trigger after the other; finishes with the last. The state is ``(position, state of that trigger)``."""

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        _check_triggers("SequenceOf", triggers)
        object.__setattr__(self, "triggers", triggers)

    def initial(self) -> tuple[int, TriggerState]:
        """At the first trigger."""
        return 0, self.triggers[0].initial()

    def on_element(self, state: tuple[int, TriggerState], element: Element, now: Situation) -> tuple[int, TriggerState]:
        """Only the trigger whose turn it is sees the element."""
        at, inner = state
        return (at, self.triggers[at].on_element(inner, element, now)) if at < len(self.triggers) else state

    def on_merge(self, states: Sequence[tuple[int, TriggerState]], now: Situation) -> tuple[int, TriggerState]:
        """The window that has come least far decides, so that no firing is skipped."""
        if not states:
            return self.initial()
        at = min(position for position, _ in states)
        if at == len(self.triggers):
            return at, None
        return at, self.triggers[at].on_merge([inner for position, inner in states if position == at], now)

    def should_fire(self, state: tuple[int, TriggerState], now: Situation) -> bool:
        """When the trigger whose turn it is says so."""
        at, inner = state
        return at < len(self.triggers) and self.triggers[at].should_fire(inner, now)

    def on_fire(self, state: tuple[int, TriggerState], now: Situation) -> tuple[tuple[int, TriggerState], bool]:
        """On to the next trigger when this one has finished."""
        at, inner = state
        after, finished = self.triggers[at].on_fire(inner, now)
        if not finished:
            return (at, after), False
        at += 1
        return (at, self.triggers[at].initial() if at < len(self.triggers) else None), at == len(self.triggers)

    def may_lose_data(self) -> str | None:
        """What the last trigger answers; but where one never finishes, none after it ever has its turn."""
        reasons = [trigger.may_lose_data() for trigger in self.triggers]
        return None if None in reasons else reasons[-1]

    def children(self) -> tuple[Trigger, ...]:
        """The triggers in their order."""
        return self.triggers

    def __repr__(self) -> str:
        return f"SequenceOf({', '.join(map(repr, self.triggers))})"


def _check_triggers(name: str, triggers: Sequence[object]) -> None:
    wrong = [trigger for trigger in triggers if not isinstance(trigger, Trigger)]
    if wrong or not triggers:
        raise DefinitionError(
            f"{name} needs triggers, got {wrong[0]!r}" if wrong else f"{name} needs at least one trigger",
            todo="write for example Repeat(AtWatermark(97))",
            code="DEFINITION_TRIGGER",
        )
