"""Where in event time: windows and the strategies that assign them (Dataflow Model, section 2.2).

Every strategy is unaligned in the model: it assigns windows to one element at a time, and may merge them per key. An
engine is free to use that a strategy is :attr:`~WindowStrategy.aligned`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Duration, Micros, duration, duration_text, iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A half-open interval ``[start, end)`` of event time, in microseconds."""

    start: Micros
    end: Micros

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise DefinitionError(f"window [{self.start}, {self.end}) is empty", code="DEFINITION_WINDOW")

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


class WindowStrategy(ABC):
    """How elements get their windows: the paper's ``AssignWindows`` and ``MergeWindows``."""

    __slots__ = ()

    aligned: bool = True
    """Whether a window's bounds depend on the event time alone, not on the key or on other elements."""

    @abstractmethod
    def assign(self, event_time: Micros) -> Sequence[Window]:
        """The windows of an element at this time."""

    def merge(self, windows: Iterable[Window]) -> Sequence[tuple[Window, frozenset[Window]]]:
        """What one key's open windows become: each result with the windows it is made of. By default, themselves."""
        return [(window, frozenset({window})) for window in windows]


@dataclass(frozen=True, slots=True, repr=False)
class FixedWindows(WindowStrategy):
    """Windows of one size, side by side: ``[offset + k * size, offset + (k + 1) * size)``.

    Args:
        size: the length, e.g. ``"1h"``; positive.
        offset: moves every border; taken modulo the size.
    """

    size: Micros
    offset: Micros = 0

    def __init__(self, size: Duration, offset: Duration = 0) -> None:
        length = duration(size, what="FixedWindows size")
        if length <= 0:
            raise DefinitionError(
                f"FixedWindows size={size!r} is not positive", todo='give a size such as "1h"', code="DEFINITION_WINDOW"
            )
        object.__setattr__(self, "size", length)
        object.__setattr__(self, "offset", duration(offset, what="FixedWindows offset") % length)

    def assign(self, event_time: Micros) -> tuple[Window]:
        """The one window around the time; a time on a border belongs to the window that starts there."""
        start = event_time - (event_time - self.offset) % self.size
        return (Window(start, start + self.size),)

    def __repr__(self) -> str:
        offset = f", offset={duration_text(self.offset)!r}" if self.offset else ""
        return f"FixedWindows({duration_text(self.size)!r}{offset})"


@dataclass(frozen=True, slots=True)
class GlobalWindows(WindowStrategy):
    """One window over all of time. It is complete only at the end of input."""

    def assign(self, event_time: Micros) -> tuple[Window]:  # noqa: ARG002 - the protocol's signature
        """The global window."""
        return (GLOBAL_WINDOW,)
