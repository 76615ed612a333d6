from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.progress.log.coverage import Coverage

_spans = st.tuples(st.integers(0, 20), st.integers(1, 5)).map(lambda span: (span[0], span[0] + span[1]))


def cover(*spans: tuple[int, int]) -> Coverage:
    covered = Coverage()
    for span in spans:
        covered = covered.with_interval(Interval(*span))
    return covered


@given(st.lists(_spans, max_size=8), st.integers(0, 30))
def test_a_window_is_covered_if_and_only_if_it_ends_in_one_of_the_spans(spans: list[tuple[int, int]], end: int) -> None:
    assert cover(*spans).covers(end) == any(low < end <= high for low, high in spans)


@given(st.lists(_spans, max_size=8), _spans)
def test_an_interval_is_covered_if_and_only_if_every_window_end_in_it_is(
    spans: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    covered, (start, end) = cover(*spans), asked
    assert covered.covers(end, start=start) == all(covered.covers(time) for time in range(start + 1, end + 1))


@given(st.lists(_spans, max_size=8).flatmap(lambda spans: st.tuples(st.just(spans), st.permutations(spans))))
def test_the_order_of_intervals_makes_no_difference(both: tuple[list[tuple[int, int]], list[tuple[int, int]]]) -> None:
    first, second = both
    assert cover(*first) == cover(*second)


@given(st.lists(_spans, max_size=8))
def test_a_coverage_is_read_back_exactly(spans: list[tuple[int, int]]) -> None:
    covered = cover(*spans, (MIN_TIME, 3))
    assert Coverage.from_json(json.loads(json.dumps(covered.to_json()))) == covered


def test_days_that_follow_one_another_are_one_interval() -> None:
    assert cover((20, 30), (0, 10), (10, 20)).intervals == (Interval(0, 30),)


def test_a_coverage_is_described_with_its_latest_spans() -> None:
    assert cover().describe() == "no interval is computed yet"
    told = cover(*((2 * second * 10**6, (2 * second + 1) * 10**6) for second in range(5))).describe()
    assert told.startswith("computed: 1970-01-01T00:00:08Z to 1970-01-01T00:00:09Z, ")
    assert told.endswith(", and 2 earlier")


@pytest.mark.parametrize("spans", [((0, 1), (1, 2)), ((3, 4), (0, 1))])
def test_spans_that_touch_or_are_out_of_order_are_no_coverage(spans: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(StateError) as error:
        Coverage(tuple(Interval(*span) for span in spans))
    assert error.value.code == "STATE_BAD_RECORD"
