"""Event times: close together, on the borders of windows, and around midnights on which clocks change."""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.time import Micros, to_micros
from airflow_dataflow_provider.model.windows import CalendarWindows, WindowStrategy

SECOND: Micros = 1_000_000
START: Micros = to_micros("2013-01-01T12:00:00Z")
"""Elements happen in the ten minutes after it; processing time begins ten minutes after it."""
SPAN: Micros = 600 * SECOND

_CHANGES: dict[str, tuple[str, ...]] = {
    "UTC": ("2012-12-31", "2013-02-28"),
    "Europe/Berlin": ("2013-03-31", "2013-10-27"),
    # Clocks skip midnight, and pass the hour before it twice.
    "America/Sao_Paulo": ("2013-10-20", "2013-02-16"),
    # Clocks skip midnight, and pass the hour after it twice.
    "America/Havana": ("2013-03-10", "2013-11-03"),
}
ZONES = tuple(_CHANGES)
"""Zones whose calendars have days that are not 24 hours long."""

# Most elements happen in one minute or two, so that few of them make windows of several, and often exactly ten seconds
# apart; three quarters of them, for the others make up the rest.
_OFTEN = (*range(0, 61, 10),) * 200 + (*range(70, 121, 10),) * 60
_SECONDS_AFTER = st.sampled_from((*_OFTEN, *range(SPAN // SECOND + 1)))
_BESIDE = st.sampled_from((0, 0, 0, 0, 0, 0, -1, 1))


@cache
def event_times(starts: tuple[Micros, ...] = (START,)) -> SearchStrategy[Micros]:
    """Whole seconds, and now and then the microseconds beside them, where windows have their borders.

    Args:
        starts: the times lie in the ten minutes after any of these.
    """
    parts = (st.sampled_from(starts), _SECONDS_AFTER, _BESIDE)
    return st.builds(lambda start, after, beside: start + after * SECOND + beside, *parts)


def starts_for(window: WindowStrategy) -> SearchStrategy[tuple[Micros, ...]]:
    """Where elements should lie to be interesting to a window strategy: calendars change around midnight."""
    if not isinstance(window, CalendarWindows):
        return st.just((START,))
    return _around_changes(window.time_zone)


@cache
def _around_changes(time_zone: str) -> SearchStrategy[tuple[Micros, ...]]:
    return st.sampled_from([_around_midnights(time_zone, dt.date.fromisoformat(day)) for day in _CHANGES[time_zone]])


def _around_midnights(time_zone: str, day: dt.date) -> tuple[Micros, ...]:
    """Five minutes before the midnights at the begin and end of a day; one that clocks pass twice is two."""
    midnights = (
        dt.datetime.combine(date, dt.time(fold=fold), tzinfo=ZoneInfo(time_zone))
        for date in (day, day + dt.timedelta(days=1))
        for fold in (0, 1)
    )
    return tuple(sorted({to_micros(midnight.astimezone(dt.UTC)) - SPAN // 2 for midnight in midnights}))
