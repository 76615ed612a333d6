"""Q1 and Q3: sums per key in fixed windows of one minute, published once, or early, on time and late."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING_AND_RETRACTING
from airflow_dataflow_provider.model.triggers import AtEpoch, AtWatermark, Repeat, RepeatUntil, SequenceOf
from airflow_dataflow_provider.model.watermark_policies import DelayWatermark
from airflow_dataflow_provider.model.windows import FixedWindows
from tests.benchmarks.generate import LONGEST_DELAY
from tests.benchmarks.queries.query import MINUTE, SECOND, Aggregation, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events

TIMELY = 60 * SECOND
"""Delays beyond this make an event of Q3 late: two in a thousand."""


class FixedSums(Aggregation):
    """Each window is published when the watermark has passed it."""

    name = "Q1"
    title = "1-minute sums per key"
    batch = True

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q1", source(events))
            .group_by_key_and_window(key="key", window=FixedWindows("1m"), trigger=Repeat(AtWatermark()))
            .combine(total=Sum("value"))
        )

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812 - as every Spark user calls it

        return events.groupBy(F.window("event_time", "1 minute"), "key").agg(F.sum("value").alias("total"))

    def sql(self, files: str) -> str:
        start = f"epoch_us(event_time) // {MINUTE} * {MINUTE}"
        return (
            f"SELECT key, {start} AS window_start, window_start + {MINUTE} AS window_end, sum(value)::BIGINT AS total "
            f"FROM read_parquet('{files}') GROUP BY key, window_start"
        )

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        start = pl.col("event_time").dt.truncate("1m").dt.epoch("us").alias("window_start")
        sums = events.group_by("key", start).agg(pl.col("value").sum().alias("total"))
        return sums.with_columns(window_end=pl.col("window_start") + MINUTE)


class RefinedSums(FixedSums):
    """Each window is published at every epoch that has something new for it, when it is complete, and late.

    What stood before is retracted each time. Our watermark takes longer delays than :data:`TIMELY` for wrong clocks, so
    that some events are late by it, and waits for them after that. Spark's watermark waits for the longest delay from
    the start; it has no retractions, and in update mode emits new sums only, which is less to do.
    """

    name = "Q3"
    title = "1-minute sums per key: early, on time and late, with retractions"
    batch = False
    output_modes = ("update",)

    def pipeline(self, events: Events) -> Pipeline:
        early_and_on_time = RepeatUntil(AtEpoch(), AtWatermark())
        return (
            Pipeline("q3", replace(source(events), watermark=DelayWatermark(plausible=f"{TIMELY}us")))
            .group_by_key_and_window(
                key="key",
                window=FixedWindows("1m"),
                trigger=SequenceOf(early_and_on_time, Repeat(AtWatermark())),
                refinement=ACCUMULATING_AND_RETRACTING,
                allowed_lateness=f"{LONGEST_DELAY - TIMELY + 10 * SECOND}us",
            )
            .combine(total=Sum("value"))
        )
