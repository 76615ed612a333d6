"""Durations and times are exact, and every text that is written can be read back."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pendulum
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import (
    LONGEST,
    MAX_TIME,
    MIN_TIME,
    Duration,
    duration,
    duration_text,
    from_iso,
    iso,
    to_datetime,
    to_micros,
)

FIRST, LAST = to_micros("0001-01-01T00:00:00Z"), to_micros("9999-12-31T23:59:59.999999Z")


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("1us", 1),
        ("1ms", 1_000),
        ("90s", 90_000_000),
        ("1.5m", 90_000_000),
        ("1.1m", 66_000_000),
        ("1.000001s", 1_000_001),
        ("5 min", 300_000_000),
        ("1h 30m", 5_400_000_000),
        ("-1h 30m", -5_400_000_000),
        ("1D", 86_400_000_000),
        ("0s", 0),
        (0, 0),
        (dt.timedelta(minutes=5), 300_000_000),
        (dt.timedelta(microseconds=-1), -1),
        (pendulum.duration(minutes=5), 300_000_000),
        (pendulum.duration(days=1, minutes=-5), 86_100_000_000),
        (pendulum.datetime(2020, 1, 2) - pendulum.datetime(2020, 1, 1), 86_400_000_000),
    ],
)
def test_a_duration_is_read_as_users_write_it(written: Duration, micros: int) -> None:
    assert duration(written) == micros


@given(st.integers(-LONGEST, LONGEST))
@example(LONGEST - 1)
def test_a_duration_reads_back_from_its_text(micros: int) -> None:
    assert duration(duration_text(micros)) == micros


@given(st.timedeltas(dt.timedelta(microseconds=-LONGEST), dt.timedelta(microseconds=LONGEST)))
def test_a_timedelta_is_read_exactly(delta: dt.timedelta) -> None:
    assert dt.timedelta(microseconds=duration(delta)) == delta


@pytest.mark.parametrize("written", ["1M", "1h 5M", "-1M"])
def test_a_month_is_not_taken_for_a_minute(written: str) -> None:
    with pytest.raises(DefinitionError, match='"M" is a month') as refusal:
        duration(written)
    assert refusal.value.code == "TIME_BAD_DURATION"
    assert 'CalendarWindows("month")' in refusal.value.hint


@pytest.mark.parametrize(
    ("written", "seconds", "milliseconds"),
    [
        (3600, "1h", "3600ms"),
        ("3600", "1h", "3600ms"),
        (90, "1m30s", "90ms"),
        (0.5, "500ms", "0.5ms"),
        (-5, "-5s", "-5ms"),
        ("0.0000000001", "0.0000000001s", "0.0000000001ms"),
    ],
)
def test_a_number_without_a_unit_is_refused_and_what_may_be_meant_is_offered(
    written: Any, seconds: str, milliseconds: str
) -> None:
    with pytest.raises(DefinitionError, match="without a unit") as refusal:
        duration(written)
    assert refusal.value.code == "TIME_BAD_DURATION"
    assert f'"{seconds}" for seconds, "{milliseconds}" for milliseconds' in refusal.value.hint


@pytest.mark.parametrize(
    "written", [f"{LONGEST + 1}us", f"-{LONGEST + 1}us", "36526d", dt.timedelta.max, f"{2**80}us", "1" * 400 + "d"]
)
def test_a_duration_beyond_a_hundred_years_is_refused(written: str | dt.timedelta) -> None:
    with pytest.raises(DefinitionError) as refusal:
        duration(written)
    assert refusal.value.code == "TIME_BAD_DURATION"


# A day off the ends of the calendar, where an offset would lead beyond them.
INSTANTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.just(dt.UTC))  # noqa: DTZ001


@given(INSTANTS, st.sampled_from(["UTC", "Europe/Rome", "Asia/Kathmandu"]))
def test_an_aware_time_is_read_exactly_in_whatever_zone_and_type(instant: dt.datetime, zone: str) -> None:
    local = instant.astimezone(ZoneInfo(zone))
    micros = to_micros(instant)
    assert to_datetime(micros) == instant
    assert to_micros(local) == to_micros(local.isoformat()) == micros
    assert to_micros(pendulum.instance(instant).in_timezone(zone)) == micros


def test_the_two_occurrences_of_an_hour_in_autumn_are_different_times() -> None:
    rome = ZoneInfo("Europe/Rome")
    first, second = (dt.datetime(2013, 10, 27, 2, 30, tzinfo=rome, fold=fold) for fold in (0, 1))
    assert to_micros(second) - to_micros(first) == duration("1h")


@given(st.integers(FIRST, LAST))
@example(FIRST)
@example(LAST)
@example(0)
@example(-1)
def test_a_time_reads_back_from_its_text(micros: int) -> None:
    assert from_iso(iso(micros)) == micros
    assert to_micros(to_datetime(micros) or "never") == micros


def test_the_infinities_are_written_as_such_and_read_back() -> None:
    assert (iso(MIN_TIME), iso(MAX_TIME)) == ("-inf", "+inf")
    assert (from_iso("-inf"), from_iso("+inf")) == (MIN_TIME, MAX_TIME)
    assert to_datetime(MIN_TIME) is None
    assert to_datetime(MAX_TIME) is None


def test_the_text_of_a_time_is_iso_8601_in_utc_without_empty_fractions() -> None:
    assert iso(to_micros("2013-01-01T07:00:00-05:00")) == "2013-01-01T12:00:00Z"
    assert iso(to_micros("2013-01-01T12:00:00.250Z")) == "2013-01-01T12:00:00.25Z"


def test_the_infinities_leave_room_for_any_duration_within_64_bits() -> None:
    assert MIN_TIME + MIN_TIME >= -(2**63)
    assert MAX_TIME + (MAX_TIME - 1) < 2**63
