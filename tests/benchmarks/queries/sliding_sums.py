"""Q4: sums per key in sliding windows of five minutes, one every minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat
from airflow_dataflow_provider.model.windows import SlidingWindows
from tests.benchmarks.queries.query import MINUTE, Aggregation, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events

_PANES = 5


class SlidingSums(Aggregation):
    """Each window is published when the watermark has passed it. DuckDB and polars add up sums of minutes."""

    name = "Q4"
    title = "5-minute sums per key, every minute"

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q4", source(events))
            .group_by_key_and_window(key="key", window=SlidingWindows("5m", "1m"), trigger=Repeat(AtWatermark()))
            .combine(total=Sum("value"))
        )

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        window = F.window("event_time", "5 minutes", "1 minute")
        return events.groupBy(window, "key").agg(F.sum("value").alias("total"))

    def sql(self, files: str) -> str:
        return f"""
            WITH minutes AS (
                SELECT key, epoch_us(event_time) // {MINUTE} AS minute, sum(value) AS total
                FROM read_parquet('{files}') GROUP BY key, minute
            )
            SELECT key, (minute - before) * {MINUTE} AS window_start,
                window_start + {_PANES * MINUTE} AS window_end, sum(total)::BIGINT AS total
            FROM minutes, range({_PANES}) AS ahead(before) GROUP BY key, window_start
        """

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        minute = (pl.col("event_time").dt.epoch("us") // MINUTE).alias("minute")
        minutes = events.group_by("key", minute).agg(pl.col("value").sum().alias("total"))
        ahead = pl.LazyFrame({"before": range(_PANES)})
        start = ((pl.col("minute") - pl.col("before")) * MINUTE).alias("window_start")
        sums = minutes.join(ahead, how="cross").group_by("key", start).agg(pl.col("total").sum())
        return sums.with_columns(window_end=pl.col("window_start") + _PANES * MINUTE)
