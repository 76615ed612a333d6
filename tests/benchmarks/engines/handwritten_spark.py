"""What a Spark user writes by hand: a streaming aggregation, with the settings that are best for it."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
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
from tests.benchmarks.generate import FILES_PER_BATCH, LONGEST_DELAY, Events, Workload, generate
from tests.benchmarks.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STATE_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state costs a lookup for each write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
_PARTITIONS = "spark.sql.shuffle.partitions"
_TRIED = (2, 4, 8)
_TRIED_FILES = 4
_SCHEMA = "key BIGINT, event_time TIMESTAMP, value BIGINT"

_BEST: dict[tuple[str, Workload], int] = {}
"""What was best for a query and a workload, in this process."""


class HandwrittenSpark(Engine):
    """One query from an empty checkpoint to the end of what is there (``availableNow``).

    Args:
        output_mode: ``update`` or ``append``.
    """

    mode, place = "micro-batch", "spark"

    def __init__(self, output_mode: str) -> None:
        self.name, self._output_mode = f"spark-{output_mode}", output_mode

    def rehearse(self, query: Query, events: Events, folder: Path) -> Answer:
        """Find the best number of partitions; then write out what the timed run throws away.

        Of each group the last value counts.
        """
        remark = self._settle_partitions(query, events, folder)
        out = folder / "emitted"

        def keep(batch: DataFrame, number: int) -> None:
            query.from_spark(batch).write.parquet(f"{out}/batch={number}")

        done = self._run(events, folder, self._query(query, events).writeStream.foreachBatch(keep))
        emitted = pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=True)
        last = pl.col("batch") == pl.col("batch").max().over(query.by)
        path = folder / "answer.parquet"
        answer = emitted.filter(last).select(query.columns).collect()
        answer.write_parquet(path)
        if self._output_mode == "update":
            return Answer(path, remark=remark)
        return Answer(path, complete_until=_watermark(done), remark=remark)

    def run(self, query: Query, events: Events, folder: Path) -> None:
        self._run(events, folder, self._query(query, events).writeStream.format("noop"))

    def _settle_partitions(self, query: Query, events: Events, folder: Path) -> str:
        """Try numbers of shuffle partitions on a smaller input of the same kind, once warm; the fastest one stays."""
        workload = events.workload
        if (query.name, workload) not in _BEST:
            rows = workload.rows * _TRIED_FILES // workload.files
            sample = generate(replace(workload, rows=rows, files=_TRIED_FILES), events.folder.parent)
            seconds: dict[int, float] = {}
            for attempt, number in enumerate((_TRIED[0], *_TRIED)):
                # The first one is tried twice: its first time warms up.
                _BEST[query.name, sample.workload] = number
                started = time.perf_counter()
                self.run(query, sample, folder / f"try-{attempt}")
                seconds[number] = time.perf_counter() - started
            _BEST[query.name, workload] = min(seconds, key=seconds.__getitem__)
        tried = ", ".join(map(str, _TRIED))
        return f"{_BEST[query.name, workload]} shuffle partitions, the best of {tried} on {_TRIED_FILES} files"

    def _query(self, query: Query, events: Events) -> DataFrame:
        spark = _session(events.folder.parent / "runs")
        spark.conf.set(_PARTITIONS, _BEST.get((query.name, events.workload), _TRIED[0]))
        reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", str(FILES_PER_BATCH))
        files = reader.parquet(events.glob)
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
    for name, value in _STATE_SETTINGS.items():
        spark.conf.set(name, value)
    return spark
