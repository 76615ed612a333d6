"""A script on Spark says what the reference says: panes, elements that came too late, and counts."""

from __future__ import annotations

import pytest

from airflow_dataflow_provider import (
    AtSignal,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    SequenceOf,
    Sum,
)
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.stream import TestStream

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SOURCE = Pipeline("p", Files("events/*.parquet", event_time="happened"))


@pytest.mark.parametrize("engine", ["spark-micro-batch", "spark-streaming"])
def test_elements_that_come_too_late_are_told_with_their_windows_and_counted(engine: str) -> None:
    grouped = SOURCE.group_by_key_and_window(key="key", window=FixedWindows("1m"), allowed_lateness="30s")
    stream = (
        TestStream(grouped.combine(total=Sum("value")))
        .add(("a", 1, "12:00:10"), ("a", 2, "12:01:10"))
        .advance_watermark("12:01:10")
        .advance_processing_time("12:05")
        .add(("a", 3, "12:00:20"))
        .advance_watermark("12:01:30")
        .add(("a", 4, "12:00:30"), ("b", 5, "12:02"))
        .end_of_input()
    )
    told, wanted = stream.outcome(engine), stream.outcome()
    assert_panes(told.panes, wanted.panes)
    assert told.expired == wanted.expired
    assert told.counts == wanted.counts
    assert (told.counts.read, told.counts.late, told.counts.expired) == (5, 1, 1)


@pytest.mark.parametrize("engine", ["spark-micro-batch", "spark-streaming"])
def test_a_signal_is_heard_by_what_has_come_before_it(engine: str) -> None:
    grouped = SOURCE.group_by_key_and_window(
        key="key", window=FixedWindows("1h"), trigger=SequenceOf(AtSignal("publish"), Repeat(AtWatermark()))
    )
    stream = (
        TestStream(grouped.combine(rows=Count(), total=Sum("value")))
        .add(("a", 1, "12:00:10"))
        .raise_signal("publish")
        .add(("a", 2, "12:01:10"), ("b", 3, "12:01:20"))
        .raise_signal("publish")
        .add(("b", 4, "12:01:30"))
        .end_of_input()
    )
    assert_panes(stream.run(engine), stream.run())
    assert [found.timing for found in stream.run()] == ["EARLY", "EARLY", "ON_TIME", "ON_TIME"]


@pytest.mark.parametrize("engine", ["spark-batch", "spark-micro-batch", "spark-streaming"])
def test_a_script_without_steps_publishes_nothing(engine: str) -> None:
    grouped = SOURCE.group_by_key_and_window(key="key", window=FixedWindows("1h"))
    assert TestStream(grouped.combine(rows=Count())).run(engine) == []
