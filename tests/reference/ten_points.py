"""The ten points of the Dataflow Model's running example, and its figures as scripts with the panes they must give."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider import (
    ACCUMULATING,
    AtWatermark,
    Files,
    FixedWindows,
    GlobalWindows,
    Pipeline,
    Refinement,
    Repeat,
    Sum,
)
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.testing.panes import ExpectedPane, pane
from airflow_dataflow_provider.testing.stream import TestStream

POINTS = (
    # value, event time, arrival
    (5, "12:00:26", "12:05:19"),
    (7, "12:02:24", "12:05:39"),
    (3, "12:03:39", "12:06:13"),
    (4, "12:03:50", "12:06:29"),
    (3, "12:04:19", "12:06:39"),
    (8, "12:03:06", "12:07:06"),
    (3, "12:06:39", "12:07:19"),
    (9, "12:01:25", "12:08:19"),
    (8, "12:07:26", "12:08:39"),
    (1, "12:07:46", "12:08:50"),
)
WATERMARKS = {
    "12:06:05": "12:02:00",
    "12:07:30": "12:04:00",
    "12:07:40": "12:06:00",
    "12:09:30": "12:08:00",
    "12:10:00": "12:10:00",
}
"""The heuristic watermark: processing time, and where it stands from then on. It is ahead of the 9."""


AGAIN_AND_AGAIN = Repeat(AtWatermark())


def summing(
    window: WindowStrategy, trigger: Trigger = AGAIN_AND_AGAIN, refinement: Refinement = ACCUMULATING
) -> Pipeline:
    return (
        Pipeline("ten_points", Files("points/*.parquet", event_time="happened"))
        .group_by_key_and_window(
            key="key", window=window, trigger=trigger, refinement=refinement, allowed_lateness="1h"
        )
        .combine(total=Sum("value"))
    )


def in_one_batch(pipeline: Pipeline) -> TestStream:
    stream = TestStream(pipeline).advance_processing_time("12:10")
    return stream.add(*(("k", value, event_time) for value, event_time, _ in POINTS)).end_of_input()


def in_batches_of_a_minute(pipeline: Pipeline) -> TestStream:
    """A batch at each full minute, of what has arrived since the last; its watermark is the batch's end."""
    stream, before = TestStream(pipeline), ""
    for minute in ("12:06", "12:07", "12:08", "12:09"):
        batch = [("k", value, event_time) for value, event_time, arrival in POINTS if before <= arrival < minute]
        stream = stream.advance_processing_time(minute).add(*batch).advance_watermark(minute)
        before = minute
    return stream


def as_a_stream(pipeline: Pipeline) -> TestStream:
    """Every point and every step of the watermark at its own moment."""
    stream = TestStream(pipeline)
    arrivals = {arrival: ("k", value, event_time) for value, event_time, arrival in POINTS}
    for moment in sorted({*arrivals, *WATERMARKS}):
        stream = stream.advance_processing_time(moment)
        if moment in arrivals:
            stream = stream.add(arrivals[moment])
        if moment in WATERMARKS:
            stream = stream.advance_watermark(WATERMARKS[moment])
    return stream


@dataclass(frozen=True, slots=True)
class Figure:
    number: int
    stream: TestStream
    panes: tuple[ExpectedPane, ...]

    def __str__(self) -> str:
        return f"figure {self.number}"


def _fixed(
    start: str, end: str, total: int, timing: str, index: int, *, at: str, watermark: str, last: bool = False
) -> ExpectedPane:
    return pane(
        "k", start, end, total=total, pane_timing=timing, pane_index=index, pane_is_first=index == 0,
        processing_time=at, watermark=watermark, completeness=1.0, pane_is_last=last,
    )  # fmt: skip


def _of_all_time(total: int) -> ExpectedPane:
    return pane(
        "k", None, None, total=total, pane_timing="ON_TIME", pane_index=0, pane_is_first=True, pane_is_last=True,
        processing_time="12:10", watermark="+inf", completeness=1.0,
    )  # fmt: skip


TWO_MINUTES = FixedWindows("2m")

FIGURES = (
    Figure(6, in_one_batch(summing(GlobalWindows(), AtWatermark())), (_of_all_time(51),)),
    Figure(
        10,
        in_one_batch(summing(TWO_MINUTES)),
        (
            _fixed("12:00", "12:02", 14, "ON_TIME", 0, at="12:10", watermark="+inf", last=True),
            _fixed("12:02", "12:04", 22, "ON_TIME", 0, at="12:10", watermark="+inf", last=True),
            _fixed("12:04", "12:06", 3, "ON_TIME", 0, at="12:10", watermark="+inf", last=True),
            _fixed("12:06", "12:08", 12, "ON_TIME", 0, at="12:10", watermark="+inf", last=True),
        ),
    ),
    Figure(
        11,
        in_batches_of_a_minute(summing(TWO_MINUTES)),
        (
            _fixed("12:00", "12:02", 5, "ON_TIME", 0, at="12:06", watermark="12:06"),
            _fixed("12:02", "12:04", 7, "ON_TIME", 0, at="12:06", watermark="12:06"),
            _fixed("12:02", "12:04", 14, "LATE", 1, at="12:07", watermark="12:06"),
            _fixed("12:04", "12:06", 3, "ON_TIME", 0, at="12:07", watermark="12:06"),
            _fixed("12:02", "12:04", 22, "LATE", 2, at="12:08", watermark="12:07"),
            _fixed("12:06", "12:08", 3, "ON_TIME", 0, at="12:08", watermark="12:08"),
            _fixed("12:00", "12:02", 14, "LATE", 1, at="12:09", watermark="12:08"),
            _fixed("12:06", "12:08", 12, "LATE", 1, at="12:09", watermark="12:08"),
        ),
    ),
    Figure(
        12,
        as_a_stream(summing(TWO_MINUTES)),
        (
            _fixed("12:00", "12:02", 5, "ON_TIME", 0, at="12:06:05", watermark="12:02"),
            _fixed("12:02", "12:04", 22, "ON_TIME", 0, at="12:07:30", watermark="12:04"),
            _fixed("12:04", "12:06", 3, "ON_TIME", 0, at="12:07:40", watermark="12:06"),
            _fixed("12:00", "12:02", 14, "LATE", 1, at="12:08:19", watermark="12:06"),
            _fixed("12:06", "12:08", 12, "ON_TIME", 0, at="12:09:30", watermark="12:08"),
        ),
    ),
)
"""Those that the triggers of today can draw."""
