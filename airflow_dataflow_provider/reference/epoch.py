"""The input of the reference interpreter, and its output besides panes."""

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
    """A clock, and the elements that are processed under it, in arrival order.

    Attributes:
        clock: the clock that triggers see; it is fixed for the whole epoch.
        elements: none for a clock-only epoch.
        horizon: the ``W_100`` by which elements are late or expired and windows expire; by default the clock's own. It
            is behind the clock only at the end of a batch's input: every window fires, but a window that a later run
            may add to stays open.

    Raises:
        DefinitionError: ``DEFINITION_EPOCH`` for a horizon ahead of the clock: windows would expire without a pane.
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
    """An element that came after its window had expired. It is an output, and never dropped silently.

    Attributes:
        element: the element.
        window: the expired window; where windows merge, the window that it would have become part of.
        watermark: the horizon by which the window has expired.
        delay: arrival minus event time, in microseconds.
    """

    element: Element
    window: Window
    watermark: Micros
    delay: Micros


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of elements. An element with several windows counts once as read, and as late or expired for each."""

    read: int = 0
    late: int = 0
    expired: int = 0
