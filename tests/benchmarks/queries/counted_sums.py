"""Q5: sums of each hundred events of a key, in the order of their arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import Count, Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import DISCARDING
from airflow_dataflow_provider.model.triggers import AtCount, Repeat
from airflow_dataflow_provider.model.windows import GlobalWindows
from tests.benchmarks.queries.query import ForeachBatch, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_dataflow_provider.tables.pane_log import PaneLogReader
    from tests.benchmarks.generate import Events

_N = 100


class CountedSums(ForeachBatch):
    """``Repeat(AtCount(100))``, discarding: a pane a hundred events, exactly, whatever the batches were.

    A Spark user has the choice between a Python function a key (``applyInPandasWithState``, ``transformWithState``) and
    ``foreachBatch``: number the rows of each key with a window function, add up each hundred, and keep what is left in
    the table for the next batch. The second is taken, as the faster one. With 1,000 keys it took 3.0 s for two million
    events, the first 4.5 s; with as many keys as events, 200,000 of each, the first took 210 s and the second 4 s.
    """

    name = "Q5"
    title = "sums of each 100 events per key"
    by = ("key", "pane")
    values = ("elements", "total")

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q5", source(events))
            .group_by_key_and_window(
                key="key", window=GlobalWindows(), trigger=Repeat(AtCount(_N)), refinement=DISCARDING
            )
            .combine(elements=Count(), total=Sum("value"))
        )

    def from_log(self, log: PaneLogReader) -> pl.DataFrame:
        """Every pane counts, not what they add up to; the last of a key is what was left at the end of input."""
        panes = log.panes().filter(pl.col("elements") > 0)
        return panes.select("key", pl.col("pane_index").cast(pl.Int64).alias("pane"), "elements", "total")

    def step(self, batch: DataFrame, table: DataFrame | None) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        rows = batch.select("key", "arrival_time", F.lit(1).cast("long").alias("events"), "value")
        if table is not None:
            # The last pane of a key stands for all events before; of its sum only that of an incomplete pane counts.
            left = F.when(F.col("seen") % _N == 0, 0).otherwise(F.col("total"))
            nowhen = F.lit(None).cast("timestamp").alias("arrival_time")
            before = table.where("last").select("key", nowhen, F.col("seen").alias("events"), left.alias("value"))
            rows = rows.unionByName(before)
        seen = F.sum("events").over(Window.partitionBy("key").orderBy("arrival_time"))
        new = F.col("arrival_time").isNotNull().cast("int")
        rows = rows.withColumn("seen", seen).withColumn("pane", F.floor((F.col("seen") - new) / _N))
        panes = rows.groupBy("key", "pane").agg(F.max("seen").alias("seen"), F.sum("value").alias("total"))
        return panes.withColumn("last", F.col("pane") == F.max("pane").over(Window.partitionBy("key")))

    def from_batches(self, table: pl.LazyFrame) -> pl.DataFrame:
        """The complete panes, and those that are incomplete after the last batch."""
        elements = pl.min_horizontal(pl.col("seen") - pl.col("pane") * _N, _N).alias("elements")
        panes = table.with_columns(elements).filter(pl.col("elements") > 0)
        newest = pl.col("batch") == pl.col("batch").max().over("key", "pane")
        return panes.filter(newest).select("key", "pane", "elements", "total").collect()

    def sql(self, files: str) -> str:
        return f"""
            WITH numbered AS (
                SELECT key, value, row_number() OVER (PARTITION BY key ORDER BY arrival_time) - 1 AS number
                FROM read_parquet('{files}')
            )
            SELECT key, number // {_N} AS pane, count(*) AS elements, sum(value)::BIGINT AS total
            FROM numbered GROUP BY key, pane
        """

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        pane = (pl.int_range(pl.len()).over("key") // _N).alias("pane")
        numbered = events.sort("arrival_time").select("key", "value", pane)
        return numbered.group_by("key", "pane").agg(elements=pl.len().cast(pl.Int64), total=pl.col("value").sum())
