"""What is known of a plan before it runs: each proof refuses what it should, and each way out is a way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    LATEST,
    AfterDelay,
    AllOf,
    AnyOf,
    AtCount,
    AtEpoch,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    GlobalWindows,
    PaneLog,
    Pipeline,
    Repeat,
    RepeatUntil,
    Risk,
    SequenceOf,
    SessionWindows,
    Sum,
    Trigger,
    column,
)
from airflow_dataflow_provider.model.proofs import fires_once, never_fires_in_a_stream
from airflow_dataflow_provider.model.sinks import Sink

BARE = Pipeline("p", Files("a", event_time="t"))
HOURS, SESSIONS, GLOBAL = FixedWindows("1h"), SessionWindows("1m"), GlobalWindows()
ON_TIME = AtWatermark()
END = AtPunctuation(column("kind") == "END")


@dataclass(frozen=True)
class Upserts(Sink):
    """A sink that overwrites by key and window, and takes nothing back."""

    takes_retractions = False


def plan(trigger: Trigger = Repeat(ON_TIME), *, before: Pipeline = BARE, **how: Any) -> Pipeline:  # noqa: B008
    return before.group_by_key_and_window(**{"key": "k", "window": HOURS, "trigger": trigger, **how}).combine(n=Count())


def code_of(write: Any) -> str | None:
    try:
        write()
    except DataflowError as error:
        return error.code
    return None


# May lose data


@pytest.mark.parametrize(
    ("trigger", "how", "loses"),
    [
        (ON_TIME, {}, False),  # nothing can come after the watermark
        (ON_TIME, {"allowed_lateness": "1h"}, True),
        (ON_TIME, {"window": GLOBAL}, True),  # the next run may bring more
        (AtWatermark(97), {}, True),
        (AtCount(5), {}, True),
        (AfterDelay("1m"), {}, True),
        (Repeat(AtCount(5)), {"allowed_lateness": "1h"}, False),
        (SequenceOf(AtWatermark(97), ON_TIME), {}, False),
        (SequenceOf(AtWatermark(97), ON_TIME), {"allowed_lateness": "1h"}, True),
        (SequenceOf(AtWatermark(97), Repeat(ON_TIME)), {"allowed_lateness": "1h"}, False),
        (RepeatUntil(AtPeriod("1m"), ON_TIME), {}, False),
        (RepeatUntil(AtPeriod("1m"), END), {}, True),
        (AnyOf(Repeat(AtCount(5)), END), {}, True),
        (AllOf(Repeat(AtCount(5)), END), {}, False),
    ],
    ids=repr,
)
def test_a_plan_whose_elements_can_come_after_the_last_firing_is_refused(
    trigger: Trigger, how: dict[str, Any], loses: bool
) -> None:
    assert code_of(lambda: plan(trigger, **how)) == ("DEFINITION_MAY_LOSE_DATA" if loses else None)
    assert code_of(lambda: plan(trigger, **how, accept=(Risk.MAY_LOSE_DATA,))) is None


@pytest.mark.parametrize("out", [Repeat(AtCount(5)), SequenceOf(AtCount(5), Repeat(AtWatermark()))], ids=repr)
def test_the_ways_out_of_losing_data_that_the_message_names_are_ways_out(out: Trigger) -> None:
    with pytest.raises(DataflowError) as caught:
        plan(AtCount(5), allowed_lateness="1h")
    assert repr(out) in caught.value.hint
    plan(out, allowed_lateness="1h")


# May never fire


@pytest.mark.parametrize(
    ("trigger", "window", "never"),
    [
        (SequenceOf(Repeat(AtCount(5)), ON_TIME), HOURS, True),  # the second never has its turn
        (SequenceOf(SequenceOf(ON_TIME, Repeat(ON_TIME)), AtEpoch()), HOURS, True),
        (Repeat(END), HOURS, False),  # published at the latest when the window expires
        (Repeat(END), GLOBAL, True),
        (Repeat(AtSignal("go")), GLOBAL, True),
        (Repeat(AnyOf(END, AtPeriod("1h"))), GLOBAL, False),
        (Repeat(AllOf(END, AtPeriod("1h"))), GLOBAL, True),
        (Repeat(AtCount(5)), GLOBAL, False),
        (Repeat(ON_TIME), GLOBAL, False),  # a bounded input ends
    ],
    ids=repr,
)
def test_a_plan_whose_window_can_wait_for_ever_is_refused(trigger: Trigger, window: Any, never: bool) -> None:
    assert code_of(lambda: plan(trigger, window=window)) == ("DEFINITION_MAY_NEVER_FIRE" if never else None)
    assert code_of(lambda: plan(trigger, window=window, accept=("may-never-fire",))) is None


def test_the_ways_out_of_never_firing_that_the_message_names_are_ways_out() -> None:
    with pytest.raises(DataflowError) as caught:
        plan(Repeat(END), window=GLOBAL)
    assert f"Repeat(AnyOf({Repeat(END)!r}, AtPeriod('1h')))" in caught.value.hint
    plan(Repeat(AnyOf(Repeat(END), AtPeriod("1h"))), window=GLOBAL)
    plan(Repeat(END), window=HOURS)
    plan(SequenceOf(RepeatUntil(AtCount(5), AtWatermark()), ON_TIME))


def test_what_only_the_end_of_input_completes_never_fires_in_a_stream() -> None:
    assert never_fires_in_a_stream(plan(Repeat(ON_TIME), window=GLOBAL).grouping) is not None
    assert never_fires_in_a_stream(plan(Repeat(AtCount(5)), window=GLOBAL).grouping) is None
    assert never_fires_in_a_stream(plan(Repeat(ON_TIME)).grouping) is None


# Needs retraction


EARLY = SequenceOf(AtWatermark(97), Repeat(ON_TIME))


@pytest.mark.parametrize(
    ("how", "needs"),
    [
        ({"window": SESSIONS}, False),  # each fires once
        ({"window": SESSIONS, "trigger": EARLY}, True),
        ({"window": SESSIONS, "allowed_lateness": "1m"}, True),
        ({"window": SESSIONS, "trigger": EARLY, "refinement": DISCARDING}, True),
        ({"window": SESSIONS, "trigger": EARLY, "refinement": ACCUMULATING_AND_RETRACTING}, False),
        ({"window": HOURS, "trigger": EARLY}, False),
    ],
    ids=repr,
)
def test_windows_that_merge_after_they_were_published_need_retractions(how: dict[str, Any], needs: bool) -> None:
    assert code_of(lambda: plan(**how)) == ("DEFINITION_NEEDS_RETRACTION" if needs else None)
    assert code_of(lambda: plan(**how, accept=(Risk.NEEDS_RETRACTION,))) is None


def test_a_sink_that_takes_no_retractions_is_not_given_any() -> None:
    retracting = plan(refinement=ACCUMULATING_AND_RETRACTING)
    assert code_of(lambda: retracting.write(Upserts())) == "DEFINITION_NEEDS_RETRACTION"
    assert code_of(lambda: retracting.write(PaneLog())) is None
    assert code_of(lambda: plan().write(Upserts())) is None
    accepted = plan(refinement=ACCUMULATING_AND_RETRACTING, accept=(Risk.NEEDS_RETRACTION,))
    assert code_of(lambda: accepted.write(Upserts())) is None


# Several groupings


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ({}, {}, None),
        ({}, {"window": SESSIONS}, None),
        ({"refinement": DISCARDING}, {}, None),
        ({"allowed_lateness": "1h"}, {}, "DEFINITION_NEEDS_RETRACTION"),
        ({"allowed_lateness": "1h"}, {"refinement": ACCUMULATING_AND_RETRACTING}, None),
        ({"allowed_lateness": "1h"}, {"accept": (Risk.NEEDS_RETRACTION,)}, None),
        (
            {"trigger": EARLY, "refinement": DISCARDING},
            {"refinement": ACCUMULATING_AND_RETRACTING},
            "DEFINITION_NEEDS_RETRACTION",
        ),
        ({"trigger": EARLY, "refinement": DISCARDING, "accept": (Risk.NEEDS_RETRACTION,)}, {}, None),
        (
            {"trigger": EARLY},
            {"window": SESSIONS, "refinement": ACCUMULATING_AND_RETRACTING},
            "DEFINITION_GROUPINGS",
        ),
        ({"window": GLOBAL}, {}, "DEFINITION_GROUPINGS"),
        ({"window": GLOBAL, "output_time": LATEST}, {}, None),
    ],
    ids=repr,
)
def test_a_second_grouping_follows_what_it_can_be_right_about(
    first: dict[str, Any], second: dict[str, Any], code: str | None
) -> None:
    assert code_of(lambda: plan(before=plan(**first), **second)) == code


def test_a_result_in_the_middle_cannot_have_the_time_of_an_element_that_may_be_taken_back() -> None:
    middle: dict[str, Any] = {"refinement": ACCUMULATING_AND_RETRACTING, "output_time": LATEST}
    assert code_of(lambda: plan(before=plan(before=plan(allowed_lateness="1h"), **middle))) == "DEFINITION_GROUPINGS"
    assert code_of(lambda: plan(before=plan(before=plan(), **middle))) is None


def test_a_second_grouping_reads_what_the_first_one_gives_and_nothing_else() -> None:
    second = plan().group_by_key_and_window(key=("k", "n"), window=HOURS)
    assert code_of(lambda: second.combine(total=Sum("n"))) is None
    assert code_of(lambda: second.combine(total=Sum("value"))) == "DEFINITION_GROUPINGS"


@pytest.mark.parametrize(
    ("how", "once"),
    [
        ({}, True),
        ({"trigger": ON_TIME}, True),
        ({"allowed_lateness": "1us"}, False),
        ({"trigger": Repeat(AtWatermark(97))}, False),
        ({"trigger": EARLY}, False),
    ],
    ids=repr,
)
def test_only_the_watermark_without_lateness_lets_a_window_fire_once(how: dict[str, Any], once: bool) -> None:
    assert fires_once(plan(**how).grouping) is once


# Risks


@pytest.mark.parametrize("accept", [(Risk.MAY_LOSE_DATA,), ("may-lose-data",), "may-lose-data", {*Risk}])
def test_a_risk_is_accepted_by_name_and_stands_in_the_plan(accept: Any) -> None:
    pipeline = plan(AtCount(5), accept=accept)
    assert Risk.MAY_LOSE_DATA in pipeline.grouping.accept
    assert "Risk.MAY_LOSE_DATA" in repr(pipeline)


def test_accepting_one_risk_accepts_no_other() -> None:
    assert code_of(lambda: plan(AtCount(5), accept=(Risk.MAY_NEVER_FIRE, Risk.NEEDS_RETRACTION))) is not None
    assert code_of(lambda: plan(ACCUMULATING)) == "DEFINITION_TRIGGER"  # type: ignore[arg-type]
