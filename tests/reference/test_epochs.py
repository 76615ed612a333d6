"""One epoch after the other: what is due, what is late, what expires, and what is said about each pane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AtWatermark,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    GlobalWindows,
    Pipeline,
    Refinement,
    Repeat,
    Risk,
    SequenceOf,
    Sum,
    Window,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Counts, Epoch, Interpreter, interpret
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import moment

EVERY_REFINEMENT = pytest.mark.parametrize("refinement", list(Refinement))
SPECULATING = SequenceOf(AtWatermark(97), Repeat(AtWatermark()))


def summing(**changed: Any) -> Pipeline:
    grouping = {"key": "key", "window": FixedWindows("1m"), "allowed_lateness": "1m", "accept": tuple(Risk), **changed}
    source = Files("events/*.parquet", event_time="happened")
    return Pipeline("p", source).group_by_key_and_window(**grouping).combine(total=Sum("value"))


def told(panes: Sequence[Pane]) -> list[str]:
    """``-5 LATE #0`` for a retraction of 5; ``first`` and ``last`` where they hold."""
    return [
        f"{'-' if pane.is_retraction else '+'}{pane.values['total']} {pane.timing} #{pane.index}"
        f"{' first' if pane.is_first else ''}{' last' if pane.is_last else ''}"
        for pane in panes
    ]


# What fires, and how it is called


def test_a_speculative_pane_is_early_then_one_is_on_time_then_they_are_late() -> None:
    stream = (
        TestStream(summing(trigger=SPECULATING))
        .add(("k", 1, "12:00:10"))
        .advance_watermark("12:01", percentile=97)
        .add(("k", 2, "12:00:20"))
        .advance_watermark("12:01")
        .add(("k", 4, "12:00:30"))
        .add(("k", 8, "12:00:40"))
        .advance_watermark("12:01:30")
        .add(("k", 16, "12:00:50"))
    )
    assert told(stream.run()) == ["+1 EARLY #0 first", "+3 ON_TIME #1", "+15 LATE #2", "+31 LATE #3"]


def test_an_on_time_pane_is_published_even_where_nothing_has_changed() -> None:
    stream = (
        TestStream(summing(trigger=SPECULATING))
        .add(("k", 1, "12:00:10"))
        .advance_watermark("12:01", percentile=97)
        .advance_watermark("12:01")
        .advance_watermark("12:01:30")
    )
    assert told(stream.run()) == ["+1 EARLY #0 first", "+1 ON_TIME #1"]


def test_watermarks_that_pass_together_give_one_pane() -> None:
    stream = TestStream(summing(trigger=SPECULATING)).add(("k", 1, "12:00:10")).advance_watermark("12:01")
    assert told(stream.run()) == ["+1 ON_TIME #0 first"]


def test_a_pane_is_named_after_the_ordinary_watermark_even_if_the_trigger_does_not_look_at_it() -> None:
    stream = (
        TestStream(summing(trigger=Repeat(AtWatermark(97))))
        .add(("k", 1, "12:00:10"))
        .advance_watermark("12:01", percentile=97)
        .advance_watermark("12:01")
        .add(("k", 2, "12:00:20"))
        .advance_processing_time("12:05")
        .add(("k", 4, "12:00:30"))
    )
    assert told(stream.run()) == ["+1 EARLY #0 first", "+3 ON_TIME #1", "+7 LATE #2"]


def test_elements_of_one_epoch_give_one_pane() -> None:
    stream = TestStream(summing()).advance_watermark("12:01").add(("k", 1, "12:00:10"), ("k", 2, "12:00:20"))
    assert told(stream.run()) == ["+3 ON_TIME #0 first"]


def test_a_pane_says_what_the_clocks_said_when_it_fired() -> None:
    stream = (
        TestStream(summing(trigger=SPECULATING))
        .add(("k", 1, "12:00:10"))
        .advance_processing_time("12:03")
        .advance_watermark("12:00:30")
        .advance_watermark("12:01:20", percentile=98)
    )
    assert_panes(
        stream.run(),
        [pane("k", "12:00", "12:01", total=1, processing_time="12:03", watermark="12:00:30", completeness=0.98)],
    )


def test_panes_of_an_epoch_come_by_window_and_key_nulls_first() -> None:
    rows = [("b", 1, "12:01:10"), (None, 2, "12:01:10"), ("a", 3, "12:01:10"), ("a", 4, "12:00:10")]
    panes = TestStream(summing()).add(*rows).advance_watermark("12:02").run()
    assert [(pane.key, pane.values["total"]) for pane in panes] == [(("a",), 4), ((None,), 2), (("a",), 3), (("b",), 1)]


