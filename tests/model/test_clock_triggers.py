"""Triggers that look at clocks: each says no until its moment, and finishes with its firing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import AfterDelay, AtEpoch, AtPeriod, AtSignal, AtWatermark, Trigger
from airflow_dataflow_provider.model.triggers import Situation
from tests.model.situations import at, element

LEAVES = (AtWatermark(), AtWatermark(97), AtPeriod("10us"), AfterDelay("10us"), AtEpoch(), AtSignal("go"))
EVERY = pytest.mark.parametrize("trigger", LEAVES, ids=repr)


@EVERY
def test_between_boundaries_no_clock_is_looked_at(trigger: Trigger) -> None:
    late = at(50, now=1000, signals={"go"}, boundary=False)
    state = trigger.on_clock(trigger.initial(), late)
    assert not trigger.should_fire(state, late)
    assert not trigger.looks_at_elements


@EVERY
def test_with_everything_reached_it_is_due_and_its_firing_is_its_last(trigger: Trigger) -> None:
    late = at(50, now=1000, signals={"go"})
    state = trigger.on_clock(trigger.initial(), late)
    assert trigger.should_fire(state, late)
    assert trigger.on_fire(state, late) == (trigger.initial(), True)
    assert trigger.reset(state) == trigger.initial()


@EVERY
def test_elements_alone_change_nothing_about_it(trigger: Trigger) -> None:
    state = trigger.on_element(trigger.initial(), element(x=1), at(boundary=False))
    assert state == trigger.initial()
    assert not trigger.should_fire(state, at(boundary=False))


@EVERY
def test_what_finishes_may_lose_data(trigger: Trigger) -> None:
    assert repr(trigger) in (trigger.may_lose_data() or "")


# The watermark


PASSED = frozenset({100.0})


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (at(9), False),
        (at(10), True),
        (at(11), True),
        (at(10, first=None), True),  # says that the window is complete, even where nothing has changed
        (at(10, first=None, passed=PASSED), False),
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
    assert AtWatermark(97).percentiles() == {97.0}


# Processing time


@pytest.mark.parametrize(
    ("first", "now", "due"),
    [
        (5, 9, False),
        (5, 10, True),  # a tick is in time for those that arrived before it
        (10, 10, False),  # what arrives on a tick waits for the next one
        (10, 19, False),
        (10, 20, True),
        (-1, 0, True),
        (5, 1000, True),
        (None, 1000, False),
    ],
)
def test_a_period_is_over_when_a_tick_lies_between_the_first_new_arrival_and_the_clock(
    first: int | None, now: int, due: bool
) -> None:
    assert AtPeriod("10us").should_fire(None, at(now=now, first=first)) is due


@given(st.integers(1, 100), st.integers(-1000, 1000), st.integers(0, 1000), st.integers(-300, 300))
def test_ticks_are_the_multiples_of_the_period_since_the_epoch_and_an_offset_moves_them(
    period: int, first: int, wait: int, offset: int
) -> None:
    ticks = [tick for tick in range(first + 1, first + wait + 1) if (tick - offset) % period == 0]
    trigger = AtPeriod(f"{period}us", offset=f"{offset}us")
    assert trigger.should_fire(None, at(now=first + wait, first=first)) is bool(ticks)
    assert trigger == AtPeriod(f"{period}us", offset=f"{offset + 7 * period}us")


@pytest.mark.parametrize(("first", "now", "due"), [(5, 14, False), (5, 15, True), (5, 99, True), (None, 99, False)])
def test_a_delay_is_over_so_long_after_the_first_new_arrival(first: int | None, now: int, due: bool) -> None:
    assert AfterDelay("10us").should_fire(None, at(now=now, first=first)) is due


@pytest.mark.parametrize("trigger", [AtPeriod("10us"), AfterDelay("10us")], ids=repr)
def test_where_a_run_says_so_timers_see_another_processing_time(trigger: Trigger) -> None:
    assert not trigger.should_fire(None, at(now=1000, timers=5))
    assert trigger.should_fire(None, at(now=5, timers=1000))


# Epochs and signals


def test_an_epoch_fires_at_its_boundary_if_it_brought_something() -> None:
    assert AtEpoch().should_fire(None, at(first=0))
    assert not AtEpoch().should_fire(None, at(first=None))


def test_a_signal_is_heard_by_windows_with_something_new_and_by_no_others() -> None:
    trigger = AtSignal("go")
    assert trigger.on_clock(False, at(signals={"go", "stop"}))
    assert not trigger.on_clock(False, at(signals={"stop"}))
    assert not trigger.on_clock(False, at(signals={"go"}, first=None))
    assert trigger.signals() == {"go"}


def test_a_signal_that_was_heard_is_remembered_until_a_pane_is_fired() -> None:
    trigger = AtSignal("go")
    heard = trigger.on_clock(trigger.initial(), at(signals={"go"}))
    assert trigger.on_clock(heard, at()) is heard
    assert trigger.should_fire(heard, at())
    assert not trigger.should_fire(heard, at(first=None))
    assert trigger.on_fire(heard, at()) == (False, True)


def test_windows_that_merge_have_heard_what_one_of_them_has() -> None:
    trigger = AtSignal("go")
    assert trigger.on_merge([False, True], at()) is True
    assert trigger.on_merge([False, False], at()) is False
