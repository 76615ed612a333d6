"""What a benchmark query is: one question, asked in each engine's own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from tests.benchmarks.generate import Events


class Query(ABC):
    """One question over the generated events.

    An answer is a table of the columns ``by`` (what makes a row; ``window_end`` among them, in microseconds as all
    times) and ``values``, so that answers of different engines can be compared row for row.
    """

    name: str
    title: str
    by: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of an answer."""
        return (*self.by, *self.values)

    @abstractmethod
    def pipeline(self, events: Events) -> Pipeline:
        """The pipeline that a user of ours writes."""

    @abstractmethod
    def from_table(self, table: pl.DataFrame) -> pl.DataFrame:
        """The answer, from the table that the pipeline's panes add up to."""

    @abstractmethod
    def spark(self, events: DataFrame) -> DataFrame:
        """The streaming query that a Spark user writes; the watermark is set already."""

    @abstractmethod
    def from_spark(self, rows: DataFrame) -> DataFrame:
        """The answer's columns, from the rows that the streaming query emits."""

    @abstractmethod
    def sql(self, files: str) -> str:
        """DuckDB's SQL for the answer, from a glob of Parquet files."""

    @abstractmethod
    def polars(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """The answer in polars."""
