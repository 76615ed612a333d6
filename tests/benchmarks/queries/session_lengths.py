"""Q7: two groupings in a row: sessions per key, then how many there were of each length, minute by minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Count
from airflow_dataflow_provider.model.par_do import Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat
from airflow_dataflow_provider.model.windows import FixedWindows, SessionWindows
from tests.benchmarks.queries.query import MINUTE, SECOND, Aggregation, source
from tests.benchmarks.queries.sessions import GAP, MERGE_BEFORE_SHUFFLE, sessions_polars, sessions_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events

_BUCKET = 10 * SECOND


class SessionLengths(Aggregation):
    """A session counts in the minute of its last instant. Spark chains stateful operators in append mode only."""

    name = "Q7"
    title = "sessions of 30 s per key, then a histogram of their lengths each minute"
    by = ("bucket", "window_start", "window_end")
    values = ("sessions",)
    bursts = True
    output_modes = ("append",)
    spark_switch = MERGE_BEFORE_SHUFFLE

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q7", source(events))
            .group_by_key_and_window(key="key", window=SessionWindows(f"{GAP}us"), trigger=Repeat(AtWatermark()))
            .combine(events=Count())
            .par_do(Vectorised(with_bucket, reads=("window_start", "window_end")))
            .group_by_key_and_window(key="bucket", window=FixedWindows("1m"), trigger=Repeat(AtWatermark()))
            .combine(sessions=Count())
        )

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        sessions = events.groupBy(F.session_window("event_time", "30 seconds"), "key").agg(F.count("*").alias("events"))
        length = F.unix_micros("session_window.end") - F.unix_micros("session_window.start")
        bucket = F.floor(length / _BUCKET).alias("bucket")
        last = F.window_time("session_window").alias("last")
        minutes = sessions.select(bucket, last).groupBy(F.window("last", "1 minute"), "bucket")
        return minutes.agg(F.count("*").alias("sessions"))

    def sql(self, files: str) -> str:
        return f"""
            SELECT (window_end - window_start) // {_BUCKET} AS bucket, (window_end - 1) // {MINUTE} * {MINUTE} AS start,
                start AS window_start, start + {MINUTE} AS window_end, count(*) AS sessions
            FROM ({sessions_sql(files)}) GROUP BY bucket, start
        """

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        bucket = ((pl.col("window_end") - pl.col("window_start")) // _BUCKET).alias("bucket")
        start = ((pl.col("window_end") - 1) // MINUTE * MINUTE).alias("window_start")
        counts = sessions_polars(events).group_by(bucket, start).agg(sessions=pl.len().cast(pl.Int64))
        return counts.with_columns(window_end=pl.col("window_start") + MINUTE)


def with_bucket(sessions: pl.DataFrame) -> pl.DataFrame:
    """Sessions with the bucket of their lengths."""
    length = (pl.col("window_end") - pl.col("window_start")).dt.total_microseconds()
    return sessions.with_columns(bucket=length // _BUCKET)
