"""Several groupings in a row: the last one's final table is that of one batch over the same input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    EARLIEST,
    END_OF_WINDOW,
    LATEST,
    AtCount,
    AtEpoch,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Min,
    OutputTime,
    Pipeline,
    Repeat,
    SequenceOf,
    SessionWindows,
    Sum,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.model.proofs import fires_once
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.time import to_datetime
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, NOTHING_KNOWN
from airflow_dataflow_provider.reference.interpreter import Counts, Epoch, Interpreter, interpret
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.strategies import elements, latenesses
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import moment
from tests.reference.generated import FIXED, OUTPUT_TIMES, SESSIONS, SOURCE, TRIGGERS, scripts

END = Epoch(Clock(2**52, END_OF_INPUT))
BARE = Pipeline("two", SOURCE)
LATER = Repeat(SequenceOf(AtEpoch(), AtWatermark()))


@st.composite
def two_groupings(draw: DrawFn) -> Pipeline:
    """A first grouping of any kind, and a second one that may follow it."""
    window = draw(FIXED | SESSIONS)
    first = BARE.group_by_key_and_window(
        key=draw(st.sampled_from(["key", ("key", "site")])),
        window=window,
        trigger=draw(TRIGGERS),
        refinement=draw(st.sampled_from([ACCUMULATING, ACCUMULATING_AND_RETRACTING])),
        # Sessions that have expired do not merge any more, as they would in one batch.
        allowed_lateness="1d" if window.merges else draw(latenesses()),
        output_time=draw(OUTPUT_TIMES),
        accept=tuple(Risk),
    ).combine(rows=Count(), total=Sum("whole"))
    return first.group_by_key_and_window(
        key=draw(st.sampled_from(["key", "rows", ("rows", "key")])),
        window=draw(FIXED),
        trigger=draw(TRIGGERS.map(lambda tree: SequenceOf(AtCount(2), LATER) if tree.columns() else tree)),
        refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness=draw(latenesses()),
        accept=tuple(Risk),
    ).combine(results=Count(), sum=Sum("total"), most=Max("rows" if draw(st.booleans()) else "total"))


def table(panes: Iterable[Pane]) -> dict[Any, Any]:
    """The changelog applied: each row is taken back as it stands before another replaces it."""
    rows: dict[Any, Any] = {}
    for got in panes:
        place = (got.key, got.window)
        if got.is_retraction:
            assert rows.pop(place) == got.values
        else:
            assert place not in rows
            rows[place] = dict(got.values)
    return rows


PATIENT = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@PATIENT
@given(two_groupings(), elements(max_size=15), st.data())
def test_the_final_table_is_that_of_one_batch_over_the_same_input(
    pipeline: Pipeline, arriving: list[Any], data: DataObject
) -> None:
    script = data.draw(scripts(pipeline, arriving))
    interpreter = Interpreter(pipeline)
    panes = [got for epoch in (*script, END) for got in interpreter.epoch(epoch)]
    assert interpreter.stages[1].expired == []  # nothing is too late because of the stage before
    gone = [expired.element for expired in interpreter.stages[0].expired]
    once = [element for epoch in script for element in epoch.elements]
    # No batch over elements is the same where one has several windows and only some of them have expired.
    assume(not any(len(pipeline.groupings[0].window.assign(element.event_time)) > 1 for element in gone))
    for element in gone:
        once.remove(element)
    assert table(panes) == table(interpret(pipeline, [Epoch(Clock(0, NOTHING_KNOWN), once), END]).panes)


@PATIENT
@given(two_groupings(), elements(max_size=15), st.data())
def test_nothing_is_expired_or_late_only_because_of_the_grouping_before(
    pipeline: Pipeline, arriving: list[Any], data: DataObject
) -> None:
    script = data.draw(scripts(pipeline, arriving, with_batches=True))
    interpreter = Interpreter(pipeline)
    for epoch in script:
        interpreter.epoch(epoch)
        assert interpreter.stages[1].expired == []
    if interpreter.stages[0].late == 0 and not interpreter.stages[0].expired and not has_batches(script):
        assert interpreter.stages[1].late == 0


def has_batches(script: Iterable[Epoch]) -> bool:
    return any(epoch.horizon != epoch.clock.watermark for epoch in script)


@PATIENT
@given(two_groupings(), elements(max_size=12), st.data())
def test_the_second_groupings_watermark_never_goes_back_and_is_never_ahead(
    pipeline: Pipeline, arriving: list[Any], data: DataObject
) -> None:
    script = data.draw(scripts(pipeline, arriving))
    first = Interpreter(pipeline).stages[0]
    before = None
    for epoch in script:
        after = first.next_epoch(epoch, first.epoch(epoch))
        assert all(after.clock.watermarks.at(p) <= mark for p, mark in epoch.clock.watermarks)
        if before is not None:
            assert all(after.clock.watermarks.at(p) >= mark for p, mark in before.clock.watermarks)
            assert after.horizon >= before.horizon
        before = after


# By hand


def histogram(**second: Any) -> Pipeline:
    """How many sessions of each length (in elements) began in each minute."""
    sessions = BARE.group_by_key_and_window(
        key="key", window=SessionWindows("10s"), trigger=Repeat(AtEpoch()), allowed_lateness="1h",
        accept=(Risk.NEEDS_RETRACTION,), output_time=EARLIEST,
    ).combine(length=Count())  # fmt: skip
    return sessions.group_by_key_and_window(
        **{
            "key": "length", "window": FixedWindows("1m"), "trigger": Repeat(AtEpoch()),
            "refinement": ACCUMULATING_AND_RETRACTING, **second,
        }
    ).combine(sessions=Count())  # fmt: skip


def rows(*times: str, key: str = "k") -> list[dict[str, Any]]:
    return [{"key": key, "happened": f"12:00:{seconds}"} for seconds in times]


def told(panes: Iterable[Pane]) -> list[str]:
    return [f"{'-' if got.is_retraction else '+'}{got.values['sessions']} of {got.key[0]}" for got in panes]


def test_a_session_that_grows_moves_from_one_row_of_the_histogram_to_another() -> None:
    stream = TestStream(histogram()).add(*rows("01", "30")).advance_processing_time("00:01").add(*rows("05"))
    assert told(stream.run()) == ["+2 of 1", "-2 of 1", "+1 of 1", "+1 of 2"]


def test_sessions_that_merge_leave_a_row_of_the_histogram_empty_and_it_is_taken_back() -> None:
    stream = TestStream(histogram()).add(*rows("01", "15")).advance_processing_time("00:01").add(*rows("08"))
    assert told(stream.run()) == ["+2 of 1", "-2 of 1", "+1 of 3"]


def test_a_row_that_was_empty_and_comes_again_stands_again() -> None:
    stream = TestStream(histogram()).add(*rows("01")).advance_processing_time("00:01").add(*rows("02"))
    again = stream.advance_processing_time("00:02").add(*rows("40", key="other"))
    assert told(again.run()) == ["+1 of 1", "-1 of 1", "+1 of 2", "+1 of 1"]


SUMS = BARE.group_by_key_and_window(key="key", window=FixedWindows("10s")).combine(total=Sum("value"))


def of_sums(**second: Any) -> Pipeline:
    return SUMS.group_by_key_and_window(**{"key": "key", "window": FixedWindows("20s"), **second}).combine(
        tens=Count(), total=Sum("total")
    )


def value(time: str, number: int = 1) -> dict[str, Any]:
    return {"key": "k", "value": number, "happened": f"12:00:{time}"}


def test_a_result_has_the_last_instant_of_its_window_as_its_event_time() -> None:
    stream = TestStream(of_sums()).add(value("01"), value("09"), value("15", 4)).end_of_input()
    assert_panes(stream.run(), [pane("k", "12:00:00", "12:00:20", tens=2, total=6)])


def test_the_columns_of_a_result_are_its_key_its_aggregates_and_its_window() -> None:
    later = SUMS.group_by_key_and_window(key="total", window=GlobalWindows())
    pipeline = later.combine(keys=Max("key"), start=Min("window_start"), end=Max("window_end"))
    stream = TestStream(pipeline).add(value("01"), value("15", 4)).end_of_input()
    assert [(*got.key, *got.values.values()) for got in stream.run()] == [
        (total, "k", to_datetime(moment(start)), to_datetime(moment(end)))
        for total, start, end in ((1, "12:00:00", "12:00:10"), (4, "12:00:10", "12:00:20"))
    ]


@pytest.mark.parametrize(
    ("output_time", "start", "end"),
    [
        (END_OF_WINDOW, "12:00:40", "12:01:00"),
        (EARLIEST, "12:00:00", "12:00:20"),
        (LATEST, "12:00:20", "12:00:40"),
    ],
)
def test_an_output_time_decides_where_a_result_belongs(output_time: OutputTime, start: str, end: str) -> None:
    first = BARE.group_by_key_and_window(key="key", window=SessionWindows("20s"), output_time=output_time)
    pipeline = (
        first.combine(total=Sum("value")).group_by_key_and_window(key="key", window=FixedWindows("20s"))
    ).combine(total=Sum("total"))  # fmt: skip
    stream = TestStream(pipeline).add(value("05"), value("15"), value("30")).end_of_input()
    assert_panes(stream.run(), [pane("k", start, end, total=3)])


def test_the_second_watermark_waits_for_the_windows_that_the_first_has_not_completed() -> None:
    pipeline = of_sums(trigger=Repeat(AtWatermark()), allowed_lateness="1h")
    stream = TestStream(pipeline).add(value("01"), value("15")).advance_watermark("12:00:19")
    assert stream.run() == []
    assert [got.timing for got in stream.advance_watermark("12:00:20").run()] == [PaneTiming.ON_TIME]


def test_a_result_that_comes_with_the_watermark_that_completes_its_window_is_on_time() -> None:
    stream = TestStream(of_sums()).add(value("01")).advance_watermark("12:00:05").advance_watermark("12:03")
    outcome = interpret(stream.pipeline, stream.epochs())
    assert outcome.counts == Counts(read=1, late=0, expired=0)
    assert [(got.timing, got.values["total"]) for got in outcome.panes] == [(PaneTiming.ON_TIME, 1)]


def test_counted_results_fire_with_the_result_that_completes_the_count_before_the_watermark_moves_on() -> None:
    pipeline = of_sums(
        trigger=SequenceOf(AtCount(1), Repeat(AtWatermark())), refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness="1h",
    )  # fmt: skip
    stream = TestStream(pipeline).add(value("01"), value("15")).advance_watermark("12:03")
    assert [(got.timing, got.values["tens"]) for got in stream.run()] == [
        (PaneTiming.EARLY, 1), (PaneTiming.ON_TIME, 1), (PaneTiming.ON_TIME, 2),
    ]  # fmt: skip


def test_a_late_result_of_the_first_grouping_is_late_in_the_second_too() -> None:
    first = BARE.group_by_key_and_window(key="key", window=FixedWindows("10s"), allowed_lateness="1h")
    pipeline = first.combine(total=Sum("value")).group_by_key_and_window(
        key="key", window=FixedWindows("20s"), refinement=ACCUMULATING_AND_RETRACTING, allowed_lateness="1h"
    ).combine(total=Sum("total"))  # fmt: skip
    stream = TestStream(pipeline).add(value("01")).advance_watermark("12:01").add(value("02", 4))
    assert [(got.timing, got.values["total"], got.is_retraction) for got in stream.run()] == [
        (PaneTiming.ON_TIME, 1, False), (PaneTiming.LATE, 1, True), (PaneTiming.LATE, 5, False),
    ]  # fmt: skip


def test_a_late_element_that_lets_an_open_session_begin_earlier_is_not_too_late_for_the_second_grouping() -> None:
    long = [{"key": "k", "happened": f"12:0{minute}:30"} for minute in range(6)]
    pipeline = BARE.group_by_key_and_window(
        key="key", window=SessionWindows("61s"), trigger=Repeat(AtEpoch()), refinement=ACCUMULATING_AND_RETRACTING,
        output_time=EARLIEST,
    ).combine(length=Count())  # fmt: skip
    pipeline = pipeline.group_by_key_and_window(
        key="key", window=FixedWindows("10s"), refinement=ACCUMULATING_AND_RETRACTING
    ).combine(length=Max("length"))  # fmt: skip
    stream = TestStream(pipeline).add(*long).advance_watermark("12:05").add(*rows("05")).end_of_input()
    outcome = interpret(stream.pipeline, stream.epochs())
    assert outcome.counts == Counts(read=7, late=0, expired=0)
    assert_panes(outcome.panes, [pane("k", "12:00:00", "12:00:10", length=7)])


def test_a_discarding_grouping_that_fires_once_may_be_followed_by_another() -> None:
    discarding = replace(SUMS, groupings=(replace(SUMS.grouping, refinement=DISCARDING),))
    pipeline = discarding.group_by_key_and_window(key="key", window=FixedWindows("20s")).combine(total=Sum("total"))
    assert fires_once(pipeline.groupings[0])
    stream = TestStream(pipeline).add(value("01"), value("15", 4)).end_of_input()
    assert_panes(stream.run(), [pane("k", "12:00:00", "12:00:20", total=5)])
