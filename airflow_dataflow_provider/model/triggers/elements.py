"""Triggers on elements: counts, bytes, punctuation. They are evaluated for each element, in arrival order.

When the input ends they are due for all unpublished elements: no more elements come, and a batch publishes all that it
has read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.predicates import Predicate, predicate
from airflow_dataflow_provider.model.triggers.trigger import Situation, Trigger


def _at_least_one(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DefinitionError(
            f"{what}({value!r}) needs a whole number of at least 1",
            hint=f"write {what}(100)",
            code="DEFINITION_TRIGGER",
        )
    return value


@dataclass(frozen=True, slots=True, repr=False)
class AtCount(Trigger):
    """Fires with the ``n``-th element since the trigger started.

    The state is the count.
    """

    n: int
    looks_at_elements = True

    def __post_init__(self) -> None:
        _at_least_one(self.n, "AtCount")

    def initial(self) -> int:
        return 0

    def on_element(self, state: int, element: Element, now: Situation) -> int:  # noqa: ARG002
        return state + 1

    def on_merge(self, states: Sequence[int], now: Situation) -> int:  # noqa: ARG002
        return sum(states)

    def should_fire(self, state: int, now: Situation) -> bool:
        return state >= self.n or now.is_left_over

    def on_fire(self, state: int, now: Situation) -> tuple[int, bool]:  # noqa: ARG002
        return 0, True

    def __repr__(self) -> str:
        return f"AtCount({self.n})"


@dataclass(frozen=True, slots=True, repr=False)
class AtBytes(Trigger):
    """Fires with the element that brings the bytes since the trigger started to ``n``.

    The state is the number of bytes. An element has the bytes of its ``measured`` columns: 8 for a number or a time, 1
    for a boolean, the UTF-8 length of text, the length of binary data, 0 for a null.

    Args:
        n: the number of bytes.
        measured: the columns that are measured, e.g. ``"payload"``.
    """

    n: int
    measured: tuple[str, ...]
    looks_at_elements = True

    def __init__(self, n: int, *measured: str) -> None:
        object.__setattr__(self, "n", _at_least_one(n, "AtBytes"))
        if not measured or not all(isinstance(name, str) and name for name in measured):
            raise DefinitionError(
                f"AtBytes({n}) needs the columns that it measures",
                hint=f'write AtBytes({n}, "payload")',
                code="DEFINITION_TRIGGER",
            )
        object.__setattr__(self, "measured", measured)

    def initial(self) -> int:
        return 0

    def on_element(self, state: int, element: Element, now: Situation) -> int:  # noqa: ARG002
        return state + sum(weight(element.row.get(name)) for name in self.measured)

    def on_merge(self, states: Sequence[int], now: Situation) -> int:  # noqa: ARG002
        return sum(states)

    def should_fire(self, state: int, now: Situation) -> bool:
        return state >= self.n or now.is_left_over

    def on_fire(self, state: int, now: Situation) -> tuple[int, bool]:  # noqa: ARG002
        return 0, True

    def columns(self) -> tuple[str, ...]:
        return self.measured

    def __repr__(self) -> str:
        return f"AtBytes({self.n}, {', '.join(map(repr, self.measured))})"


def weight(value: object) -> int:
    """The bytes of one value (see :class:`AtBytes`)."""
    match value:
        case None:
            return 0
        case bool():
            return 1
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case _:
            return 8


@dataclass(frozen=True, slots=True, repr=False)
class AtPunctuation(Trigger):
    """Fires with an element that a predicate matches. The element is part of the pane.

    Args:
        predicate: ``column("status") == "END"``, or a Python function of the row, which is slow.
    """

    predicate: Predicate
    looks_at_elements = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicate", predicate(self.predicate))

    def initial(self) -> bool:
        return False

    def on_element(self, state: bool, element: Element, now: Situation) -> bool:  # noqa: ARG002
        return state or self.matches(element.row)

    def matches(self, row: Mapping[str, Any]) -> bool:
        return self.predicate.matches(row)

    def on_merge(self, states: Sequence[bool], now: Situation) -> bool:  # noqa: ARG002
        return any(states)

    def should_fire(self, state: bool, now: Situation) -> bool:
        return state or now.is_left_over

    def on_fire(self, state: bool, now: Situation) -> tuple[bool, bool]:  # noqa: ARG002
        return False, True

    def may_never_fire(self) -> str:
        return f"{self!r} waits for an element that may never come"

    def columns(self) -> tuple[str, ...]:
        return self.predicate.columns()

    def __repr__(self) -> str:
        return f"AtPunctuation({self.predicate!r})"
