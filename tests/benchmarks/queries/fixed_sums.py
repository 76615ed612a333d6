"""Q1: sums per key in fixed windows of one minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat
from airflow_dataflow_provider.model.windows import FixedWindows
from tests.benchmarks.generate import FILES_PER_BATCH
from tests.benchmarks.queries.query import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events

_MINUTE = 60_000_000


class FixedSums(Query):
    """Each window is published when the watermark has passed it."""

    name = "Q1"
    title = "1-minute sums per key"
    by = ("key", "window_start", "window_end")
    values = ("total",)

    def pipeline(self, events: Events) -> Pipeline:
        source = Files(
            events.glob, event_time="event_time", arrival_time="arrival_time", max_files_per_epoch=FILES_PER_BATCH
        )
        return (
            Pipeline("q1", source)
            .group_by_key_and_window(key="key", window=FixedWindows("1m"), trigger=Repeat(AtWatermark()))
            .combine(total=Sum("value"))
        )

    def from_table(self, table: pl.DataFrame) -> pl.DataFrame:
        times = (pl.col(name).dt.epoch("us") for name in ("window_start", "window_end"))
        return table.select("key", *times, "total")

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812 - as every Spark user calls it

        return events.groupBy(F.window("event_time", "1 minute"), "key").agg(F.sum("value").alias("total"))

    def from_spark(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        times = (F.unix_micros(f"window.{name}").alias(f"window_{name}") for name in ("start", "end"))
        return rows.select("key", *times, "total")

    def sql(self, files: str) -> str:
        start = f"epoch_us(event_time) // {_MINUTE} * {_MINUTE}"
        return (
            f"SELECT key, {start} AS window_start, window_start + {_MINUTE} AS window_end, sum(value)::BIGINT AS total "
            f"FROM read_parquet('{files}') GROUP BY key, window_start"
        )

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        start = pl.col("event_time").dt.truncate("1m").dt.epoch("us").alias("window_start")
        sums = events.group_by("key", start).agg(pl.col("value").sum().alias("total"))
        return sums.with_columns(window_end=pl.col("window_start") + _MINUTE)
