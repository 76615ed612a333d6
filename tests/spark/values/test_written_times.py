"""Times as files write them: each is the instant that it says, or none."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_dataflow_provider import Files
from airflow_dataflow_provider.model.time import ELEMENT_TIMES, Micros, to_micros
from airflow_dataflow_provider.model.time_formats import EPOCH_UNITS
from airflow_dataflow_provider.spark.values.written_times import dates, instants

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - local
NOON = to_micros("2013-12-31T12:00:00Z")


def read(
    values: list[object], form: str | None, zone: str | None = None, dtype: pl.DataType | None = None
) -> list[Micros | None]:
    column = pl.Series("at", values, dtype=dtype)
    found = instants(pl.col("at"), column.dtype, form, zone)
    assert found is not None
    return column.to_frame().select(found.alias("micros"))["micros"].to_list()


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%d.%m.%Y %M %z", "31.12.2013 00 -1200"),
        ("%d.%m.%Y %H:%M:%S", "31.12.2013 12:00:00"),
        ("%d.%m.%Y %H:%M", "31.12.2013 12:00"),
        ("%d.%m.%Y %H Uhr", "31.12.2013 12 Uhr"),
        ("%Y%m%d%H%M%S", "20131231120000"),
        ("%Y-%j %H:%M", "2013-365 12:00"),
        ("%m/%d/%Y %I:%M:%S %p", "12/31/2013 12:00:00 PM"),
        ("%m/%d/%Y %I %p", "12/31/2013 12 PM"),
        ("%A, %d %B %Y %H:%M", "Tuesday, 31 December 2013 12:00"),
        ("%a %b %d %H:%M:%S %Y", "Tue Dec 31 12:00:00 2013"),
        ("%Y-%m-%d %H:%M:%S.%f", "2013-12-31 12:00:00.000000"),
        ("%Y-%m-%d %H:%M:%S,%f", "2013-12-31 12:00:00,0"),
        ("%Y-%m-%d %H:%M 100%%", "2013-12-31 12:00 100%"),
        ("[%d/%b/%Y:%H:%M:%S %z]", "[31/Dec/2013:13:00:00 +0100]"),
        ("%Y-%m-%dT%H:%M:%S%z", "2013-12-31T13:00:00+01:00"),
        ("%Y-%m-%dT%H:%M:%S%z", "2013-12-31T12:00:00Z"),
        ("%d.%m.%Y %H:%M %z", "31.12.2013 12:00 Z"),
        ("epoch_seconds", "1388491200"),
        ("epoch_milliseconds", "1388491200000"),
        ("epoch_microseconds", "1388491200000000"),
        ("epoch_nanoseconds", "1388491200000000999"),
        ("epoch_seconds", " +1388491200.0000009 "),
    ],
)
def test_a_time_is_read_as_its_format_says(form: str, text: str) -> None:
    Files("x.csv", event_time="at", time_zone="UTC", time_format=form)
    assert read([text, None, "", "x", text + "x", "1" + text], form, "UTC")[:5] == [NOON, None, None, None, None]


def test_a_fraction_keeps_its_digits_down_to_the_microsecond() -> None:
    for mark in ".,":
        texts = [f"2013-12-31 12:00:00{mark}{digits}" for digits in ("5", "05", "123456", "1234567", "000001")]
        found = read([*texts], f"%Y-%m-%d %H:%M:%S{mark}%f", "UTC")
        assert [None if micros is None else micros - NOON for micros in found] == [500_000, 50_000, 123_456, 123_456, 1]


def test_text_without_an_offset_is_no_time_where_the_format_has_one() -> None:
    assert read(["2013-12-31 12:00", "2013-12-31 12:00 CET"], "%Y-%m-%d %H:%M %z", "UTC") == [None, None]


def test_a_day_begins_at_midnight_of_its_zone() -> None:
    assert read(["31.12.2013"], "%d.%m.%Y", "Europe/Vienna") == [to_micros("2013-12-30T23:00:00Z")]


@pytest.mark.parametrize(
    ("zone", "skipped", "twice", "first"),
    [
        ("Europe/Vienna", "2013-03-31 02:30", "2013-10-27 02:30", "2013-10-27T00:30:00Z"),
        ("America/New_York", "2013-03-10 02:00", "2013-11-03 01:59", "2013-11-03T05:59:00Z"),
        ("Australia/Lord_Howe", "2013-10-06 02:15", "2013-04-07 01:45", "2013-04-06T14:45:00Z"),
        ("America/Sao_Paulo", "2013-10-20 00:00", "2013-02-16 23:30", "2013-02-17T01:30:00Z"),
    ],
)
@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", None])
def test_a_local_time_that_clocks_skip_is_none_and_of_one_that_comes_twice_it_is_the_first(
    zone: str, skipped: str, twice: str, first: str, form: str | None
) -> None:
    end = "" if form else ":00"
    assert read([skipped + end, twice + end], form, zone) == [None, to_micros(first)]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1388491200], pl.Int64()), ([1388491200], pl.UInt32()), ([1388491200.0], pl.Float64()), (["1388491200"], None)],
)
def test_a_count_is_one_of_the_said_unit_and_never_guessed(values: list[object], dtype: pl.DataType | None) -> None:
    assert read(values, "epoch_seconds", None, dtype) == [NOON]
    assert read(values, "epoch_milliseconds", None, dtype) == [NOON // 1000]
    # As text of no format it is no time, as a number of no format it is not asked.
    assert instants(pl.col("at"), pl.Int64(), None, "UTC") is None
    assert read(["1388491200"], None, "UTC") == [None]


@pytest.mark.parametrize("form", EPOCH_UNITS)
@pytest.mark.parametrize("dtype", [pl.Int8(), pl.Int64(), pl.UInt64(), pl.Float32(), pl.Float64()])
def test_numbers_that_no_calendar_has_are_never_a_time(form: str, dtype: pl.DataType) -> None:
    unit = EPOCH_UNITS[form]
    far = [2**63 - 1, -(2**63), 2**64 - 1, 10**15 * 10**9 // unit]
    values: list[object] = [value for value in far if dtype.is_float() or _fits(value, dtype)]
    for micros, value in zip(read(values, form, None, dtype), values, strict=True):
        assert micros is not None
        inside = ELEMENT_TIMES[0] <= int(str(value).partition(".")[0]) * unit // 1000 < ELEMENT_TIMES[1]
        assert (ELEMENT_TIMES[0] <= micros < ELEMENT_TIMES[1]) == inside
    if dtype.is_float():
        nothing: list[object] = [float("nan"), float("inf"), float("-inf"), None]
        assert read(nothing, form, None, dtype) == [None] * 4
        assert all(abs(micros or 0) > ELEMENT_TIMES[1] for micros in read([1e300, -1e38], form, None, pl.Float64()))


def _fits(value: int, dtype: pl.DataType) -> bool:
    try:
        pl.Series([value], dtype=dtype)
    except (TypeError, OverflowError):
        return False
    return True


@given(
    st.integers(-(10**30), 10**30),
    st.none() | st.text("0123456789", min_size=1, max_size=12),
    st.sampled_from([*EPOCH_UNITS]),
)
@example(-1, "0000005", "epoch_seconds")
def test_every_digit_of_a_count_counts(whole: int, fraction: str | None, form: str) -> None:
    text = str(whole) if fraction is None else f"{whole}.{fraction}"
    (micros,) = read([text], form)
    exact = Fraction(text) * EPOCH_UNITS[form] / 1000
    if micros is None:
        assert len(text.lstrip("-").partition(".")[0]) > 28
    elif ELEMENT_TIMES[0] <= exact < ELEMENT_TIMES[1]:
        assert abs(micros - exact) < 1
        assert micros <= exact or exact < 0
    else:
        assert not ELEMENT_TIMES[0] + 1 <= micros < ELEMENT_TIMES[1] - 1


@given(st.floats(-3e10, 2e11))
def test_a_float_is_the_microsecond_that_it_stands_for(seconds: float) -> None:
    (micros,) = read([seconds], "epoch_seconds")
    assert micros is not None
    assert abs(micros - Fraction(seconds) * 10**6) <= Fraction(1, 2)


SEPARATORS = st.sampled_from([" ", "-", "/", ".", ",", ":", "T", " at ", "|", "%%"])
DAYS = [["%Y", "%m", "%d"], ["%d", "%b", "%Y"], ["%A", "%d", "%B", "%Y"], ["%a", "%Y", "%j"]]
TIMES = [["%H", "%M", "%S"], ["%H", "%M", "%S.%f"], ["%H", "%M"], ["%H"], ["%M"], ["%I", "%M", "%p"], ["%I", "%p"], []]
YEARS = st.datetimes(dt.datetime(1000, 1, 2), dt.datetime(8999, 12, 30))  # noqa: DTZ001 - they get an offset


@st.composite
def patterns(draw: st.DrawFn) -> str:
    day, time, zone = (draw(st.sampled_from(parts)) for parts in (DAYS, TIMES, [[], ["%z"]]))
    return "".join(part + draw(SEPARATORS) for part in [*day, *time, *zone]).rstrip()


@given(patterns(), YEARS, st.integers(-14 * 4, 14 * 4))
def test_a_pattern_means_what_python_means_by_it(form: str, moment: dt.datetime, quarters: int) -> None:
    Files("x.csv", event_time="at", time_format=form, time_zone="UTC")
    aware = moment.replace(tzinfo=dt.timezone(dt.timedelta(minutes=15 * quarters)))
    text = aware.strftime(form)
    expected = dt.datetime.strptime(text, form)  # noqa: DTZ007 - compared as what it says
    naive = expected.replace(tzinfo=None) - (expected.utcoffset() or dt.timedelta())
    assert read([text], form, "UTC") == [(naive - EPOCH) // dt.timedelta(microseconds=1)]


@given(st.text(alphabet="0123456789.: +-Z", max_size=24))
def test_text_that_python_takes_for_no_time_of_a_pattern_is_none(text: str) -> None:
    (micros,) = read([text], "%d.%m.%Y %H:%M", "UTC")
    tidy = re.sub(r"\s+", " ", text.strip())
    try:
        expected = dt.datetime.strptime(tidy, "%d.%m.%Y %H:%M")  # noqa: DTZ007 - compared as what it says
    except ValueError:
        # What only chrono takes for a year lies beyond the calendar, or before the year 1000.
        assert micros is None or not ELEMENT_TIMES[0] <= micros < ELEMENT_TIMES[1] or "+" in text
    else:
        assert micros in {None, (expected - EPOCH) // dt.timedelta(microseconds=1)}


LOCAL = st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2030, 1, 1))  # noqa: DTZ001 - local


@given(LOCAL, st.sampled_from(["Europe/Vienna", "America/New_York"]))
def test_local_times_are_those_of_the_zone_s_clocks(moment: dt.datetime, zone: str) -> None:
    local = moment.replace(microsecond=0)
    (micros,) = read([str(local)], "%Y-%m-%d %H:%M:%S", zone)
    instant = local.replace(tzinfo=ZoneInfo(zone))
    exists = instant.astimezone(dt.UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local
    assert micros == (to_micros(instant.astimezone(dt.UTC)) if exists else None)


def test_dates_are_read_in_their_format() -> None:
    texts = pl.DataFrame({"day": ["31.12.2013", "2013-12-31", "", None]})
    assert texts.select(dates(pl.col("day"), "%d.%m.%Y"))["day"].to_list() == [dt.date(2013, 12, 31), None, None, None]
    assert texts.select(dates(pl.col("day"), None))["day"].to_list() == [None, dt.date(2013, 12, 31), None, None]
