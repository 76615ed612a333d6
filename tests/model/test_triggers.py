"""Triggers one by one, through the protocol that engines use."""

from __future__ import annotations

import pytest
from hypothesis import given

from airflow_dataflow_provider import AtWatermark, Repeat, SequenceOf, Window
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.triggers import Situation, Trigger
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.testing import strategies as generated


def at(
    watermark: int, *, w97: int | None = None, fresh: bool = True, passed: frozenset[float] = frozenset()
) -> Situation:
    curve = WatermarkCurve(((97.0, watermark if w97 is None else w97), (100.0, watermark)))
    return Situation(Clock(0, curve), Window(0, 10), 0 if fresh else None, passed)


PASSED = frozenset({100.0})


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (at(9), False),
        (at(10), True),
        (at(11), True),
        (at(10, fresh=False), True),  # says that the window is complete, even where nothing has changed
        (at(10, fresh=False, passed=PASSED), False),
        (at(10, passed=PASSED), True),
    ],
)
def test_a_watermark_trigger_is_due_at_the_end_of_its_window_and_whenever_that_is_news(
    now: Situation, due: bool
) -> None:
    assert AtWatermark().should_fire(None, now) is due


def test_a_percentile_trigger_looks_at_its_own_watermark() -> None:
    assert AtWatermark(97).should_fire(None, at(5, w97=10))
    assert not AtWatermark().should_fire(None, at(5, w97=10))


def test_a_watermark_trigger_finishes_when_it_fires() -> None:
    assert AtWatermark().on_fire(None, at(10)) == (None, True)


def test_repeat_starts_its_inner_trigger_again_and_never_finishes() -> None:
    trigger = Repeat(SequenceOf(AtWatermark(97), AtWatermark()))
    state = trigger.initial()
    states = [state]
    for _ in range(3):
        state, finished = trigger.on_fire(state, at(10))
        assert not finished
        states.append(state)
    assert states == [(0, None), (1, None), (0, None), (1, None)]


def test_sequence_of_moves_on_when_a_part_has_finished_and_finishes_with_the_last() -> None:
    trigger = SequenceOf(AtWatermark(97), AtWatermark())
    state = trigger.initial()
    assert trigger.should_fire(state, at(5, w97=10))
    state, finished = trigger.on_fire(state, at(5, w97=10))
    assert not finished
    assert not trigger.should_fire(state, at(5, w97=10, fresh=True, passed=frozenset({97.0})))
    assert trigger.should_fire(state, at(10, fresh=False, passed=frozenset({97.0})))
    state, finished = trigger.on_fire(state, at(10))
    assert finished
    assert not trigger.should_fire(state, at(10))


def test_merged_sequences_go_on_where_the_one_that_has_come_least_far_stands() -> None:
    trigger = SequenceOf(AtWatermark(97), AtWatermark())
    assert trigger.on_merge([(1, None), (0, None), (2, None)], at(5)) == (0, None)
    assert trigger.on_merge([(1, None), (2, None)], at(5)) == (1, None)
    assert trigger.on_merge([(2, None), (2, None)], at(5)) == (2, None)


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


@given(generated.triggers())
def test_no_trigger_is_due_before_any_watermark_has_come(trigger: Trigger) -> None:
    assert not trigger.should_fire(trigger.initial(), at(MIN_TIME))


@given(generated.triggers())
def test_a_tree_that_cannot_lose_data_never_finishes(trigger: Trigger) -> None:
    state, finished, now = trigger.initial(), False, at(10)
    for _ in range(30):
        if finished:
            break
        assert trigger.should_fire(state, now)
        state, finished = trigger.on_fire(state, now)
    assert finished is (trigger.may_lose_data() is not None)
