"""FLIP-134's policies: what each value means, and what is refused rather than ignored."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_dataflow_provider import (
    INGRESS_TIME,
    AfterDelay,
    AnyOf,
    AtCount,
    AtPeriod,
    AtWatermark,
    BatchPolicies,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    Pipeline,
    ProcessingTimeAtEndOfInput,
    Repeat,
    RepeatUntil,
    RuntimeMode,
    SequenceOf,
    ShuffleMode,
    SubmissionError,
    Trigger,
)
from airflow_dataflow_provider.model.batch import FAIL, FIRE, IGNORE, processing_time_in
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.triggers import Situation
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.model.windows import Window

BATCH, MICRO_BATCH, STREAMING = RuntimeMode.BATCH, RuntimeMode.MICRO_BATCH, RuntimeMode.STREAMING
BY_WATERMARK = Repeat(AtWatermark())
BY_CLOCK = RepeatUntil(AnyOf(AtPeriod("5m"), AfterDelay("1m")), AtWatermark())


def plan(trigger: Trigger = BY_WATERMARK, **source: Any) -> Pipeline:
    files = Files("a", **{"event_time": "t", **source})
    return (
        Pipeline("p", files)
        .group_by_key_and_window(key="k", window=FixedWindows("1h"), trigger=trigger)
        .combine(n=Count())
    )


def refused(
    policies: BatchPolicies, what: Pipeline, mode: RuntimeMode = BATCH, *, has_interval: bool = False
) -> SubmissionError:
    with pytest.raises(SubmissionError) as refusal:
        policies.check(what, mode, has_interval=has_interval)
    return refusal.value


def test_a_plan_without_choices_runs_in_every_mode() -> None:
    for mode in (BATCH, MICRO_BATCH, STREAMING):
        BatchPolicies().check(plan(BY_CLOCK), mode, has_interval=False)


def test_the_parts_that_look_at_processing_time_are_found_and_named() -> None:
    assert processing_time_in(plan()) == ()
    assert processing_time_in(plan(Repeat(AtCount(3)))) == ()
    assert processing_time_in(plan(BY_CLOCK)) == ("AtPeriod('5m')", "AfterDelay('1m')")
    assert processing_time_in(plan(event_time=INGRESS_TIME)) == ("event_time=INGRESS_TIME",)
    assert processing_time_in(plan(event_time=INGRESS_TIME, arrival_time="seen")) == ()


def test_processing_time_that_is_not_allowed_is_refused_in_every_mode() -> None:
    strict = BatchPolicies(allow_processing_time=False)
    for mode in (BATCH, MICRO_BATCH, STREAMING):
        strict.check(plan(), mode, has_interval=False)
        refusal = refused(strict, plan(BY_CLOCK), mode)
        assert refusal.code == "SUBMIT_PROCESSING_TIME"
        assert "AtPeriod('5m') and AfterDelay('1m')" in refusal.what
    assert "INGRESS_TIME" in refused(strict, plan(event_time=INGRESS_TIME)).what


@pytest.mark.parametrize("policy", ProcessingTimeAtEndOfInput)
def test_a_policy_for_the_end_of_input_is_refused_where_the_input_does_not_end(
    policy: ProcessingTimeAtEndOfInput,
) -> None:
    asked = BatchPolicies(processing_time_at_end_of_input=policy)
    asked.check(plan(BY_CLOCK), BATCH, has_interval=False)
    asked.check(plan(BY_CLOCK), STREAMING, has_interval=False)  # a drain ends it
    assert refused(asked, plan(BY_CLOCK), MICRO_BATCH).code == "SUBMIT_PROCESSING_TIME"


def test_an_interval_must_not_replace_results_with_nothing() -> None:
    for policy in (IGNORE, FAIL):
        asked = BatchPolicies(processing_time_at_end_of_input=policy)
        asked.check(plan(), BATCH, has_interval=True)
        assert refused(asked, plan(BY_CLOCK), has_interval=True).code == "SUBMIT_PROCESSING_TIME"
    BatchPolicies(processing_time_at_end_of_input=FIRE).check(plan(BY_CLOCK), BATCH, has_interval=True)


def test_pipelined_exchanges_are_refused_and_blocking_ones_are_what_spark_does() -> None:
    for mode in (BATCH, MICRO_BATCH, STREAMING):
        for shuffle in (ShuffleMode.AUTOMATIC, ShuffleMode.ALL_EXCHANGES_BLOCKING):
            BatchPolicies(shuffle_mode=shuffle).check(plan(), mode, has_interval=False)
        pipelined = BatchPolicies(shuffle_mode=ShuffleMode.ALL_EXCHANGES_PIPELINED)
        assert refused(pipelined, plan(), mode).code == "SUBMIT_SHUFFLE_MODE"


def test_an_input_share_is_a_batch_s_and_needs_a_state_to_be_completed_on() -> None:
    asked, by_share = BatchPolicies(input_share=0.95), plan(SequenceOf(AtWatermark(90), BY_WATERMARK))
    asked.check(by_share, BATCH, has_interval=False)
    assert refused(asked, by_share, STREAMING).code == "SUBMIT_INPUT_SHARE"
    assert refused(asked, by_share, MICRO_BATCH).code == "SUBMIT_INPUT_SHARE"
    assert refused(asked, by_share, has_interval=True).code == "SUBMIT_INPUT_SHARE"


@pytest.mark.parametrize(
    ("trigger", "publishes"),
    [
        (BY_WATERMARK, False),
        (Repeat(AtWatermark(97)), False),
        (Repeat(AtWatermark(95)), True),
        (Repeat(AnyOf(AtWatermark(), AtCount(10))), True),
        (BY_CLOCK, True),
    ],
)
def test_an_input_share_at_which_nothing_would_be_published_is_refused(trigger: Trigger, *, publishes: bool) -> None:
    asked = BatchPolicies(input_share=0.95)
    if publishes:
        asked.check(plan(trigger), BATCH, has_interval=False)
    else:
        assert "looks at no watermark" in refused(asked, plan(trigger)).what
    BatchPolicies(input_share=1).check(plan(trigger), BATCH, has_interval=False)


def test_choices_are_read_as_users_write_them() -> None:
    asked = BatchPolicies(processing_time_at_end_of_input="IGNORE", shuffle_mode="ALL_EXCHANGES_BLOCKING")  # type: ignore[arg-type]
    assert asked == BatchPolicies(IGNORE, shuffle_mode=ShuffleMode.ALL_EXCHANGES_BLOCKING)
    with pytest.raises(DataflowError) as refusal:
        BatchPolicies(shuffle_mode="fast")  # type: ignore[arg-type]
    assert "automatic, all-exchanges-blocking, all-exchanges-pipelined" in refusal.value.hint


@pytest.mark.parametrize("trigger", [AtPeriod("1m"), AfterDelay("1m")])
@pytest.mark.parametrize(("timers", "due"), [(None, False), (MIN_TIME, False), (MAX_TIME, True)])
def test_triggers_see_the_processing_time_that_the_clock_has_for_them(
    trigger: Trigger, timers: int | None, *, due: bool
) -> None:
    clock = Clock(60_000_000, NOTHING_KNOWN, timers_until=timers)
    for first_arrival, answer in ((60_000_000, due), (None, False)):
        now = Situation(clock, Window(0, 1), first_arrival=first_arrival, passed=frozenset())
        assert trigger.should_fire(trigger.initial(), now) is answer


@pytest.mark.parametrize(("percent", "share"), [(95, 0.95), ("95", 0.95), (99.5, 0.995), (7, 0.07)])
def test_percent_are_not_taken_for_a_share(percent: float | str, share: float) -> None:
    with pytest.raises(DataflowError) as refusal:
        BatchPolicies(input_share=percent)  # type: ignore[arg-type]
    assert refusal.value.code == "SUBMIT_POLICY"
    assert refusal.value.hint.startswith(f"say {share!r} for ")


def test_a_share_fires_the_percentile_that_it_is_to_the_digit() -> None:
    for percent in range(1, 100):
        plan_of_it = plan(Repeat(AtWatermark(percent)))
        BatchPolicies(input_share=percent / 100).check(plan_of_it, BATCH, has_interval=False)
