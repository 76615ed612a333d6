"""What goes into the reference interpreter, and what comes out of it beside panes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Micros, iso
from airflow_dataflow_provider.model.windows import Window


@dataclass(frozen=True, slots=True)
class Epoch:
    """A clock, and the elements that are looked at under it, in arrival order.

    Attributes:
        clock: what triggers look at; it stands still for the whole epoch.
        elements: none for a clock-only epoch.
        horizon: the ``W_100`` by which elements are late or expired and windows expire; by default the clock's own. It
            is behind the clock only at the end of a batch's input: every window fires, and those that a later run may
            still add to stay open.

    Raises:
        DefinitionError: ``DEFINITION_EPOCH`` for a horizon ahead of the clock: it would expire windows unseen.
    """

    clock: Clock
    elements: tuple[Element, ...]
    horizon: Micros

    def __init__(self, clock: Clock, elements: Iterable[Element] = (), horizon: Micros | None = None) -> None:
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "elements", tuple(elements))
        object.__setattr__(self, "horizon", clock.watermark if horizon is None else horizon)
        if self.horizon > clock.watermark:
            raise DefinitionError(
                f"the horizon {iso(self.horizon)} is ahead of the watermark {iso(clock.watermark)}",
                reason="windows would expire before they are complete",
                hint="leave it out: it is then the watermark",
                code="DEFINITION_EPOCH",
            )


@dataclass(frozen=True, slots=True)
class ExpiredElement:
    """An element that came after its window had expired: an output of its own, never a silent drop.

    Attributes:
        element: as it came.
        window: the expired window; where windows merge, the one that it would have become part of.
        watermark: the horizon by which it was judged.
        delay: arrival minus event time, in microseconds.
    """

    element: Element
    window: Window
    watermark: Micros
    delay: Micros


@dataclass(frozen=True, slots=True)
class Counts:
    """Elements so far. One that has several windows counts once as read, and for each of them as late or expired."""

    read: int = 0
    late: int = 0
    expired: int = 0
