"""The ten points of the Dataflow Model's running example, and its figures as scripts with the panes they must give."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AtCount,
    AtPeriod,
    AtWatermark,
    Files,
    FixedWindows,
    GlobalWindows,
    Pipeline,
    Refinement,
    Repeat,
    RepeatUntil,
    Risk,
    SequenceOf,
    SessionWindows,
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
MINUTES = ("12:06:00", "12:07:00", "12:08:00", "12:09:00", "12:10:00")
"""Moments at which nothing happens but that processing time goes on."""


AGAIN_AND_AGAIN = Repeat(AtWatermark())


def summing(
    window: WindowStrategy,
    trigger: Trigger = AGAIN_AND_AGAIN,
    refinement: Refinement = ACCUMULATING,
    *,
    accept: tuple[Risk, ...] = (),
) -> Pipeline:
    return (
        Pipeline("ten_points", Files("points/*.parquet", event_time="happened"))
        .group_by_key_and_window(
            key="key", window=window, trigger=trigger, refinement=refinement, allowed_lateness="1h", accept=accept
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
    """Every point, every step of the watermark and every full minute at its own moment."""
    stream = TestStream(pipeline)
    arrivals = {arrival: ("k", value, event_time) for value, event_time, arrival in POINTS}
    for moment in sorted({*arrivals, *WATERMARKS, *MINUTES}):
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
    start: str, end: str, total: int, timing: str, index: int, *, at: str, watermark: str, last: bool = False,
    complete: bool = True,
) -> ExpectedPane:  # fmt: skip
    return pane(
        "k", start, end, total=total, pane_timing=timing, pane_index=index, pane_is_first=index == 0,
        processing_time=at, watermark=watermark, completeness=float(complete), pane_is_last=last,
    )  # fmt: skip


def _of_all_time(total: int) -> ExpectedPane:
    return pane(
        "k", None, None, total=total, pane_timing="ON_TIME", pane_index=0, pane_is_first=True, pane_is_last=True,
        processing_time="12:10", watermark="+inf", completeness=1.0,
    )  # fmt: skip


def _so_far(total: int, index: int, *, at: str) -> ExpectedPane:
    return pane("k", None, None, total=total, pane_timing="EARLY", pane_index=index, processing_time=at)


def _session(start: str, end: str, total: int, timing: str, *, at: str) -> ExpectedPane:
    """A negative total is a retraction."""
    return pane(
        "k", start, end, total=abs(total), pane_timing=timing, pane_is_retraction=total < 0, processing_time=at
    )  # fmt: skip


TWO_MINUTES = FixedWindows("2m")
EVERY_MINUTE = Repeat(AtPeriod("1m"))
EARLY_AND_LATE = SequenceOf(RepeatUntil(AtPeriod("1m"), AtWatermark()), Repeat(AtWatermark()))

FIGURES = (
    Figure(6, in_one_batch(summing(GlobalWindows(), Repeat(AtWatermark()))), (_of_all_time(51),)),
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
    Figure(
        7,
        as_a_stream(summing(GlobalWindows(), EVERY_MINUTE)),
        tuple(_so_far(total, number, at=f"12:0{6 + number}") for number, total in enumerate((12, 22, 33, 51))),
    ),
    Figure(
        8,
        as_a_stream(summing(GlobalWindows(), EVERY_MINUTE, DISCARDING)),
        tuple(_so_far(total, number, at=f"12:0{6 + number}") for number, total in enumerate((12, 10, 11, 18))),
    ),
    Figure(
        9,
        as_a_stream(summing(GlobalWindows(), Repeat(AtCount(2)), DISCARDING)),
        tuple(_so_far(total, number, at=POINTS[2 * number + 1][2]) for number, total in enumerate((12, 7, 11, 12, 9))),
    ),
    Figure(
        13,
        as_a_stream(summing(TWO_MINUTES, EARLY_AND_LATE)),
        (
            _fixed("12:00", "12:02", 5, "EARLY", 0, at="12:06", watermark="-inf", complete=False),
            _fixed("12:02", "12:04", 7, "EARLY", 0, at="12:06", watermark="-inf", complete=False),
            _fixed("12:00", "12:02", 5, "ON_TIME", 1, at="12:06:05", watermark="12:02", complete=True),
            _fixed("12:02", "12:04", 14, "EARLY", 1, at="12:07", watermark="12:02", complete=False),
            _fixed("12:04", "12:06", 3, "EARLY", 0, at="12:07", watermark="12:02", complete=False),
            _fixed("12:02", "12:04", 22, "ON_TIME", 2, at="12:07:30", watermark="12:04", complete=True),
            _fixed("12:04", "12:06", 3, "ON_TIME", 1, at="12:07:40", watermark="12:06", complete=True),
            _fixed("12:06", "12:08", 3, "EARLY", 0, at="12:08", watermark="12:06", complete=False),
            _fixed("12:00", "12:02", 14, "LATE", 2, at="12:08:19", watermark="12:06", complete=True),
            _fixed("12:06", "12:08", 12, "EARLY", 1, at="12:09", watermark="12:06", complete=False),
            _fixed("12:06", "12:08", 12, "ON_TIME", 2, at="12:09:30", watermark="12:08", complete=True),
        ),
    ),
    Figure(
        14,
        as_a_stream(summing(SessionWindows("1m"), EARLY_AND_LATE, ACCUMULATING_AND_RETRACTING)),
        (
            _session("12:00:26", "12:01:26", 5, "EARLY", at="12:06"),
            _session("12:02:24", "12:03:24", 7, "EARLY", at="12:06"),
            _session("12:03:39", "12:05:19", 10, "EARLY", at="12:07"),
            _session("12:02:24", "12:03:24", -7, "ON_TIME", at="12:07:40"),
            _session("12:03:39", "12:05:19", -10, "ON_TIME", at="12:07:40"),
            _session("12:02:24", "12:05:19", 25, "ON_TIME", at="12:07:40"),
            _session("12:06:39", "12:07:39", 3, "EARLY", at="12:08"),
            _session("12:00:26", "12:01:26", -5, "LATE", at="12:08:19"),
            _session("12:02:24", "12:05:19", -25, "LATE", at="12:08:19"),
            _session("12:00:26", "12:05:19", 39, "LATE", at="12:08:19"),
            _session("12:06:39", "12:07:39", -3, "EARLY", at="12:09"),
            _session("12:06:39", "12:08:46", 12, "EARLY", at="12:09"),
        ),
    ),
)
"""All nine answers."""
