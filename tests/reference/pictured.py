"""The pictures of the documents, each of a run of the reference: ``python -m tests.reference.pictured`` draws them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    CalendarWindows,
    Count,
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
    SlidingWindows,
    Trigger,
    WindowStrategy,
    column,
)
from airflow_dataflow_provider.cli.pictures.pane_picture import Point, draw_panes
from airflow_dataflow_provider.model.time import to_datetime, to_micros
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import moment
from tests.reference.ten_points import EARLY_AND_LATE, FIGURES, POINTS, TWO_MINUTES, WATERMARKS, summing
from tests.reference.window_picture import draw_windows

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
ARRIVED = tuple(Point(moment(event), moment(arrival), str(value)) for value, event, arrival in POINTS)
MINUTE, HOUR = 60_000_000, 3_600_000_000
VALUE = column("value")
GLOBAL = GlobalWindows()
TEN_SECONDS = tuple(f"12:{minute:02d}:{second:02d}" for minute in range(5, 11) for second in range(0, 60, 10))

WATERMARKS_90 = WATERMARKS
WATERMARKS_100 = {"12:08:30": "12:06:00", "12:10:00": "12:08:00"}
"""One that has waited for the 9."""


def script(
    pipeline: Pipeline,
    *,
    watermarks: dict[float, dict[str, str]] | None = None,
    signals: dict[str, str] | None = None,
    until: str = "12:10:00",
) -> TestStream:
    """The ten points at their moments; the clock is looked at every ten seconds."""
    stream, marks = TestStream(pipeline), {100: WATERMARKS} if watermarks is None else watermarks
    arrivals = {arrival: ("k", value, event) for value, event, arrival in POINTS}
    raised = signals or {}
    times = {*arrivals, *TEN_SECONDS, *raised, *(time for steps in marks.values() for time in steps)}
    for time in sorted(each for each in times if "12:05:10" <= each <= until):
        stream = stream.advance_processing_time(time)
        if time in arrivals:
            stream = stream.add(arrivals[time])
        for percentile, steps in marks.items():
            if time in steps:
                stream = stream.advance_watermark(steps[time], percentile)
        if time in raised:
            stream = stream.raise_signal(raised[time])
    return stream


def panes(stream: TestStream, title: str) -> str:
    return draw_panes(stream.pipeline.grouping, stream.epochs(), stream.run(), title, points=ARRIVED)


def trigger(
    title: str,
    tree: Trigger,
    *,
    window: WindowStrategy = TWO_MINUTES,
    refinement: Refinement = ACCUMULATING,
    **how: Any,
) -> Callable[[], str]:
    pipeline = summing(window, tree, refinement, accept=tuple(Risk))
    return lambda: panes(script(pipeline, **how), title)


def figure(number: int, title: str) -> Callable[[], str]:
    [found] = [figure for figure in FIGURES if figure.number == number]
    return lambda: panes(found.stream, f"Figure {number}: {title}")


def windows(title: str, window: WindowStrategy, *others: str) -> Callable[[], str]:
    """The ten points in one batch, for one key or for several."""
    stream = TestStream(summing(window, accept=(Risk.NEEDS_RETRACTION,))).add(
        *((key, value, event) for key in ("k", *others) for value, event, _ in POINTS)
    )
    span = (moment("12:00"), moment("12:09"))
    return lambda: draw_windows(stream.end_of_input(), title, span=span, step=MINUTE)


def days() -> str:
    """Three days around the night in which clocks go forward in Berlin, an element every six hours."""
    pipeline = (
        Pipeline("days", Files("events/*.parquet", event_time="happened"))
        .group_by_key_and_window(key="key", window=CalendarWindows("day", "Europe/Berlin"))
        .combine(n=Count())
    )
    first = to_micros("2013-03-30T00:00:00+01:00")
    times = [to_datetime(first + (6 * number + 1) * HOUR) for number in range(12)]
    stream = TestStream(pipeline).add(*({"key": "k", "happened": time} for time in times)).end_of_input()
    return draw_windows(
        stream, "Calendar windows: the day on which clocks go forward has 23 hours", span=(first, first + 71 * HOUR),
        step=12 * HOUR, marks="%d %b %H:%M", time_zone="Europe/Berlin",
    )  # fmt: skip


FIRST_SMALL_THEN_BIG = AtPattern(VALUE <= 4, VALUE >= 7)
PICTURES: dict[str, Callable[[], str]] = {
    "trigger-at-watermark": trigger("AtWatermark: when the window is complete", Repeat(AtWatermark())),
    "trigger-at-watermark-percentile": trigger(
        "AtWatermark(90): without waiting for the last tenth",
        SequenceOf(AtWatermark(90), Repeat(AtWatermark())),
        watermarks={90: WATERMARKS_90, 100: WATERMARKS_100},
    ),
    "trigger-at-period": trigger("AtPeriod: on the ticks of the clock", Repeat(AtPeriod("1m"))),
    "trigger-after-delay": trigger("AfterDelay: so long after the pane's first element", Repeat(AfterDelay("45s"))),
    "trigger-at-epoch": trigger("AtEpoch: with every epoch that brought something", Repeat(AtEpoch()), window=GLOBAL),
    "trigger-at-count": trigger("AtCount: with every second element", Repeat(AtCount(2))),
    "trigger-at-bytes": trigger(
        "AtBytes: with every 24 bytes, which are three numbers", Repeat(AtBytes(24, "value")), window=GLOBAL
    ),
    "trigger-at-punctuation": trigger(
        "AtPunctuation: with each element of at least 8", Repeat(AtPunctuation(VALUE >= 8)), window=GLOBAL
    ),
    "trigger-at-pattern": trigger(
        "AtPattern: a small element, directly followed by a big one", Repeat(FIRST_SMALL_THEN_BIG), window=GLOBAL
    ),
    "trigger-at-signal": trigger(
        "AtSignal: when somebody says so, here at 12:07:10 and 12:09",
        Repeat(AtSignal("publish")),
        signals={"12:07:10": "publish", "12:09:00": "publish"},
    ),
    "trigger-repeat": trigger(
        "Repeat: every second element; without it, the first two only",
        Repeat(AtCount(2)),
        window=GLOBAL,
        refinement=DISCARDING,
    ),
    "trigger-repeat-until": trigger(
        "RepeatUntil: every minute until the window is complete, then no more",
        RepeatUntil(AtPeriod("1m"), AtWatermark()),
    ),
    "trigger-any-of": trigger(
        "AnyOf: with three elements or on the minute, whichever is first",
        Repeat(AnyOf(AtCount(3), AtPeriod("1m"))),
        window=GLOBAL,
    ),
    "trigger-all-of": trigger(
        "AllOf: with three elements, and not before the minute is over",
        Repeat(AllOf(AtCount(3), AtPeriod("1m"))),
        window=GLOBAL,
    ),
    "trigger-sequence-of": trigger("SequenceOf: early, on time, late", EARLY_AND_LATE),
    "refinement-discarding": trigger(
        "Discarding: what is new since the last pane", EARLY_AND_LATE, refinement=DISCARDING
    ),
    "refinement-accumulating": trigger("Accumulating: everything so far", EARLY_AND_LATE),
    "refinement-retracting": trigger(
        "Accumulating and retracting: and what stood is taken back",
        EARLY_AND_LATE,
        refinement=ACCUMULATING_AND_RETRACTING,
    ),
    "windows-fixed": windows("Fixed windows lie side by side", TWO_MINUTES),
    "windows-fixed-offset": windows("An offset moves every border", FixedWindows("2m", offset="30s")),
    "windows-fixed-shifted": windows(
        "Shifted by key: each key has borders of its own", FixedWindows("2m", shifted_by_key=True), "user 1", "user 2"
    ),
    "windows-sliding": windows(
        "Sliding windows overlap where the period is below the size", SlidingWindows("2m", "1m")
    ),
    "windows-sliding-gaps": windows(
        "Sliding windows leave gaps where the period is above the size", SlidingWindows("1m", "2m")
    ),
    "windows-sessions": windows("Sessions last until nothing has come for the gap", SessionWindows("1m")),
    "windows-calendar": days,
    "windows-global": windows("The global window is all of time", GLOBAL),
    "figure-6": figure(6, "one batch, one result"),
    "figure-7": figure(7, "the sum so far, every minute"),
    "figure-8": figure(8, "what is new, every minute"),
    "figure-9": figure(9, "what is new, with every second element"),
    "figure-10": figure(10, "one batch, a result a window"),
    "figure-11": figure(11, "micro-batches of a minute"),
    "figure-12": figure(12, "a stream that waits for the watermark"),
    "figure-13": figure(13, "early, on time and late"),
    "figure-14": figure(14, "sessions that are taken back as they grow"),
}
"""By file name."""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
