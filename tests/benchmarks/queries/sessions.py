"""Q2: sums per key in sessions that thirty seconds of silence end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat
from airflow_dataflow_provider.model.windows import SessionWindows
from tests.benchmarks.queries.query import SECOND, Aggregation, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events

GAP = 30 * SECOND
MERGE_BEFORE_SHUFFLE = "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition"


class SessionSums(Aggregation):
    """Each session is published when the watermark has passed it. Spark has sessions in append mode only.

    Ours keeps two events of exactly one gap apart, Spark merges them. Among the events there are no such two; if there
    were, the comparison would fail.
    """

    name = "Q2"
    title = "sums per session of 30 s per key"
    bursts = True
    output_modes = ("append",)
    spark_window = "session_window"
    spark_switch = MERGE_BEFORE_SHUFFLE

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q2", source(events))
            .group_by_key_and_window(key="key", window=SessionWindows(f"{GAP}us"), trigger=Repeat(AtWatermark()))
            .combine(total=Sum("value"))
        )

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        return events.groupBy(F.session_window("event_time", "30 seconds"), "key").agg(F.sum("value").alias("total"))

    def sql(self, files: str) -> str:
        return sessions_sql(files)

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return sessions_polars(events)


def sessions_sql(files: str) -> str:
    """The sessions and their sums."""
    return f"""
        WITH times AS (
            SELECT key, epoch_us(event_time) AS time, value FROM read_parquet('{files}')
        ), gaps AS (
            SELECT *, coalesce(time - lag(time) OVER (PARTITION BY key ORDER BY time) >= {GAP}, true) AS opens
            FROM times
        ), numbered AS (
            SELECT *, sum(opens::INT) OVER (PARTITION BY key ORDER BY time ROWS UNBOUNDED PRECEDING) AS number FROM gaps
        )
        SELECT key, min(time) AS window_start, max(time) + {GAP} AS window_end, sum(value)::BIGINT AS total
        FROM numbered GROUP BY key, number
    """


def sessions_polars(events: pl.LazyFrame) -> pl.LazyFrame:
    """The same."""
    times = events.select("key", pl.col("event_time").dt.epoch("us").alias("time"), "value").sort("key", "time")
    opens = (pl.col("key") != pl.col("key").shift()) | (pl.col("time").diff() >= GAP)
    return (
        times.with_columns(number=opens.fill_null(value=True).cum_sum())
        .group_by("key", "number")
        .agg(window_start=pl.col("time").min(), window_end=pl.col("time").max() + GAP, total=pl.col("value").sum())
        .drop("number")
    )
