"""Sliding windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text
from airflow_dataflow_provider.model.windows.fixed import positive
from airflow_dataflow_provider.model.windows.strategy import NO_ROW, WindowStrategy
from airflow_dataflow_provider.model.windows.window import Key, Window


@dataclass(frozen=True, slots=True, repr=False)
class SlidingWindows(WindowStrategy):
    """Windows of one size that start every period: ``[offset + k * period, offset + k * period + size)``.

    With a period below the size, windows overlap, and an element is in several. With a period above the size there are
    gaps; an element in a gap is in no window, and is read and counted, but part of no result.

    Args:
        size: the length, e.g. ``"5m"``; positive.
        period: from one start to the next, e.g. ``"1m"``; positive.
        offset: moves every border; taken modulo the period.
    """

    size: Micros
    period: Micros
    offset: Micros = 0

    def __init__(self, size: Duration, period: Duration, offset: Duration = 0) -> None:
        object.__setattr__(self, "size", positive(size, "SlidingWindows size"))
        step = positive(period, "SlidingWindows period")
        object.__setattr__(self, "period", step)
        object.__setattr__(self, "offset", duration(offset, what="SlidingWindows offset") % step)

    @property
    def slice(self) -> Micros:
        """The greatest common divisor of size and period: all elements of one slice have the same windows."""
        return gcd(self.size, self.period)

    @property
    def longest(self) -> Micros:
        return self.size

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> list[Window]:  # noqa: ARG002
        """Every window around the time, earliest first."""
        last = event_time - (event_time - self.offset) % self.period
        overlapping = range(last, event_time - self.size, -self.period)
        return [Window(start, start + self.size) for start in reversed(overlapping)]

    def __repr__(self) -> str:
        offset = f", offset={duration_text(self.offset)!r}" if self.offset else ""
        return f"SlidingWindows({duration_text(self.size)!r}, {duration_text(self.period)!r}{offset})"
