"""A clock that a test drives by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_dataflow_provider import DataflowError
from airflow_dataflow_provider.testing.clock import HandDrivenClock
from airflow_dataflow_provider.testing.times import moment


def test_it_stands_still_until_it_is_moved() -> None:
    clock = HandDrivenClock()
    assert clock() == clock() == moment("00:00")
    assert clock.advance("90s") == clock() == moment("00:01:30")
    assert clock.advance_to("12:00") == clock() == moment("12:00")


def test_it_begins_where_the_test_says() -> None:
    assert HandDrivenClock("12:05:19")() == moment("12:05:19")
    assert HandDrivenClock("12:05:19", day="2024-02-29")() == moment("2024-02-29T12:05:19Z")
    assert HandDrivenClock("2024-02-29T13:05:19+01:00")() == moment("2024-02-29T12:05:19Z")
    assert HandDrivenClock(day="2024-02-29").advance_to("12:00") == moment("2024-02-29T12:00:00Z")


def test_it_says_where_it_stands() -> None:
    assert repr(HandDrivenClock("12:00")) == "HandDrivenClock('2013-01-01T12:00:00Z', day='2013-01-01')"


@pytest.mark.parametrize(
    ("code", "move"),
    [
        ("TIME_BACKWARDS", lambda clock: clock.advance_to("11:59")),
        ("TIME_BACKWARDS", lambda clock: clock.advance("-1s")),
        ("TIME_BAD_DURATION", lambda clock: clock.advance("soon")),
        ("TIME_UNPARSABLE", lambda clock: clock.advance_to("soon")),
        ("TIME_UNPARSABLE", lambda _: HandDrivenClock(day="someday")),
    ],
)
def test_it_never_goes_back_and_takes_only_times(code: str, move: Callable[[HandDrivenClock], object]) -> None:
    clock = HandDrivenClock("12:00")
    with pytest.raises(DataflowError) as caught:
        move(clock)
    assert caught.value.code == code
    assert clock() == moment("12:00")
