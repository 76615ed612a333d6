"""Q6: the root mean square per key in fixed windows of one minute, by a combiner of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.combiners import VectorisedCombiner
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat
from airflow_dataflow_provider.model.windows import FixedWindows
from tests.benchmarks.queries.query import MINUTE, Aggregation, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.benchmarks.generate import Events


@dataclass(frozen=True)
class RootMeanSquare(VectorisedCombiner):
    """What a user of ours writes."""

    column: str

    def lift(self) -> Mapping[str, pl.Expr]:
        value = pl.col(self.column)
        return {"squares": value * value, "count": value.is_not_null().cast(pl.Int64)}

    def fold(self, accumulators: Mapping[str, pl.Expr]) -> Mapping[str, pl.Expr]:
        return {name: column.sum() for name, column in accumulators.items()}

    def result(self, accumulators: Mapping[str, pl.Expr]) -> pl.Expr:
        return (accumulators["squares"] / accumulators["count"]).sqrt()


class OwnCombiner(Aggregation):
    """Each window is published when the watermark has passed it.

    Streaming Spark takes no aggregate written in Python: pandas' grouped aggregates are refused there. A Spark user
    writes the formula with built-in aggregates, where that can be done, as it can here, and gets generated code for it.
    That is the stronger opponent; the other way, state kept by a Python function a key, is slower by far (see Q5).
    """

    name = "Q6"
    title = "root mean square per key and minute, own combiner"
    values = ("rms",)

    def pipeline(self, events: Events) -> Pipeline:
        return (
            Pipeline("q6", source(events))
            .group_by_key_and_window(key="key", window=FixedWindows("1m"), trigger=Repeat(AtWatermark()))
            .combine(rms=RootMeanSquare("value"))
        )

    def spark(self, events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        rms = F.sqrt(F.sum(F.col("value") * F.col("value")) / F.count("value"))
        return events.groupBy(F.window("event_time", "1 minute"), "key").agg(rms.alias("rms"))

    def sql(self, files: str) -> str:
        start = f"epoch_us(event_time) // {MINUTE} * {MINUTE}"
        return (
            f"SELECT key, {start} AS window_start, window_start + {MINUTE} AS window_end, "
            f"sqrt(sum(value * value)::DOUBLE / count(*)) AS rms "
            f"FROM read_parquet('{files}') GROUP BY key, window_start"
        )

    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        start = pl.col("event_time").dt.truncate("1m").dt.epoch("us").alias("window_start")
        rms = ((pl.col("value") ** 2).sum() / pl.len()).sqrt()
        return events.group_by("key", start).agg(rms=rms).with_columns(window_end=pl.col("window_start") + MINUTE)