def test_a_null_is_a_key_of_its_own_and_no_value() -> None:
    rows = [(None, 1, "12:00:10"), ("k", None, "12:00:10"), (None, None, "12:00:20")]
    panes = TestStream(summing()).add(*rows).end_of_input().run()
    assert_panes(panes, [pane(None, "12:00", "12:01", total=1), pane("k", "12:00", "12:01", total=0)])


def test_a_trigger_that_has_finished_never_fires_again_but_its_window_closes_with_what_came_since() -> None:
    stream = (
        TestStream(summing(trigger=AtWatermark()))
        .add(("k", 1, "12:00:10"))
        .advance_watermark("12:01")
        .add(("k", 2, "12:00:20"))
        .advance_watermark("12:01:59")
    )
    assert told(stream.run()) == ["+1 ON_TIME #0 first"]
    assert told(stream.advance_watermark("12:02").run()) == ["+1 ON_TIME #0 first", "+3 LATE #1 last"]


def test_a_window_whose_trigger_never_fired_closes_with_all_it_has() -> None:
    stream = TestStream(summing(trigger=SequenceOf(AtWatermark(50), AtWatermark())))
    stream = stream.add(("k", 1, "12:00:10")).advance_watermark("12:01", percentile=50).add(("k", 2, "12:00:10"))
    assert told(stream.end_of_input().run()) == ["+1 EARLY #0 first", "+3 ON_TIME #1 last"]


# How refinements relate


def after_an_early_pane(refinement: Refinement) -> TestStream:
    stream = TestStream(summing(trigger=SPECULATING, refinement=refinement))
    return stream.add(("k", 1, "12:00:10")).advance_watermark("12:01", percentile=97)


def test_discarding_publishes_nothing_where_nothing_came_and_the_next_is_late_all_the_same() -> None:
    stream = after_an_early_pane(DISCARDING).advance_watermark("12:01").add(("k", 2, "12:00:20"))
    assert told(stream.run()) == ["+1 EARLY #0 first", "+2 LATE #1"]


def test_retracting_publishes_nothing_where_the_values_stand_and_the_next_is_late_all_the_same() -> None:
    stream = after_an_early_pane(ACCUMULATING_AND_RETRACTING).advance_watermark("12:01").add(("k", 2, "12:00:20"))
    assert told(stream.run()) == ["+1 EARLY #0 first", "-1 LATE #0", "+3 LATE #1"]


def test_retracting_publishes_nothing_where_what_came_changes_no_value() -> None:
    stream = after_an_early_pane(ACCUMULATING_AND_RETRACTING).add(("k", None, "12:00:20")).end_of_input()
    assert told(stream.run()) == ["+1 EARLY #0 first"]


def test_accumulating_publishes_what_came_even_where_it_changes_no_value() -> None:
    stream = after_an_early_pane(ACCUMULATING).add(("k", None, "12:00:20")).end_of_input()
    assert told(stream.run()) == ["+1 EARLY #0 first", "+1 ON_TIME #1 last"]


def test_discarding_publishes_what_came_even_where_it_is_null() -> None:
    stream = after_an_early_pane(DISCARDING).add(("k", None, "12:00:20")).end_of_input()
    assert told(stream.run()) == ["+1 EARLY #0 first", "+0 ON_TIME #1 last"]


# Late, expired, and the end of a window


@EVERY_REFINEMENT
def test_the_pane_with_which_its_window_goes_is_the_last(refinement: Refinement) -> None:
    stream = TestStream(summing(refinement=refinement, allowed_lateness=0)).add(("k", 1, "12:00:10"))
    assert told(stream.advance_watermark("12:01").run()) == ["+1 ON_TIME #0 first last"]


@EVERY_REFINEMENT
def test_no_pane_is_the_last_where_its_window_goes_without_one(refinement: Refinement) -> None:
    stream = TestStream(summing(refinement=refinement)).add(("k", 1, "12:00:10")).advance_watermark("12:01")
    assert told(stream.advance_watermark("12:02").run()) == ["+1 ON_TIME #0 first"]


def test_an_element_is_late_from_the_end_of_its_window_and_expired_once_the_lateness_has_run_out() -> None:
    stream = (
        TestStream(summing())
        .add(("k", 1, "12:00:10"))
        .advance_watermark("12:01")
        .add(("k", 2, "12:00:20"), ("k", 100, "12:01:00"))
        .advance_processing_time("12:05")
        .advance_watermark("12:02")
        .add(("k", 4, "12:00:30"))
    )
    outcome = interpret(stream.pipeline, stream.epochs())
    assert outcome.counts == Counts(read=4, late=1, expired=1)
    assert told(outcome.panes) == ["+1 ON_TIME #0 first", "+3 LATE #1", "+100 ON_TIME #0 first"]
    [gone] = outcome.expired
    assert gone.element.row["value"] == 4
    assert gone.window == Window(moment("12:00"), moment("12:01"))
    assert gone.watermark == moment("12:02")
    assert gone.delay == moment("12:05") - moment("12:00:30")


