"""Calendar windows: days, weeks, months and years in a time zone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_micros
from airflow_dataflow_provider.model.windows.strategy import NO_ROW, WindowStrategy
from airflow_dataflow_provider.model.windows.window import Key, Window

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DAY: Micros = 86_400_000_000


class CalendarUnit(StrEnum):
    """The length of a calendar window."""

    DAY = "day"
    WEEK = "week"
    """From Monday on (ISO 8601)."""
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True, repr=False)
class CalendarWindows(WindowStrategy):
    """Days, weeks, months or years in a time zone: from local midnight to local midnight.

    A day on which clocks change has 23 or 25 hours. If clocks skip midnight, the day starts at its first instant; if
    midnight occurs twice, at the first one. All times before about the year 3 share one window, and so do all after the
    year 9998, because of the limits of Python's calendar.

    Args:
        unit: ``"day"``, ``"week"``, ``"month"`` or ``"year"``.
        time_zone: an IANA name, e.g. ``"America/New_York"``.
    """

    unit: CalendarUnit
    time_zone: str

    def __init__(self, unit: CalendarUnit | str, time_zone: str = "UTC") -> None:
        try:
            object.__setattr__(self, "unit", CalendarUnit(unit))
        except ValueError:
            raise DefinitionError(
                f"CalendarWindows unit={unit!r} is not a calendar unit",
                hint=f"choose one of {', '.join(CalendarUnit)}",
                code="DEFINITION_WINDOW",
            ) from None
        try:
            ZoneInfo(time_zone)
        except (KeyError, ValueError, OSError, TypeError):
            raise DefinitionError(
                f"CalendarWindows time_zone={time_zone!r} is not a time zone",
                hint='use an IANA name such as "Europe/Berlin"',
                code="DEFINITION_WINDOW",
            ) from None
        object.__setattr__(self, "time_zone", time_zone)

    @property
    def longest(self) -> Micros:
        """A bound on the longest unit, a year."""
        return 370 * _DAY

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> tuple[Window]:  # noqa: ARG002
        """The one window around the time."""
        first, last = _borders(self.unit, self.time_zone)
        if not first <= event_time < last:
            return (Window(MIN_TIME, first) if event_time < first else Window(last, MAX_TIME),)
        day = _first_day(self.unit, _local_day(event_time, self.time_zone))
        window = _window(self.unit, self.time_zone, day)
        if event_time >= window.end:  # clocks were put back across midnight, so the local date is yesterday's again
            window = _window(self.unit, self.time_zone, _next(self.unit, day))
        return (window,)

    def __repr__(self) -> str:
        return f"CalendarWindows({self.unit.value!r}, {self.time_zone!r})"


@lru_cache(maxsize=10_000)
def _window(unit: CalendarUnit, time_zone: str, first: dt.date) -> Window:
    """The window whose first day this is."""
    return Window(_midnight(time_zone, first), _midnight(time_zone, _next(unit, first)))


@lru_cache(maxsize=1000)
def _borders(unit: CalendarUnit, time_zone: str) -> tuple[Micros, Micros]:
    """The range of calendar windows, far enough from the calendar's first and last day for every computation."""
    first, last = _first_day(unit, dt.date(3, 1, 1)), _first_day(unit, dt.date(9999, 1, 1))
    return _midnight(time_zone, first), _midnight(time_zone, last)


def _local_day(time: Micros, time_zone: str) -> dt.date:
    return (_EPOCH + dt.timedelta(microseconds=time)).astimezone(ZoneInfo(time_zone)).date()


def _first_day(unit: CalendarUnit, day: dt.date) -> dt.date:
    match unit:
        case CalendarUnit.DAY:
            return day
        case CalendarUnit.WEEK:
            return day - dt.timedelta(days=day.weekday())
        case CalendarUnit.MONTH:
            return day.replace(day=1)
        case CalendarUnit.YEAR:
            return day.replace(month=1, day=1)


def _next(unit: CalendarUnit, first: dt.date) -> dt.date:
    match unit:
        case CalendarUnit.DAY:
            return first + dt.timedelta(days=1)
        case CalendarUnit.WEEK:
            return first + dt.timedelta(days=7)
        case CalendarUnit.MONTH:
            return (first + dt.timedelta(days=31)).replace(day=1)
        case CalendarUnit.YEAR:
            return _first_day(unit, first + dt.timedelta(days=366))


def _midnight(time_zone: str, day: dt.date) -> Micros:
    """The first instant of a local day."""
    zone = ZoneInfo(time_zone)
    local = dt.datetime.combine(day, dt.time(), tzinfo=zone)
    instant = local.astimezone(dt.UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return to_micros(instant)
    # Clocks skip this midnight. The day begins at the change, which is less than a day from the skipped midnight.
    low, high = to_micros(instant) - _DAY, to_micros(instant) + _DAY
    while high - low > 1:
        middle = (low + high) // 2
        if _local_day(middle, time_zone) < day:
            low = middle
        else:
            high = middle
    return high
