"""Hourly departures and their mean delay, by airport: run as a batch, in micro-batches and as a stream, unchanged."""

import os
from pathlib import Path

from airflow_dataflow_provider import (
    ACCUMULATING,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Mean,
    Pipeline,
    Repeat,
    SequenceOf,
)

FLIGHTS = os.environ.get("DEPARTURES_FLIGHTS", Path(__file__).parents[1] / "build/demo/flights")

departures = (
    Pipeline(
        "departures",
        Files(f"{FLIGHTS}/*.parquet", event_time="scheduled", arrival_time="departed", max_files_per_epoch=32),
    )
    .group_by_key_and_window(
        key="origin",
        window=FixedWindows("1h"),  # of event time: when the flights were to leave, not when they did
        trigger=SequenceOf(AtWatermark(97), Repeat(AtWatermark())),  # early at 97 %, on time, then whatever comes late
        refinement=ACCUMULATING,  # each pane counts everything so far, and replaces the one before
        allowed_lateness="1d",
    )
    .combine(flights=Count(), mean_delay=Mean("dep_delay"))
)
