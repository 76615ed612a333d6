"""A stream driven by hand: what is written step by step is what an engine gets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from airflow_dataflow_provider import (
    AnyOf,
    AtSignal,
    AtWatermark,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    SubmissionError,
    Sum,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.testing.engines import engine_names
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import moment


def pipeline(key: str | tuple[str, ...] = "key", arrival_time: str | None = None, **combiners: Any) -> Pipeline:
    source = Files("events/*.parquet", event_time="happened", arrival_time=arrival_time)
    grouped = Pipeline("p", source).group_by_key_and_window(
        key=key, window=FixedWindows("1m"), trigger=Repeat(AtWatermark(60)), allowed_lateness="1h"
    )
    return grouped.combine(**combiners or {"total": Sum("value"), "rows": Count()})


STREAM = TestStream(pipeline())


def test_the_example_of_the_documentation_runs() -> None:
    panes = (
        TestStream(pipeline())
        .advance_processing_time("12:05:19")
        .add(("k", 5, "12:00:26"))
        .advance_watermark("12:02")
        .end_of_input()
        .run()
    )
    assert_panes(panes, [pane("k", "12:00", "12:01", total=5, rows=1, processing_time="12:05:19", watermark="12:02")])


def test_what_is_added_in_a_row_is_one_epoch_and_every_step_of_a_clock_is_another() -> None:
    stream = (
        STREAM.add(("k", 1, "12:00"))
        .add(("k", 2, "12:00"), ("k", 3, "12:00"))
        .advance_processing_time("12:05")
        .advance_watermark("12:02")
        .add(("k", 4, "12:00"))
        .end_of_input()
    )
    assert [len(epoch.elements) for epoch in stream.epochs()] == [3, 0, 0, 1, 0]
    assert [epoch.clock.processing_time for epoch in stream.epochs()] == [moment("00:00"), *[moment("12:05")] * 4]
    assert [epoch.clock.watermark for epoch in stream.epochs()] == [
        MIN_TIME,
        MIN_TIME,
        *[moment("12:02")] * 2,
        MAX_TIME,
    ]
    assert all(epoch.horizon == epoch.clock.watermark for epoch in stream.epochs())


def test_a_step_leaves_the_stream_it_was_called_on_as_it_was() -> None:
    stream = STREAM.add(("k", 1, "12:00"))
    stream.add(("k", 2, "12:00"))
    stream.advance_watermark("13:00").end_of_input()
    assert [[element.row["value"] for element in epoch.elements] for epoch in stream.epochs()] == [[1]]


def test_adding_nothing_is_no_step() -> None:
    assert STREAM.add() == STREAM
    assert STREAM.epochs() == ()


def test_an_element_arrives_at_the_processing_time_as_it_stands() -> None:
    [_, epoch] = STREAM.advance_processing_time("12:05").add(("k", 1, "12:00")).epochs()
    assert (epoch.elements[0].event_time, epoch.elements[0].arrival_time) == (moment("12:00"), moment("12:05"))


def test_an_element_has_every_column_that_the_pipeline_reads() -> None:
    stream = TestStream(pipeline(key=("site", "user"), arrival_time="seen")).add(((1, None), 5, "12:00:26"))
    [element] = stream.epochs()[0].elements
    noon = dt.datetime(2013, 1, 1, 12, 0, 26, tzinfo=dt.UTC)
    midnight = dt.datetime(2013, 1, 1, tzinfo=dt.UTC)
    assert element.row == {"site": 1, "user": None, "value": 5, "happened": noon, "seen": midnight}
    assert {*stream.pipeline.input_columns()} == {*element.row}


def test_a_row_gives_the_columns_by_name_and_may_have_more() -> None:
    row = {"key": "k", "value": None, "happened": "12:00:26", "note": "kept"}
    [element] = STREAM.add(row).epochs()[0].elements
    assert element.row == {**row, "happened": dt.datetime(2013, 1, 1, 12, 0, 26, tzinfo=dt.UTC)}


def test_a_pipeline_that_reads_no_value_takes_none() -> None:
    [element] = TestStream(pipeline(rows=Count())).add(("k", None, "12:00")).epochs()[0].elements
    assert {*element.row} == {"key", "happened"}


def test_the_key_the_times_and_the_value_may_be_read_twice() -> None:
    stream = TestStream(pipeline(rows=Count("key"), times=Count("happened"), total=Sum("value"), known=Count("value")))
    panes = stream.add(("k", 5, "12:00:26")).end_of_input().run()
    assert_panes(panes, [pane("k", "12:00", "12:01", rows=1, times=1, total=5, known=1)])


@pytest.mark.parametrize(
    "written",
    [
        "12:00:26",
        "2013-01-01T12:00:26Z",
        "2013-01-01T07:00:26-05:00",
        dt.datetime(2013, 1, 1, 12, 0, 26, tzinfo=dt.UTC),
    ],
    ids=str,
)
def test_a_time_is_a_time_of_day_or_complete(written: str | dt.datetime) -> None:
    assert STREAM.advance_processing_time(written).clock.processing_time == moment("12:00:26")


def test_times_of_day_are_on_the_day_of_the_stream() -> None:
    stream = TestStream(pipeline(), day="2024-02-29").advance_watermark("12:00:00.5")
    assert stream.clock.watermark == moment("2024-02-29T12:00:00.5Z")
    assert stream.clock.processing_time == moment("2024-02-29T00:00:00Z")


def test_the_watermark_of_a_percentile_takes_the_lower_ones_along_and_leaves_the_higher() -> None:
    curve = STREAM.advance_watermark("12:00").advance_watermark("12:05", percentile=97).clock.watermarks
    assert {share: curve.at(share) == moment("12:05") for share in (50, 60, 97, 98, 100)} == {
        50: True, 60: True, 97: True, 98: False, 100: False,
    }  # fmt: skip
    assert curve.at(100) == moment("12:00")
    ahead = STREAM.advance_watermark("12:09", percentile=50).advance_watermark("12:05", percentile=97).clock.watermarks
    assert (ahead.at(50), ahead.at(97)) == (moment("12:09"), moment("12:05"))


def test_the_watermarks_are_known_at_the_percentiles_that_the_pipeline_publishes_and_those_that_were_moved() -> None:
    assert STREAM.clock.watermarks.percentiles == pipeline().percentiles()
    assert 60 in pipeline().percentiles()
    assert STREAM.advance_watermark("12:00", percentile=12.5).clock.watermarks.at(12.5) == moment("12:00")


def test_at_the_end_of_input_every_watermark_is_at_infinity() -> None:
    assert {time for _, time in STREAM.advance_watermark("12:00").end_of_input().clock.watermarks} == {MAX_TIME}


def signalled() -> Pipeline:
    source = Files("events/*.parquet", event_time="happened")
    grouped = Pipeline("p", source).group_by_key_and_window(
        key="key", window=FixedWindows("1h"), trigger=Repeat(AnyOf(AtSignal("now"), AtSignal("then")))
    )
    return grouped.combine(total=Sum("value"))


def test_a_signal_is_heard_once_by_what_has_come_so_far() -> None:
    stream = (
        TestStream(signalled())
        .add(("k", 1, "12:00"))
        .raise_signal("now")
        .add(("k", 2, "12:01"))
        .advance_processing_time("13:00")
        .raise_signal("then", "now")
    )
    assert [sorted(epoch.clock.signals) for epoch in stream.epochs()] == [[], ["now"], [], [], ["now", "then"]]
    assert stream.clock.signals == frozenset()
    assert_panes(stream.run(), [pane("k", "12:00", "13:00", total=1), pane("k", "12:00", "13:00", total=3)])


def test_raising_nothing_is_no_step() -> None:
    assert TestStream(signalled()).raise_signal().epochs() == ()


def test_a_signal_that_no_trigger_listens_to_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SubmissionError) as caught:
        TestStream(signalled()).raise_signal("later")
    assert (caught.value.code, caught.value.hint) == ("SUBMIT_SIGNAL", "raise one of now, then")
    with pytest.raises(SubmissionError) as caught:
        STREAM.raise_signal("now")
    assert "no signal at all" in caught.value.hint


def test_clocks_may_stand_still() -> None:
    stream = STREAM.advance_watermark("12:00").advance_processing_time("12:00")
    assert stream.advance_watermark("12:00").advance_processing_time("12:00").clock == stream.clock


@pytest.mark.parametrize(
    ("code", "write"),
    [
        ("TIME_BACKWARDS", lambda: STREAM.advance_watermark("12:00").advance_watermark("11:59")),
        ("TIME_BACKWARDS", lambda: STREAM.advance_watermark("12:00").advance_watermark("11:59", percentile=50)),
        ("TIME_BACKWARDS", lambda: STREAM.end_of_input().advance_watermark("12:00")),
        ("TIME_BACKWARDS", lambda: STREAM.advance_processing_time("12:00").advance_processing_time("11:59")),
        ("TIME_UNPARSABLE", lambda: STREAM.advance_watermark("noon")),
        ("TIME_UNPARSABLE", lambda: STREAM.advance_watermark("25:00")),
        ("TIME_UNPARSABLE", lambda: STREAM.add(("k", 1, None))),
        ("TIME_UNPARSABLE", lambda: TestStream(pipeline(), day="someday")),
        ("TIME_NAIVE", lambda: STREAM.add(("k", 1, "2013-01-01T12:00:00"))),
        ("DEFINITION_PERCENTILE", lambda: STREAM.advance_watermark("12:00", percentile=0)),
        ("DEFINITION_INCOMPLETE", lambda: TestStream(Pipeline("p", Files("a", event_time="t")))),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.end_of_input().add(("k", 1, "12:00"))),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.add(("k", "12:00"))),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.add("k")),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.add((("k", "site"), 1, "12:00"))),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.add({"key": "k", "happened": "12:00"})),
        ("DEFINITION_TEST_ELEMENT", lambda: STREAM.add({"value": 1, "key": "k"})),
        (
            "DEFINITION_TEST_ELEMENT",  # two columns: which one is meant?
            lambda: TestStream(pipeline(a=Sum("a"), b=Sum("b"))).add(("k", 1, "12:00")),
        ),
        ("DEFINITION_TEST_ELEMENT", lambda: TestStream(pipeline(rows=Count())).add(("k", 1, "12:00"))),
        (
            "DEFINITION_TEST_ELEMENT",  # the stream says when it arrives
            lambda: TestStream(pipeline(arrival_time="seen")).add(
                {"key": "k", "value": 1, "happened": "12:00", "seen": "12:01"}
            ),
        ),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused(code: str, write: Callable[[], object]) -> None:
    with pytest.raises(DataflowError) as caught:
        write()
    assert caught.value.code == code


def test_an_unknown_engine_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SubmissionError) as caught:
        STREAM.run(engine="steam")
    assert caught.value.code == "ENGINE_UNKNOWN"
    assert all(name in caught.value.hint for name in engine_names())


def test_the_reference_is_the_engine_unless_another_is_named() -> None:
    stream = STREAM.add(("k", 1, "12:00")).end_of_input()
    assert stream.run() == stream.run(engine="reference") != []


def test_a_stream_starts_where_a_script_left_off() -> None:
    first = STREAM.add(("k", 1, "12:00")).advance_watermark("12:02")
    assert TestStream(first.pipeline, script=first.epochs()) == first
    assert isinstance(first.clock, Clock)


def test_its_name_does_not_make_it_a_class_of_tests() -> None:
    assert TestStream.__test__ is False
