"""Sessions: windows that grow as long as elements keep coming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.time import Duration, Micros, duration_text
from airflow_dataflow_provider.model.windows.fixed import positive
from airflow_dataflow_provider.model.windows.strategy import NO_ROW, Merged, WindowStrategy
from airflow_dataflow_provider.model.windows.window import Key, Window


def merge_intersecting(windows: Iterable[Window]) -> list[Merged]:
    """Windows that share an instant become the one that spans them; windows that only touch stay apart."""
    groups: list[tuple[Window, set[Window]]] = []
    for window in sorted(windows):
        if groups and window.start < groups[-1][0].end:
            span, parts = groups[-1]
            groups[-1] = span.span(window), parts | {window}
        else:
            groups.append((window, {window}))
    return [(span, frozenset(parts)) for span, parts in groups]


@dataclass(frozen=True, slots=True, repr=False)
class SessionWindows(WindowStrategy):
    """Sessions of a key: elements with less than ``gap`` between them, ``[first, last + gap)``.

    Two elements exactly one gap apart are in two sessions, for the intervals are half-open (as in the paper and Beam;
    Flink and Spark's ``session_window`` would merge them).

    Args:
        gap: the silence that ends a session, e.g. ``"30m"``; positive.
    """

    gap: Micros
    merges = True
    may_shrink = False

    def __init__(self, gap: Duration) -> None:
        object.__setattr__(self, "gap", positive(gap, "SessionWindows gap"))

    @property
    def longest(self) -> Micros:
        return self.gap

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> tuple[Window]:  # noqa: ARG002
        """The session of this element alone."""
        return (Window(event_time, event_time + self.gap),)

    def merge(self, windows: Iterable[Window]) -> list[Merged]:
        return merge_intersecting(windows)

    def __repr__(self) -> str:
        return f"SessionWindows({duration_text(self.gap)!r})"
