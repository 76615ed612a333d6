"""Triggers in words, nested to any depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from airflow_dataflow_provider.cli.words.plain import mark, ordinal, series
from airflow_dataflow_provider.cli.words.predicates import condition
from airflow_dataflow_provider.model.time import duration_text
from airflow_dataflow_provider.model.triggers import (
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
)
from airflow_dataflow_provider.model.triggers.pattern import Step

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Clause:
    """When a trigger is due.

    Attributes:
        once: for a single firing.
        again: for one firing after the other; where None, ``once`` with "again and again" before it.
        parts: what a composite is made of, where a clause alone would not say how it nests.
        weight: 0 for what cannot be misread inside another clause, 1 with commas, 2 with semicolons, 3 for an outline.
    """

    once: str
    again: str | None = None
    parts: tuple[Clause, ...] = ()
    weight: int = 0

    @property
    def repeated(self) -> Clause:
        """The same, again and again."""
        return Clause(self.again or f"again and again: {self.once}", None, self.parts, max(self.weight, self._least))

    @property
    def _least(self) -> int:
        return 0 if self.again else 2

    def after(self, word: str) -> Clause:
        """With a word before it."""
        return Clause(f"{word}{self.once}", None, self.parts, self.weight)

    def lines(self, depth: int = 0) -> list[str]:
        """An outline: what is indented belongs to the line above."""
        return [_INDENT * depth + self.once, *(line for part in self.parts for line in part.lines(depth + 1))]


def trigger_lines(trigger: Trigger) -> list[str]:
    """When a trigger fires: one clause, or an outline where it nests deeper than a clause can say."""
    said = clause(trigger)
    return (said.after("once, ") if not trigger.children() else said).lines()


def trigger_words(trigger: Trigger) -> str:
    """When a trigger fires, on one line."""
    return " ".join(line.strip() for line in trigger_lines(trigger))


@singledispatch
def clause(trigger: Trigger) -> Clause:
    """When it is due; a trigger of the user's own says no more than its code."""
    asked = "after each element and at the end of an epoch" if trigger.looks_at_elements else "at the end of an epoch"
    said = f"when {trigger!r} says so (the user's own trigger, asked {asked})"
    return Clause(said, said)


# Those that look at clocks


@clause.register
def _(trigger: AtWatermark) -> Clause:
    reached = f"when {mark(trigger.percentile)} reaches the end of the window"
    return Clause(reached, f"{reached}, and from then on in every epoch that brings the window something new")


@clause.register
def _(trigger: AtPeriod) -> Clause:
    later = f", {duration_text(trigger.offset)} later," if trigger.offset else ""
    ticks = f"multiple of {duration_text(trigger.period)} of processing time{later} that finds something new"
    return Clause(f"on the first {ticks}", f"on every {ticks}")


@clause.register
def _(trigger: AfterDelay) -> Clause:
    said = f"{duration_text(trigger.delay)} of processing time after the first element that no pane has yet arrived"
    return Clause(said, said)


@clause.register
def _(_trigger: AtEpoch) -> Clause:
    return Clause("in the first epoch that brings something new", "in every epoch that brings something new")


@clause.register
def _(trigger: AtSignal) -> Clause:
    return Clause(
        f"when the signal {trigger.name!r} is raised and finds something new",
        f"each time that the signal {trigger.name!r} is raised and finds something new",
    )


# Those that look at elements


@clause.register
def _(trigger: AtCount) -> Clause:
    every = "every element" if trigger.n == 1 else f"every {ordinal(trigger.n)} element"
    return Clause(f"with the {ordinal(trigger.n)} element", f"with {every}")


@clause.register
def _(trigger: AtBytes) -> Clause:
    said = f"with the element that brings the bytes of {series(trigger.measured)} to {trigger.n:,}"
    return Clause(said, f"{said}, counted anew after each firing")


@clause.register
def _(trigger: AtPunctuation) -> Clause:
    where = f"element where {condition(trigger.predicate)}"
    return Clause(f"with the first {where}", f"with every {where}")


@clause.register
def _(trigger: AtPattern) -> Clause:
    gaps = "others may lie between" if trigger.gaps else "directly one after the other"
    said = f"element that completes this sequence ({gaps}): {' > '.join(map(_step, trigger.steps))}"
    return Clause(f"with the first {said}", f"with every {said}")


def _step(step: Step) -> str:
    several = {
        (False, True): "one or more where ",
        (True, False): "one or none where ",
        (True, True): "any number where ",
    }
    return f"[{several.get((step.optional, step.repeated), '')}{condition(step.predicate)}]"


# Composites


@clause.register
def _(trigger: Repeat) -> Clause:
    inner = clause(trigger.trigger)
    if isinstance(trigger.trigger, Repeat):
        return inner
    return inner.repeated


@clause.register
def _(trigger: RepeatUntil) -> Clause:
    again, until = clause(Repeat(trigger.trigger)), clause(trigger.until)
    if _inline([again, until], 0):
        return Clause(f"{again.once}, until it fires for the last time {until.once}", weight=1)
    parts = (again, until.after("the last: "))
    return Clause("until something else is due, which then is the last firing:", parts=parts, weight=3)


@clause.register
def _(trigger: AnyOf) -> Clause:
    parts = [clause(child) for child in trigger.triggers]
    if _inline(parts, 0):
        which = "whichever is first" if _all_finish(trigger) else "whenever one of them is due"
        any_of = f"{' or '.join(part.once for part in parts)}, {which}"
        return Clause(any_of, f"again and again{_anew(trigger)}: {any_of}", weight=1)
    one = "when one of these is due:"
    return Clause(one, f"again and again{_anew(trigger)}, {one}", tuple(parts), weight=3)


@clause.register
def _(trigger: AllOf) -> Clause:
    parts = [clause(child) for child in trigger.triggers]
    if _inline(parts, 0):
        which = "whichever is last" if _all_finish(trigger) else "whenever all of them are due"
        all_of = f"{' and '.join(part.once for part in parts)}, {which}"
        return Clause(all_of, f"again and again{_anew(trigger)}: {all_of}", weight=1)
    every = "when all of these are due, or have finished:"
    return Clause(every, f"again and again{_anew(trigger)}, {every}", tuple(parts), weight=3)


@clause.register
def _(trigger: SequenceOf) -> Clause:
    parts = [clause(child) for child in trigger.triggers]
    turns = [part.after("first " if number == 0 else "then ") for number, part in enumerate(parts)]
    if _inline(parts, 1):
        return Clause("; ".join(turn.once for turn in turns), weight=2)
    return Clause("one after the other:", "again and again, one after the other:", tuple(turns), weight=3)


def _all_finish(trigger: Trigger) -> bool:
    """Whether each part finishes with its first firing, as the leaves that we know do."""
    parts = trigger.children()
    return all(not part.children() and clause.dispatch(type(part)) is not clause.dispatch(Trigger) for part in parts)


def _anew(trigger: Trigger) -> str:
    return ", each time anew" if _all_finish(trigger) else ""


def _inline(parts: Sequence[Clause], most: int) -> bool:
    return all(part.weight <= most for part in parts)


def moments(trigger: Trigger) -> str:
    """At which moments of an epoch it is asked."""
    if not trigger.looks_at_elements:
        return "at the end of an epoch an open window publishes one pane at most"
    leaves = [node for node in trigger.walk() if not node.children()]
    clocks = (
        "" if all(leaf.looks_at_elements for leaf in leaves) else " and, about clocks, before the first and at the end"
    )
    return (
        f"an open window is asked after each element of an epoch{clocks}; elements come in arrival order, so that its "
        "panes do not depend on how they were cut into epochs"
    )
