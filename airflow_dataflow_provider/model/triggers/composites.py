"""Composite triggers. Their state is made of the states of their children; they nest to any depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.triggers.trigger import Situation, Trigger, TriggerState, check_triggers

States = tuple[TriggerState, ...]


class Composite(Trigger):
    """A trigger made of others."""

    __slots__ = ()

    @property
    def looks_at_elements(self) -> bool:  # type: ignore[override]  # it depends on the children
        """Whether one of its children does."""
        return any(child.looks_at_elements for child in self.children())


@dataclass(frozen=True, slots=True, repr=False)
class Repeat(Composite):
    """Fires with the inner trigger again and again, and never finishes."""

    trigger: Trigger

    def __post_init__(self) -> None:
        check_triggers("Repeat", [self.trigger])

    def initial(self) -> TriggerState:
        return self.trigger.initial()

    def on_element(self, state: TriggerState, element: Element, now: Situation) -> TriggerState:
        return self.trigger.on_element(state, element, now)

    def on_clock(self, state: TriggerState, now: Situation) -> TriggerState:
        return self.trigger.on_clock(state, now)

    def on_merge(self, states: Sequence[TriggerState], now: Situation) -> TriggerState:
        return self.trigger.on_merge(states, now)

    def should_fire(self, state: TriggerState, now: Situation) -> bool:
        return self.trigger.should_fire(state, now)

    def on_fire(self, state: TriggerState, now: Situation) -> tuple[TriggerState, bool]:
        """Restart the inner trigger if it has finished."""
        after, finished = self.trigger.on_fire(state, now)
        return (self.trigger.reset(after) if finished else after), False

    def may_lose_data(self) -> None:
        """None: it always fires again."""

    def may_never_fire(self) -> str | None:
        return self.trigger.may_never_fire()

    def children(self) -> tuple[Trigger, ...]:
        return (self.trigger,)

    def __repr__(self) -> str:
        return f"Repeat({self.trigger!r})"


class _Parallel(Composite):
    """Triggers that are evaluated side by side. The state has one part for each."""

    __slots__ = ()

    def initial(self) -> States:
        return tuple(child.initial() for child in self.children())

    def on_element(self, state: States, element: Element, now: Situation) -> States:
        parts = zip(self.children(), state, strict=True)
        return tuple(child.on_element(part, element, now) for child, part in parts)

    def on_clock(self, state: States, now: Situation) -> States:
        return tuple(child.on_clock(part, now) for child, part in zip(self.children(), state, strict=True))

    def on_merge(self, states: Sequence[States], now: Situation) -> States:
        return tuple(
            child.on_merge([state[index] for state in states], now) for index, child in enumerate(self.children())
        )

    def _due(self, state: States, now: Situation) -> list[bool]:
        return [child.should_fire(part, now) for child, part in zip(self.children(), state, strict=True)]


@dataclass(frozen=True, slots=True, repr=False)
class RepeatUntil(_Parallel):
    """Fires with the first trigger again and again, until the second is due: that is the last firing."""

    trigger: Trigger
    until: Trigger

    def __post_init__(self) -> None:
        check_triggers("RepeatUntil", [self.trigger, self.until])

    def should_fire(self, state: States, now: Situation) -> bool:
        return any(self._due(state, now))

    def on_fire(self, state: States, now: Situation) -> tuple[States, bool]:
        """Finish if the second trigger is due; otherwise restart the first if it has finished."""
        first, second = state
        if self.until.should_fire(second, now):
            return state, True
        after, finished = self.trigger.on_fire(first, now)
        return (self.trigger.reset(after) if finished else after, second), False

    def may_never_fire(self) -> str | None:
        reasons = [child.may_never_fire() for child in self.children()]
        return None if None in reasons else reasons[0]

    def children(self) -> tuple[Trigger, ...]:
        return (self.trigger, self.until)

    def __repr__(self) -> str:
        return f"RepeatUntil({self.trigger!r}, {self.until!r})"


@dataclass(frozen=True, slots=True, repr=False)
class AnyOf(_Parallel):
    """Fires when one of its triggers is due, and finishes as soon as one of them finishes."""

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        check_triggers("AnyOf", triggers)
        object.__setattr__(self, "triggers", triggers)

    def should_fire(self, state: States, now: Situation) -> bool:
        return any(self._due(state, now))

    def on_fire(self, state: States, now: Situation) -> tuple[States, bool]:
        """Fire the triggers that are due; the others keep their states."""
        after, finished = [], False
        for child, part, due in zip(self.triggers, state, self._due(state, now), strict=True):
            if due:
                part, ended = child.on_fire(part, now)  # noqa: PLW2901
                finished |= ended
            after.append(part)
        return tuple(after), finished

    def may_lose_data(self) -> str | None:
        """The reason of the first that has one: it finishes when one of them does."""
        return next((reason for child in self.triggers if (reason := child.may_lose_data())), None)

    def may_never_fire(self) -> str | None:
        """A reason only if all of them have one."""
        reasons = [child.may_never_fire() for child in self.triggers]
        return None if None in reasons else reasons[0]

    def children(self) -> tuple[Trigger, ...]:
        return self.triggers

    def __repr__(self) -> str:
        return f"AnyOf({', '.join(map(repr, self.triggers))})"


@dataclass(frozen=True, slots=True, repr=False)
class AllOf(_Parallel):
    """Fires when all of its triggers are due; those that have finished count as due. It finishes when all have.

    The state is ``(finished, part)`` for each.
    """

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        check_triggers("AllOf", triggers)
        object.__setattr__(self, "triggers", triggers)

    def initial(self) -> States:
        return tuple((False, child.initial()) for child in self.triggers)

    def on_element(self, state: States, element: Element, now: Situation) -> States:
        parts = zip(self.triggers, state, strict=True)
        return tuple((done, part if done else child.on_element(part, element, now)) for child, (done, part) in parts)

    def on_clock(self, state: States, now: Situation) -> States:
        parts = zip(self.triggers, state, strict=True)
        return tuple((done, part if done else child.on_clock(part, now)) for child, (done, part) in parts)

    def on_merge(self, states: Sequence[States], now: Situation) -> States:
        """A part is finished if it is in all states; otherwise those that are not finished merge."""
        merged: list[tuple[bool, TriggerState]] = []
        for index, child in enumerate(self.triggers):
            going = [state[index][1] for state in states if not state[index][0]]
            merged.append((False, child.on_merge(going, now)) if going else states[0][index])
        return tuple(merged)

    def should_fire(self, state: States, now: Situation) -> bool:
        """Whether all that have not finished are due, and there is at least one."""
        going = [
            child.should_fire(part, now) for child, (done, part) in zip(self.triggers, state, strict=True) if not done
        ]
        return bool(going) and all(going)

    def on_fire(self, state: States, now: Situation) -> tuple[States, bool]:
        after: list[tuple[bool, TriggerState]] = []
        for child, (done, part) in zip(self.triggers, state, strict=True):
            if done:
                after.append((done, part))
            else:
                noted, ended = child.on_fire(part, now)
                after.append((ended, noted))
        return tuple(after), all(done for done, _ in after)

    def may_lose_data(self) -> str | None:
        """A reason only if all of them have one."""
        reasons = [child.may_lose_data() for child in self.triggers]
        return None if None in reasons else reasons[0]

    def may_never_fire(self) -> str | None:
        """The reason of the first that has one: it fires only when all are due."""
        return next((reason for child in self.triggers if (reason := child.may_never_fire())), None)

    def children(self) -> tuple[Trigger, ...]:
        return self.triggers

    def __repr__(self) -> str:
        return f"AllOf({', '.join(map(repr, self.triggers))})"


@dataclass(frozen=True, slots=True, repr=False)
class SequenceOf(Composite):
    """Fires with one trigger after the other, and finishes with the last.

    The state is ``(position, state of that trigger)``.
    """

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        check_triggers("SequenceOf", triggers)
        object.__setattr__(self, "triggers", triggers)

    def initial(self) -> tuple[int, TriggerState]:
        return 0, self.triggers[0].initial()

    def on_element(self, state: tuple[int, TriggerState], element: Element, now: Situation) -> tuple[int, TriggerState]:
        at, inner = state
        return (at, self.triggers[at].on_element(inner, element, now)) if at < len(self.triggers) else state

    def on_clock(self, state: tuple[int, TriggerState], now: Situation) -> tuple[int, TriggerState]:
        at, inner = state
        return (at, self.triggers[at].on_clock(inner, now)) if at < len(self.triggers) else state

    def on_merge(self, states: Sequence[tuple[int, TriggerState]], now: Situation) -> tuple[int, TriggerState]:
        """Take the least position, so that no firing is skipped."""
        at = min(position for position, _ in states)
        if at == len(self.triggers):
            return at, None
        return at, self.triggers[at].on_merge([inner for position, inner in states if position == at], now)

    def should_fire(self, state: tuple[int, TriggerState], now: Situation) -> bool:
        at, inner = state
        return at < len(self.triggers) and self.triggers[at].should_fire(inner, now)

    def on_fire(self, state: tuple[int, TriggerState], now: Situation) -> tuple[tuple[int, TriggerState], bool]:
        """Go to the next trigger if this one has finished."""
        at, inner = state
        after, finished = self.triggers[at].on_fire(inner, now)
        if not finished:
            return (at, after), False
        at += 1
        return (at, self.triggers[at].initial() if at < len(self.triggers) else None), at == len(self.triggers)

    def may_lose_data(self) -> str | None:
        """The reason of the last trigger; None if one of them never finishes, since those after it never start."""
        reasons = [trigger.may_lose_data() for trigger in self.triggers]
        return None if None in reasons else reasons[-1]

    def may_never_fire(self) -> str | None:
        return self.triggers[0].may_never_fire()

    def children(self) -> tuple[Trigger, ...]:
        return self.triggers

    def __repr__(self) -> str:
        return f"SequenceOf({', '.join(map(repr, self.triggers))})"
