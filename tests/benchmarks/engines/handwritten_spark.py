"""What a Spark user writes by hand, with the settings that are best for it: three ways to stream, and one batch."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.time import to_micros
from tests.benchmarks.check import Answer, WrongAnswerError
from tests.benchmarks.engines.engine import Engine
from tests.benchmarks.engines.spark_session import EVENT_SCHEMA, session_for, settle
from tests.benchmarks.generate import FILES_PER_BATCH, LONGEST_DELAY, Events
from tests.benchmarks.queries import Aggregation, ForeachBatch, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class HandwrittenSpark(Engine):
    """What all of them share."""

    side, place = "baseline", "spark"

    def prepare(self, query: Query, events: Events, folder: Path) -> str:
        """Find the best settings."""
        return settle(self.mode, query, events, lambda other, name: self.run(query, other, folder / name))

    def _stream(self, query: Query, events: Events) -> DataFrame:
        """The events, two files a batch."""
        reader = session_for(self.mode, query, events).readStream.schema(EVENT_SCHEMA)
        return reader.option("maxFilesPerTrigger", str(FILES_PER_BATCH)).parquet(events.glob)

    def _run_to_the_end(self, events: Events, folder: Path, writer: DataStreamWriter) -> StreamingQuery:
        """One query from an empty checkpoint to the end of what is there (``availableNow``)."""
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
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


class SparkAggregation(HandwrittenSpark):
    """Spark's own streaming aggregation, into a sink that keeps nothing.

    Args:
        output_mode: ``update`` or ``append``.
    """

    mode = "micro-batch"

    def __init__(self, output_mode: str) -> None:
        self.name, self._output_mode = f"spark-{output_mode}", output_mode

    def answers(self, query: Query) -> bool:
        return isinstance(query, Aggregation) and self._output_mode in query.output_modes

    def rehearse(self, query: Query, events: Events, folder: Path) -> Answer:
        """Write out what the timed run throws away. Of each group the last value counts."""
        assert isinstance(query, Aggregation)
        out = folder / "emitted"

        def keep(batch: DataFrame, number: int) -> None:
            query.from_spark(batch).write.parquet(f"{out}/batch={number}")

        done = self._run_to_the_end(events, folder, self._writer(query, events).foreachBatch(keep))
        emitted = pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=True)
        last = pl.col("batch") == pl.col("batch").max().over(query.by)
        path = folder / "answer.parquet"
        answer = emitted.filter(last).select(query.columns).collect()
        answer.write_parquet(path)
        return Answer(path, complete_until=None if self._output_mode == "update" else _watermark(done))

    def run(self, query: Query, events: Events, folder: Path) -> None:
        self._run_to_the_end(events, folder, self._writer(query, events).format("noop"))

    def _writer(self, query: Query, events: Events) -> DataStreamWriter:
        assert isinstance(query, Aggregation)
        rows = self._stream(query, events).withWatermark("event_time", f"{LONGEST_DELAY} microseconds")
        return query.spark(rows).writeStream.outputMode(self._output_mode)


class SparkForeachBatch(HandwrittenSpark):
    """A function a batch, which appends to a Parquet table and finds there what the batch before has left."""

    name, mode = "spark-foreach-batch", "micro-batch"

    def answers(self, query: Query) -> bool:
        return isinstance(query, ForeachBatch)

    def run(self, query: Query, events: Events, folder: Path) -> None:
        assert isinstance(query, ForeachBatch)

        def append(batch: DataFrame, number: int) -> None:
            before = batch.sparkSession.read.parquet(f"{folder}/table/batch={number - 1}") if number else None
            query.step(batch, before).write.mode("overwrite").parquet(f"{folder}/table/batch={number}")

        self._run_to_the_end(events, folder, self._stream(query, events).writeStream.foreachBatch(append))

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:  # noqa: ARG002
        assert isinstance(query, ForeachBatch)
        path = folder / "answer.parquet"
        query.from_batches(pl.scan_parquet(f"{folder}/table/**/*.parquet", hive_partitioning=True)).write_parquet(path)
        return Answer(path)


class SparkBatch(HandwrittenSpark):
    """The same aggregation over all files at once, into a Parquet file, as the floors do it."""

    name, mode = "spark-batch", "batch"

    def answers(self, query: Query) -> bool:
        return isinstance(query, Aggregation) and query.batch

    def run(self, query: Query, events: Events, folder: Path) -> None:
        assert isinstance(query, Aggregation)
        rows = session_for(self.mode, query, events).read.schema(EVENT_SCHEMA).parquet(events.glob)
        query.from_spark(query.spark(rows)).write.parquet(f"{folder}/answer")

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:  # noqa: ARG002
        return Answer(folder / "answer" / "*.parquet")


def _watermark(done: StreamingQuery) -> int:
    """The watermark that the last batch has emitted windows by."""
    last = done.lastProgress
    assert last is not None
    return to_micros(datetime.fromisoformat(last["eventTime"]["watermark"]))
