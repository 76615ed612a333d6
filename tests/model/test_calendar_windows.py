"""Calendar windows: what local clocks do at midnight, in spring and in autumn, is what windows do."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_dataflow_provider import CalendarWindows, Window
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, iso, to_micros
from airflow_dataflow_provider.model.windows import CalendarUnit

HOUR = 3_600_000_000
TIMES = st.integers(to_micros("1900-01-01T00:00:00Z"), to_micros("2100-01-01T00:00:00Z"))
# Clocks that change far from midnight, at it, by half an hour, a minute past it, and that once lost a whole day.
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo", "America/Havana",
    "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Kathmandu", "Africa/Monrovia",
)  # fmt: skip
STRATEGIES = st.builds(CalendarWindows, st.sampled_from(CalendarUnit), st.sampled_from(ZONES))
DAYS = st.builds(CalendarWindows, st.just("day"), st.sampled_from(ZONES))


def around(strategy: CalendarWindows, time: str) -> str:
    (window,) = strategy.assign(to_micros(time))
    return str(window)


def hours(strategy: CalendarWindows, time: str) -> float:
    (window,) = strategy.assign(to_micros(time))
    return (window.end - window.start) / HOUR


def test_a_day_begins_and_ends_at_local_midnight() -> None:
    berlin = CalendarWindows("day", "Europe/Berlin")
    assert around(berlin, "2013-01-15T12:00:00+01:00") == "[2013-01-14T23:00:00Z, 2013-01-15T23:00:00Z)"
    assert around(berlin, "2013-07-15T00:00:00+02:00") == "[2013-07-14T22:00:00Z, 2013-07-15T22:00:00Z)"


def test_the_day_on_which_clocks_go_forward_has_23_hours_and_the_one_on_which_they_go_back_has_25() -> None:
    berlin = CalendarWindows("day", "Europe/Berlin")
    assert [hours(berlin, f"2013-03-{day}T12:00:00Z") for day in (30, 31)] == [24, 23]
    assert [hours(berlin, f"2013-10-{day}T12:00:00Z") for day in (26, 27, 28)] == [24, 25, 24]


def test_both_occurrences_of_an_hour_in_autumn_are_in_the_same_day() -> None:
    new_york = CalendarWindows("day", "America/New_York")
    first, second = "2013-11-03T01:30:00-04:00", "2013-11-03T01:30:00-05:00"
    assert around(new_york, first) == around(new_york, second) == "[2013-11-03T04:00:00Z, 2013-11-04T05:00:00Z)"


def test_a_day_whose_midnight_is_skipped_begins_at_the_first_instant_that_it_has() -> None:
    # In São Paulo clocks went from 23:59:59 on the 20th of October 2012 to 01:00 on the 21st.
    sao_paulo = CalendarWindows("day", "America/Sao_Paulo")
    assert around(sao_paulo, "2012-10-21T12:00:00-02:00") == "[2012-10-21T03:00:00Z, 2012-10-22T02:00:00Z)"
    assert around(sao_paulo, "2012-10-20T12:00:00-03:00") == "[2012-10-20T03:00:00Z, 2012-10-21T03:00:00Z)"


def test_a_day_whose_midnight_comes_twice_begins_with_the_first_of_the_two() -> None:
    # In St John's clocks went from 00:01 on the 7th of November 2010 back to 23:01 on the 6th.
    st_johns = CalendarWindows("day", "America/St_Johns")
    border = "2010-11-07T02:30:00Z"
    assert around(st_johns, "2010-11-06T12:00:00Z") == f"[2010-11-06T02:30:00Z, {border})"
    for later in (border, "2010-11-07T02:45:00Z", "2010-11-07T12:00:00Z"):  # 00:00, 23:15 once more, 08:30
        assert around(st_johns, later) == f"[{border}, 2010-11-08T03:30:00Z)"


def test_a_day_that_a_zone_never_had_is_no_window() -> None:
    # Samoa crossed the date line: the 29th of December 2011 was followed by the 31st.
    apia = CalendarWindows("day", "Pacific/Apia")
    (before,) = apia.assign(to_micros("2011-12-29T12:00:00-10:00"))
    (after,) = apia.assign(before.end)
    assert dt.datetime.fromisoformat(iso(after.start)).astimezone(ZoneInfo("Pacific/Apia")).day == 31
    assert (after.end - after.start) == 24 * HOUR


@pytest.mark.parametrize(
    ("unit", "window"),
    [
        ("day", "[2024-02-29T00:00:00Z, 2024-03-01T00:00:00Z)"),
        ("week", "[2024-02-26T00:00:00Z, 2024-03-04T00:00:00Z)"),
        ("month", "[2024-02-01T00:00:00Z, 2024-03-01T00:00:00Z)"),
        ("year", "[2024-01-01T00:00:00Z, 2025-01-01T00:00:00Z)"),
    ],
)
def test_units_are_those_of_the_calendar_and_a_week_begins_on_monday(unit: str, window: str) -> None:
    assert around(CalendarWindows(unit), "2024-02-29T12:00:00Z") == window


@given(STRATEGIES, TIMES)
@example(CalendarWindows("day", "America/St_Johns"), to_micros("2010-11-07T02:45:00Z"))
def test_a_calendar_window_holds_its_time_and_all_times_in_it_have_that_window(
    strategy: CalendarWindows, time: int
) -> None:
    (window,) = strategy.assign(time)
    assert window.start <= time < window.end
    for inside in (window.start, (window.start + window.end) // 2, window.end - 1):
        assert strategy.assign(inside) == (window,)


@given(STRATEGIES, TIMES)
def test_calendar_windows_lie_side_by_side(strategy: CalendarWindows, time: int) -> None:
    windows: list[Window] = [*strategy.assign(time)]
    for _ in range(3):
        windows += strategy.assign(windows[-1].end)
    assert all(left.end == right.start for left, right in pairwise(windows))


@given(DAYS, TIMES)
def test_weeks_months_and_years_are_made_of_whole_days(days: CalendarWindows, time: int) -> None:
    (day,) = days.assign(time)
    for unit in (CalendarUnit.WEEK, CalendarUnit.MONTH, CalendarUnit.YEAR):
        (longer,) = CalendarWindows(unit, days.time_zone).assign(time)
        assert longer.start <= day.start < day.end <= longer.end


@given(st.sampled_from(CalendarUnit), TIMES)
def test_in_utc_windows_are_those_of_the_datetime(unit: CalendarUnit, time: int) -> None:
    (window,) = CalendarWindows(unit).assign(time)
    moment, start = (dt.datetime.fromtimestamp(at // 1_000_000, dt.UTC) for at in (time, window.start))
    assert start.time() == dt.time()
    match unit:
        case CalendarUnit.DAY:
            assert start.date() == moment.date()
        case CalendarUnit.WEEK:
            assert start.isocalendar() == (*moment.isocalendar()[:2], 1)
        case CalendarUnit.MONTH:
            assert (start.year, start.month, start.day) == (moment.year, moment.month, 1)
        case CalendarUnit.YEAR:
            assert (start.year, start.month, start.day) == (moment.year, 1, 1)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("unit", list(CalendarUnit))
@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_windows_reach_to_both_ends_of_the_calendar(unit: CalendarUnit, zone: str, time: str) -> None:
    (window,) = CalendarWindows(unit, zone).assign(to_micros(time))
    assert window.start <= to_micros(time) < window.end


@given(STRATEGIES, st.booleans())
def test_what_lies_beyond_the_calendar_is_one_window_beside_the_others(strategy: CalendarWindows, early: bool) -> None:
    (outer,) = strategy.assign(MIN_TIME + 1 if early else MAX_TIME - 1)
    (beside,) = strategy.assign(outer.end if early else outer.start - 1)
    assert outer.end == beside.start if early else outer.start == beside.end
