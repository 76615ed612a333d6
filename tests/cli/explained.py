"""Pipelines whose explanations are in ``golden/``: between them they meet every turn that the words can take."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AtWatermark,
    Count,
    DelayWatermark,
    Files,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Min,
    PaneLog,
    Pipeline,
    Repeat,
    SequenceOf,
    Sum,
    Window,
)
from airflow_dataflow_provider.model.windows import WindowStrategy

departures = (
    Pipeline("departures", Files("flights/*.parquet", event_time="scheduled", arrival_time="departed"))
    .group_by_key_and_window(
        key=("origin", "carrier"),
        window=FixedWindows("1h"),
        trigger=SequenceOf(AtWatermark(97), Repeat(AtWatermark())),
        allowed_lateness="2h",
    )
    .combine(flights=Count(), mean_delay=Mean("delay"))
    .write(PaneLog("panes/departures"))
)

total = (
    Pipeline(
        "total",
        Files(
            "clicks/",
            event_time="at",
            continuous=True,
            watermark=DelayWatermark(idle_after="5m"),
            max_files_per_epoch=10,
            max_rejected_share=0.05,
        ),
    )
    .group_by_key_and_window(key="user", window=GlobalWindows(), trigger=AtWatermark(), refinement=DISCARDING)
    .combine(clicks=Count("page"), total=Sum("amount"), least=Min("amount"), most=Max("amount"))
)


@dataclass(frozen=True)
class Minute(WindowStrategy):
    """Windows that no engine knows: the minute after each element."""

    def assign(self, event_time: int) -> tuple[Window]:
        return (Window(event_time, event_time + 60_000_000),)


unknown = (
    Pipeline("unknown", Files("clicks/", event_time="at"))
    .group_by_key_and_window(
        key="user", window=Minute(), trigger=AtWatermark(98.5), refinement=ACCUMULATING_AND_RETRACTING
    )
    .combine(total=Sum("amount"))
)
