"""Trees of triggers: what they look at, and what can be said of them before anything runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import AtWatermark, Repeat, SequenceOf, Trigger
from airflow_dataflow_provider.model.time import MIN_TIME
from tests.model.situations import at

WATERMARKS = st.recursive(
    st.sampled_from([AtWatermark(), AtWatermark(97)]),
    lambda below: st.builds(Repeat, below) | st.lists(below, min_size=1, max_size=3).map(lambda p: SequenceOf(*p)),
    max_leaves=5,
)


def test_a_tree_knows_every_percentile_that_it_looks_at() -> None:
    trigger = SequenceOf(AtWatermark(50), Repeat(SequenceOf(AtWatermark(97), AtWatermark(99.5))), AtWatermark())
    assert trigger.percentiles() == {50, 97, 99.5, 100}


@pytest.mark.parametrize(
    ("trigger", "loses"),
    [
        (AtWatermark(), True),
        (Repeat(AtWatermark()), False),
        (SequenceOf(AtWatermark(97), AtWatermark()), True),
        (SequenceOf(AtWatermark(97), Repeat(AtWatermark())), False),
        (SequenceOf(Repeat(AtWatermark(97)), AtWatermark()), False),
        (Repeat(SequenceOf(AtWatermark(97), AtWatermark())), False),
    ],
    ids=repr,
)
def test_a_tree_says_whether_elements_could_come_after_its_last_firing(trigger: Trigger, loses: bool) -> None:
    assert (trigger.may_lose_data() is not None) is loses


@given(WATERMARKS)
def test_no_trigger_is_due_before_anything_has_come(trigger: Trigger) -> None:
    assert not trigger.should_fire(trigger.initial(), at(MIN_TIME, first=None))


@given(WATERMARKS)
def test_a_tree_that_cannot_lose_data_never_finishes(trigger: Trigger) -> None:
    state, finished, now = trigger.initial(), False, at(10)
    for _ in range(30):
        if finished:
            break
        assert trigger.should_fire(state, now)
        state, finished = trigger.on_fire(state, now)
    assert finished is (trigger.may_lose_data() is not None)
