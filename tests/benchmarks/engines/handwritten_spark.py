"""What a Spark user writes by hand: a streaming aggregation, with the settings that are best for it."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.java import ensure_java
from tests.benchmarks.check import Answer, WrongAnswerError
from tests.benchmarks.engines.engine import MASTER, Engine
from tests.benchmarks.engines.spark_settings import settings
from tests.benchmarks.generate import FILES_PER_BATCH, LONGEST_DELAY, Events
from tests.benchmarks.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SHUFFLE_PARTITIONS = 4
STATE_SETTINGS = {
    "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
    "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state costs a lookup for each write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}


class HandwrittenSpark(Engine):
    """One query from an empty checkpoint to the end of what is there (``availableNow``).

    Args:
        output_mode: ``update`` or ``append``.
    """

    mode, place = "micro-batch", "spark"

    def __init__(self, output_mode: str) -> None:
        self.name, self._output_mode = f"spark-{output_mode}", output_mode

    def rehearse(self, query: Query, events: Events, folder: Path) -> Answer:
        """Write out what the timed run throws away; of each group the last value counts."""
        out = folder / "emitted"

        def keep(batch: DataFrame, number: int) -> None:
            query.from_spark(batch).write.parquet(f"{out}/batch={number}")

        done = self._run(events, folder, self._query(query, events, folder).writeStream.foreachBatch(keep))
        emitted = pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=True)
        last = pl.col("batch") == pl.col("batch").max().over(query.by)
        path = folder / "answer.parquet"
        answer = emitted.filter(last).select(query.columns).collect()
        answer.write_parquet(path)
        if self._output_mode == "update":
            return Answer(path)
        return Answer(path, complete_until=_watermark(done), published=len(answer))

    def run(self, query: Query, events: Events, folder: Path) -> None:
        self._run(events, folder, self._query(query, events, folder).writeStream.format("noop"))

    def _query(self, query: Query, events: Events, folder: Path) -> DataFrame:
        spark = _session(folder.parent)
        schema = spark.read.parquet(events.glob).schema
        files = spark.readStream.schema(schema).option("maxFilesPerTrigger", str(FILES_PER_BATCH)).parquet(events.glob)
        return query.spark(files.withWatermark("event_time", f"{LONGEST_DELAY} microseconds"))

    def _run(self, events: Events, folder: Path, writer: DataStreamWriter) -> StreamingQuery:
        writer = writer.outputMode(self._output_mode).option("checkpointLocation", str(folder / "checkpoint"))
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        read = sum(progress["numInputRows"] for progress in running.recentProgress)
        dropped = sum(
            operator["numRowsDroppedByWatermark"]
            for progress in running.recentProgress
            for operator in progress["stateOperators"]
        )
        if (read, dropped) != (events.workload.rows, 0):
            raise WrongAnswerError(f"{self.name}: of {events.workload.rows} rows it read {read} and dropped {dropped}")
        return running


def _watermark(done: StreamingQuery) -> int:
    """The watermark that the last batch has emitted windows by."""
    last = done.lastProgress
    assert last is not None
    return to_micros(datetime.fromisoformat(last["eventTime"]["watermark"]))


@cache
def _session(scratch: Path) -> SparkSession:
    """A session of its own on the process's Spark: what others set on theirs does not reach it."""
    os.environ.update(ensure_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("hand-written")
    for name, value in settings(scratch).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark = spark.newSession()
    for name, value in STATE_SETTINGS.items():
        spark.conf.set(name, value)
    return spark
