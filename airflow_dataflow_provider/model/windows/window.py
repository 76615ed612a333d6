"""A window: a half-open interval of event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import CALENDAR, MAX_TIME, MIN_TIME, Micros, iso

Key = tuple[Any, ...]
"""The values of the key columns, in the order in which the grouping names them."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A half-open interval ``[start, end)`` of event time, in microseconds."""

    start: Micros
    end: Micros

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise DefinitionError(f"window [{self.start}, {self.end}) is empty", code="DEFINITION_WINDOW")
        first, last = CALENDAR
        if (self.start < first and self.start != MIN_TIME) or (self.end > last and self.end != MAX_TIME):
            raise DefinitionError(
                f"window [{self.start}, {self.end}) is not in the years 1 to 9999",
                reason="the calendar has no such times, and sums with them could overflow",
                hint="end it within these years, or at MIN_TIME or MAX_TIME, which stand for infinity",
                code="DEFINITION_WINDOW",
            )

    def __str__(self) -> str:
        return f"[{iso(self.start)}, {iso(self.end)})"

    def intersects(self, other: Window) -> bool:
        """Whether the two half-open intervals share an instant; windows that only touch do not."""
        return self.start < other.end and other.start < self.end

    def span(self, other: Window) -> Window:
        """The smallest window that covers both."""
        return Window(min(self.start, other.start), max(self.end, other.end))


GLOBAL_WINDOW = Window(MIN_TIME, MAX_TIME)


def expired_until(watermark: Micros, allowed_lateness: Micros) -> Micros:
    """The border of expiry under a watermark: windows that end at or before it take no more elements."""
    return watermark - allowed_lateness if MIN_TIME < watermark < MAX_TIME else watermark
