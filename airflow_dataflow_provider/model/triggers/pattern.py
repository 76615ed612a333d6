"""AtPattern: a regular sequence of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.predicates import Predicate, predicate
from airflow_dataflow_provider.model.triggers.trigger import Situation, Trigger

_LONGEST = 62


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """A part of a pattern: elements that a predicate matches.

    Attributes:
        predicate: matches each of the elements.
        optional: whether there may be none.
        repeated: whether there may be several.
    """

    predicate: Predicate
    optional: bool = False
    repeated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", predicate(self.predicate))

    def __repr__(self) -> str:
        match self.optional, self.repeated:
            case False, False:
                return repr(self.predicate)
            case False, True:
                return f"one_or_more({self.predicate!r})"
            case True, False:
                return f"optional({self.predicate!r})"
            case _:
                return f"zero_or_more({self.predicate!r})"


def one_or_more(of: Predicate) -> Step:
    """One or more elements that match."""
    return Step(of, repeated=True)


def optional(of: Predicate) -> Step:
    """At most one element that matches."""
    return Step(of, optional=True)


def zero_or_more(of: Predicate) -> Step:
    """Any number of elements that match."""
    return Step(of, optional=True, repeated=True)


@dataclass(frozen=True, slots=True, repr=False)
class AtPattern(Trigger):
    """Fires with the element that completes a regular sequence within one key and window, in arrival order.

    ``AtPattern(column("kind") == "view", one_or_more(column("kind") == "click"), column("kind") == "buy")``.

    A match may begin with any element. The state is the set of steps that matches have reached, as a bit mask: bit
    ``i`` is set if a match in progress has taken its last element at step ``i``; the bit above the last step is set if
    a match is complete.

    Args:
        steps: predicates, or steps made by :func:`one_or_more`, :func:`optional` and :func:`zero_or_more`; at most 62.
        gaps: whether elements that fit no step may lie between those of a match (skip till next match). By default the
            elements of a match follow each other directly.
    """

    steps: tuple[Step, ...]
    gaps: bool = False
    looks_at_elements = True

    def __init__(self, *steps: Step | Predicate, gaps: bool = False) -> None:
        made = tuple(step if isinstance(step, Step) else Step(step) for step in steps)
        if not made or len(made) > _LONGEST or all(step.optional for step in made):
            raise DefinitionError(
                f"AtPattern of {len(made)} steps is not a pattern",
                reason="it must have 1 to 62 steps, at least one of which is not optional",
                hint='write AtPattern(column("kind") == "view", column("kind") == "buy")',
                code="DEFINITION_TRIGGER",
            )
        object.__setattr__(self, "steps", made)
        object.__setattr__(self, "gaps", bool(gaps))

    @property
    def complete(self) -> int:
        """The bit of a complete match."""
        return 1 << len(self.steps)

    def reaches(self, at: int) -> list[int]:
        """The steps that the next element may take, for a match whose last element was taken at this step.

        -1 stands for a match that has not begun. ``len(steps)`` in the result means that the match can be complete.
        """
        found = [at] if at >= 0 and self.steps[at].repeated else []
        for after in range(at + 1, len(self.steps) + 1):
            found.append(after)
            if after == len(self.steps) or not self.steps[after].optional:
                break
        return found

    def advance(self, state: int, fits: Sequence[bool]) -> int:
        """The state after one element; ``fits`` tells for each step whether it matches the element."""
        after = state & self.complete
        for at in (-1, *(step for step in range(len(self.steps)) if state & (1 << step))):
            for step in self.reaches(at):
                if step < len(self.steps) and fits[step]:
                    after |= 1 << step
                    if len(self.steps) in self.reaches(step):
                        after |= self.complete
        if self.gaps:
            after |= state
        return after

    def initial(self) -> int:
        return 0

    def on_element(self, state: int, element: Element, now: Situation) -> int:  # noqa: ARG002
        return self.advance(state, [step.predicate.matches(element.row) for step in self.steps])

    def on_merge(self, states: Sequence[int], now: Situation) -> int:  # noqa: ARG002
        """Keep the matches in progress of all states."""
        merged = 0
        for state in states:
            merged |= state
        return merged

    def should_fire(self, state: int, now: Situation) -> bool:
        return bool(state & self.complete) or now.is_left_over

    def on_fire(self, state: int, now: Situation) -> tuple[int, bool]:  # noqa: ARG002
        return 0, True  # matches do not overlap

    def may_never_fire(self) -> str:
        return f"{self!r} waits for a sequence of elements that may never come"

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for step in self.steps for name in step.predicate.columns()))

    def __repr__(self) -> str:
        gaps = ", gaps=True" if self.gaps else ""
        return f"AtPattern({', '.join(map(repr, self.steps))}{gaps})"
