"""Window strategies of every family, those of users included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider.model.time import Micros, to_micros
from airflow_dataflow_provider.model.windows import (
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
)
from airflow_dataflow_provider.model.windows.strategy import NO_ROW, Merged
from airflow_dataflow_provider.model.windows.window import Key
from airflow_dataflow_provider.testing.strategies.moments import SECOND, ZONES

_FOR_EVER = to_micros("2100-01-01T00:00:00Z")


@dataclass(frozen=True)
class LongerWhenOdd(WindowStrategy):
    """A strategy of a user's own: fixed windows, longer where ``whole`` is odd, none where it is missing."""

    size: Micros = 30 * SECOND
    columns = ("whole",)

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> list[Window]:  # noqa: ARG002
        if row["whole"] is None:
            return []
        size = self.size * (1 + row["whole"] % 2)
        start = event_time - event_time % size
        return [Window(start, start + size)]


@dataclass(frozen=True)
class Validity(WindowStrategy):
    """A strategy of a user's own: what an element says holds until the next one, so its window shrinks when that comes.

    ``[t, for ever)`` becomes ``[t, next t)``. Elements of one key at one instant share a window. With
    ``may_shrink=False`` it lies, and results can come too late for a grouping that follows.
    """

    for_ever: Micros = _FOR_EVER
    may_shrink: bool = True
    merges = True

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> list[Window]:  # noqa: ARG002
        return [Window(event_time, self.for_ever)]

    def merge(self, windows: Iterable[Window]) -> list[Merged]:
        """Each one ends where the next one starts."""
        by_start = [(start, list(parts)) for start, parts in groupby(sorted(windows), key=lambda window: window.start)]
        ends = [start for start, _ in by_start[1:]] + [self.for_ever]
        # The last one keeps its own end: what ended it may have expired and be forgotten.
        return [
            (Window(start, min(end, *(part.end for part in parts))), frozenset(parts))
            for (start, parts), end in zip(by_start, ends, strict=True)
        ]


@cache
def fixed_windows() -> SearchStrategy[WindowStrategy]:
    """Of many sizes and offsets, now and then shifted by key."""
    sizes = st.sampled_from(("1m", "1m", "2m", "2m", "30s", "1h", "7s", "1.500001s"))
    offsets = st.sampled_from(("0s", "0s", "1s", "-13s", "1d"))
    shifted = st.sampled_from((False, False, False, True))
    return st.builds(FixedWindows, sizes, offsets, shifted_by_key=shifted)


@cache
def sliding_windows() -> SearchStrategy[WindowStrategy]:
    """With periods smaller than the size, equal to it and larger; sizes that are a multiple of it and that are not."""
    lengths = st.sampled_from(
        (("60s", "30s"), ("60s", "20s"), ("70s", "30s"), ("20s", "20s"), ("30s", "50s"), ("10s", "60s"))
    )
    offsets = st.sampled_from(("0s", "0s", "1s", "-13s"))
    return st.builds(lambda both, offset: SlidingWindows(both[0], both[1], offset), lengths, offsets)


@cache
def session_windows() -> SearchStrategy[WindowStrategy]:
    """With gaps around the distances that elements have, ten seconds exactly among them."""
    return st.sampled_from(("30s", "10s 1us", "20s", "10s", "61s", "1us")).map(SessionWindows)


@cache
def global_windows() -> SearchStrategy[WindowStrategy]:
    return st.just(GlobalWindows())


@cache
def calendar_windows() -> SearchStrategy[WindowStrategy]:
    """Of every unit, in zones whose clocks change."""
    return st.builds(CalendarWindows, st.sampled_from(("day", "week", "month", "year")), st.sampled_from(ZONES))


@cache
def own_aligned_windows() -> SearchStrategy[WindowStrategy]:
    """A user's, that look at a column."""
    return st.sampled_from((LongerWhenOdd(), LongerWhenOdd(7 * SECOND)))


@cache
def own_merging_windows() -> SearchStrategy[WindowStrategy]:
    """A user's, that shrink when they merge, whatever they say."""
    return st.builds(Validity, may_shrink=st.sampled_from((True, True, False)))


WINDOW_FAMILIES = {
    "fixed": fixed_windows,
    "global": global_windows,
    "sliding": sliding_windows,
    "sessions": session_windows,
    "calendar": calendar_windows,
    "own aligned": own_aligned_windows,
    "own merging": own_merging_windows,
}
"""Every family of windows by name."""


@st.composite
def windows(draw: DrawFn, *families: str) -> WindowStrategy:
    """Windows of these :data:`WINDOW_FAMILIES`; by default fixed windows and the global one."""
    return draw(WINDOW_FAMILIES[draw(st.sampled_from(families or ("fixed", "global")))]())
