"""Q1 and Q3: sums per key in fixed windows of one minute, published once, or early, on time and late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, Refinement
from airflow_dataflow_provider.model.triggers import AtEpoch, AtWatermark, Repeat, RepeatUntil, SequenceOf, Trigger
from airflow_dataflow_provider.model.windows import FixedWindows
from tests.benchmarks.queries.query import MINUTE, Aggregation, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events


class FixedSums(Aggregation):
    """Each window is published when the watermark has passed it."""

    name = "Q1"
    title = "1-minute sums per key"
    batch = True

    def when(self) -> tuple[Trigger, Refinement]:
        """When panes are published, and how they relate."""
        return Repeat(AtWatermark()), ACCUMULATING

    def pipeline(self, events: Events) -> Pipeline:
        trigger, refinement = self.when()
        return (
            Pipeline(self.name.lower(), source(events))
            .group_by_key_and_window(key="key", window=FixedWindows("1m"), trigger=trigger, refinement=refinement)
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
    """Each window is published at every epoch that has something new for it, when it is complete by 99 %, and late.

    What stood before is retracted each time. No event is late by the ordinary watermark, so that Spark loses none; by
    that of 99 % some are. Spark has no retractions: in update mode it emits new sums only, which is less to do.
    """

    name = "Q3"
    title = "1-minute sums per key: early, on time and late, with retractions"
    batch = False
    output_modes = ("update",)

    def when(self) -> tuple[Trigger, Refinement]:
        early_and_on_time = RepeatUntil(AtEpoch(), AtWatermark(99))
        return SequenceOf(early_and_on_time, Repeat(AtWatermark(99))), ACCUMULATING_AND_RETRACTING
