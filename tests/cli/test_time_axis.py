from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from airflow_dataflow_provider.cli.pictures.time_axis import ticks
from airflow_dataflow_provider.model.time import duration, to_micros

START = to_micros("2013-01-01T00:00:00Z")
YEARS = duration("3650d")


def labels(start: str, length: str, most: int = 8) -> list[tuple[str, str]]:
    begin = to_micros(start)
    return [(tick.label, tick.above) for tick in ticks(begin, begin + duration(length), most)]


def test_hours_carry_the_day_where_it_is_new() -> None:
    told = labels("2013-01-01T21:30:00Z", "5h")
    assert told == [("22:00", "Jan 1"), ("23:00", ""), ("00:00", "Jan 2"), ("01:00", ""), ("02:00", "")]


def test_days_carry_the_year() -> None:
    told = labels("2012-12-30T01:00:00Z", "4d")
    assert told == [("Dec 31", "2012"), ("Jan 1", "2013"), ("Jan 2", ""), ("Jan 3", "")]


def test_months_begin_at_their_first_day() -> None:
    told = labels("2012-11-02T00:00:00Z", "200d")
    assert told == [("Dec", "2012"), ("Jan", "2013"), ("Feb", ""), ("Mar", ""), ("Apr", ""), ("May", "")]


def test_a_second_is_cut_into_milliseconds() -> None:
    told = labels("2013-01-01T00:00:00Z", "1s", most=3)
    assert told == [("00.000", "00:00"), ("00.500", ""), ("01.000", "")]


@given(st.integers(START - YEARS, START + YEARS), st.integers(10_000, YEARS), st.integers(3, 10))
def test_ticks_are_few_in_order_evenly_spread_and_on_the_axis(start: int, length: int, most: int) -> None:
    found = [tick.at for tick in ticks(start, start + length, most)]
    assert len(found) <= most
    assert all(start <= at <= start + length for at in found)
    steps = [after - before for before, after in pairwise(found)]
    assert all(step > 0 for step in steps)
    # Months differ by three days at most, and years by one.
    assert not steps or max(steps) - min(steps) <= duration("3d")


@pytest.mark.parametrize("length", ["1s", "1m", "1h", "1d", "7d", "60d", "365d", "3650d"])
def test_there_are_enough_ticks_to_read_the_axis(length: str) -> None:
    assert len(ticks(START, START + duration(length), 8)) >= 3