def test_an_element_is_expired_by_the_clock_of_its_own_epoch_even_while_its_window_is_open() -> None:
    pipeline = summing()
    before, after = TestStream(pipeline).add(("k", 1, "12:00:10")), TestStream(pipeline).add(("k", 2, "12:00:20"))
    clock = Clock(0, WatermarkCurve.flat(moment("12:02")))
    outcome = interpret(pipeline, [*before.epochs(), Epoch(clock, after.epochs()[0].elements)])
    assert told(outcome.panes) == ["+1 ON_TIME #0 first last"]
    assert outcome.counts == Counts(read=2, late=0, expired=1)


def test_without_lateness_an_element_is_never_late_it_is_in_time_or_expired() -> None:
    stream = TestStream(summing(allowed_lateness=0)).advance_watermark("12:01")
    stream = stream.add(("k", 1, "12:00:59"), ("k", 2, "12:01:00"))
    assert interpret(stream.pipeline, stream.epochs()).counts == Counts(read=2, late=0, expired=1)


def test_the_global_window_expires_at_the_end_of_input_whatever_its_lateness() -> None:
    stream = TestStream(summing(window=GlobalWindows(), allowed_lateness="365d")).add(("k", 1, "12:00:10"))
    assert told(stream.end_of_input().run()) == ["+1 ON_TIME #0 first last"]


# The end of a batch's input: everything fires, and what may go on stays open


def test_at_the_end_of_a_batch_all_fires_and_a_later_run_goes_on_where_its_horizon_stood() -> None:
    pipeline = summing(refinement=ACCUMULATING_AND_RETRACTING)
    run = TestStream(pipeline).advance_watermark("12:00:30").add(("k", 1, "12:00:10"))
    later = TestStream(pipeline).add(("k", 2, "12:00:20"))
    still = Clock(run.clock.processing_time, WatermarkCurve.flat(moment("12:00:40")))
    complete = Clock(run.clock.processing_time, WatermarkCurve.flat(moment("12:01")))
    interpreter = Interpreter(pipeline)
    for epoch in run.epochs():
        assert interpreter.epoch(epoch) == []
    end = Epoch(Clock(run.clock.processing_time, END_OF_INPUT), horizon=run.clock.watermark)
    assert told(interpreter.epoch(end)) == ["+1 ON_TIME #0 first"]
    assert told(interpreter.epoch(Epoch(still, later.epochs()[0].elements))) == []
    assert told(interpreter.epoch(Epoch(complete))) == ["-1 LATE #0", "+3 LATE #1"]
    assert interpreter.counts == Counts(read=2, late=0, expired=0)


def test_at_the_end_of_a_batch_what_the_horizon_has_passed_expires() -> None:
    pipeline = summing()
    epochs = TestStream(pipeline).add(("k", 1, "12:00:10"), ("k", 2, "12:03:00")).epochs()
    panes = interpret(pipeline, [*epochs, Epoch(Clock(0, END_OF_INPUT), horizon=moment("12:02"))]).panes
    assert told(panes) == ["+1 ON_TIME #0 first last", "+2 ON_TIME #0 first"]


def test_a_horizon_ahead_of_the_watermark_is_refused() -> None:
    with pytest.raises(DataflowError) as caught:
        Epoch(Clock(0, WatermarkCurve.flat(5)), horizon=6)
    assert caught.value.code == "DEFINITION_EPOCH"


def test_the_horizon_is_the_watermark_unless_it_is_said() -> None:
    assert Epoch(Clock(0, WatermarkCurve(((50.0, 9), (100.0, 5))))).horizon == 5
    assert Epoch(Clock(0, END_OF_INPUT)).horizon == MAX_TIME


def test_a_pipeline_that_computes_nothing_is_refused() -> None:
    with pytest.raises(DataflowError) as caught:
        Interpreter(Pipeline("p", Files("a", event_time="t")))
    assert caught.value.code == "DEFINITION_INCOMPLETE"


def test_several_aggregates_and_key_columns_stand_side_by_side() -> None:
    pipeline = (
        Pipeline("p", Files("events/*.parquet", event_time="happened"))
        .group_by_key_and_window(key=("site", "user"), window=FixedWindows("1m"))
        .combine(total=Sum("value"), rows=Count(), known=Count("value"))
    )
    rows = [((1, "a"), 5, "12:00:10"), ((1, None), 6, "12:00:10"), ((1, "a"), None, "12:00:20")]
    assert_panes(
        TestStream(pipeline).add(*rows).end_of_input().run(),
        [
            pane((1, "a"), "12:00", "12:01", total=5, rows=2, known=1),
            pane((1, None), "12:00", "12:01", total=6, rows=1, known=1),
        ],
    )
