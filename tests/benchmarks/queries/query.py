"""What a benchmark query is: one question, asked in each engine's own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from airflow_dataflow_provider.model.sources import Files
from tests.benchmarks.generate import FILES_PER_BATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.tables.pane_log import PaneLogReader
    from tests.benchmarks.generate import Events

SECOND = 1_000_000
MINUTE = 60 * SECOND
_TIMES = ("window_start", "window_end")


class Query(ABC):
    """One question over the generated events.

    An answer is a table of the columns ``by`` (what makes a row) and ``values``, so that answers of different engines
    can be compared row for row. All times in it are microseconds.

    Attributes:
        name: as in the table.
        title: the question.
        by, values: the columns of an answer.
        bursts: it asks for events whose keys come in bursts.
        batch: it is also asked of engines in batch.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    by: ClassVar[tuple[str, ...]] = ("key", *_TIMES)
    values: ClassVar[tuple[str, ...]] = ("total",)
    bursts: ClassVar[bool] = False
    batch: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of an answer."""
        return (*self.by, *self.values)

    @abstractmethod
    def pipeline(self, events: Events) -> Pipeline:
        """The pipeline that a user of ours writes."""

    def from_log(self, log: PaneLogReader) -> pl.DataFrame:
        """The answer, from what our pipeline has published: by default the table that its panes add up to."""
        return log.current().with_columns(pl.col(_TIMES).dt.epoch("us")).select(self.columns)

    @abstractmethod
    def sql(self, files: str) -> str:
        """DuckDB's SQL for the answer, from a glob of Parquet files."""

    @abstractmethod
    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """The answer in polars."""


class Aggregation(Query):
    """A question that Spark's own streaming aggregations answer.

    Attributes:
        output_modes: in which a user may run them.
        spark_window: their column that holds the window.
        spark_switch: a setting that is off by default and may make them faster.
    """

    output_modes: ClassVar[tuple[str, ...]] = ("update", "append")
    spark_window: ClassVar[str] = "window"
    spark_switch: ClassVar[str | None] = None

    @abstractmethod
    def spark(self, events: DataFrame) -> DataFrame:
        """The query that a Spark user writes; the watermark is set already."""

    def from_spark(self, rows: DataFrame) -> DataFrame:
        """The answer's columns, from the rows that the query emits."""
        from pyspark.sql import functions as F  # noqa: N812 - as every Spark user calls it

        start, end = (F.unix_micros(f"{self.spark_window}.{bound}") for bound in ("start", "end"))
        return rows.select("*", start.alias("window_start"), end.alias("window_end")).select(*self.columns)


class ForeachBatch(Query):
    """A question that a Spark user answers best with ``foreachBatch`` and a table of their own."""

    @abstractmethod
    def step(self, batch: DataFrame, table: DataFrame | None) -> DataFrame:
        """What one batch adds, given what the one before has added (None: this is the first)."""

    @abstractmethod
    def from_batches(self, table: pl.LazyFrame) -> pl.DataFrame:
        """The answer, from all that was added; the column ``batch`` says when."""


def source(events: Events) -> Files:
    """The events, two files an epoch."""
    return Files(events.glob, event_time="event_time", arrival_time="arrival_time", max_files_per_epoch=FILES_PER_BATCH)
