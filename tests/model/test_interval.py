from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME

TIMES = st.integers(-5, 5) | st.just(MIN_TIME) | st.just(MAX_TIME)
INTERVALS = st.tuples(TIMES, TIMES).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Interval(*pair))


@given(INTERVALS)
def test_a_window_belongs_to_the_interval_in_which_it_ends(interval: Interval) -> None:
    assert not interval.contains(interval.start)
    assert interval.contains(interval.start + 1)
    assert interval.contains(interval.end)
    assert not interval.contains(interval.end + 1)


@given(INTERVALS)
def test_an_interval_is_read_back_exactly(interval: Interval) -> None:
    assert Interval.from_json(json.loads(json.dumps(interval.to_json()))) == interval


@pytest.mark.parametrize("end", [0, -1])
def test_an_interval_in_which_no_window_ends_is_refused(end: int) -> None:
    with pytest.raises(DefinitionError) as caught:
        Interval(0, end)
    assert caught.value.code == "SUBMIT_INTERVAL"
