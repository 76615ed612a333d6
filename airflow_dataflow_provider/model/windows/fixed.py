"""Fixed windows, aligned or shifted by key, and the global window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.hashing import key_hash
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text
from airflow_dataflow_provider.model.windows.strategy import NO_ROW, WindowStrategy
from airflow_dataflow_provider.model.windows.window import GLOBAL_WINDOW, Key, Window


def positive(value: Duration, what: str) -> Micros:
    """A length of time in microseconds.

    Raises:
        DefinitionError: ``DEFINITION_WINDOW`` for one that is not positive.
    """
    length = duration(value, what=what)
    if length <= 0:
        raise DefinitionError(
            f"{what}={value!r} is not positive", hint='give a length such as "1h"', code="DEFINITION_WINDOW"
        )
    return length


@dataclass(frozen=True, slots=True, repr=False)
class FixedWindows(WindowStrategy):
    """Windows of one size, side by side: ``[offset + k * size, offset + (k + 1) * size)``.

    Args:
        size: the length, e.g. ``"1h"``; positive.
        offset: moves every border; taken modulo the size.
        shifted_by_key: shift the borders of every key by its hash (paper, section 2.2: "unaligned"). The windows of
            many keys then do not close at the same moment, which spreads the load.
    """

    size: Micros
    offset: Micros = 0
    shifted_by_key: bool = False

    def __init__(self, size: Duration, offset: Duration = 0, *, shifted_by_key: bool = False) -> None:
        length = positive(size, "FixedWindows size")
        object.__setattr__(self, "size", length)
        object.__setattr__(self, "offset", duration(offset, what="FixedWindows offset") % length)
        object.__setattr__(self, "shifted_by_key", bool(shifted_by_key))

    def shift(self, key: Key) -> Micros:
        """The start of a key's windows, modulo the size."""
        return (self.offset + key_hash(key) % self.size) % self.size if self.shifted_by_key else self.offset

    @property
    def longest(self) -> Micros:
        return self.size

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> tuple[Window]:  # noqa: ARG002
        """The window around the time; a time on a border belongs to the window that starts there."""
        start = event_time - (event_time - self.shift(key)) % self.size
        return (Window(start, start + self.size),)

    def __repr__(self) -> str:
        offset = f", offset={duration_text(self.offset)!r}" if self.offset else ""
        shifted = ", shifted_by_key=True" if self.shifted_by_key else ""
        return f"FixedWindows({duration_text(self.size)!r}{offset}{shifted})"


@dataclass(frozen=True, slots=True)
class GlobalWindows(WindowStrategy):
    """One window over all of time. It is complete only at the end of input.

    Count windows are the global window with ``Repeat(AtCount(n))``, discarding.
    """

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> tuple[Window]:  # noqa: ARG002
        return (GLOBAL_WINDOW,)
