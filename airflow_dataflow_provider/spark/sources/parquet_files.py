"""Parquet files: typed columns, of which only the wanted ones are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from airflow_dataflow_provider.model.time import ELEMENT_TIMES
from airflow_dataflow_provider.spark.sources.conversion import Conversion, of_column
from airflow_dataflow_provider.spark.sources.file_reader import LOOKED_AT, FileReader, Found, Loaded
from airflow_dataflow_provider.spark.sources.opening import path_or_contents
from airflow_dataflow_provider.spark.values import times
from airflow_dataflow_provider.spark.values.kept_types import may_become
from airflow_dataflow_provider.spark.values.type_table import Schema


@dataclass(frozen=True, slots=True)
class ParquetReader(FileReader):
    """Reads a Parquet file."""

    has_lines: ClassVar[bool] = False

    def found(self) -> Found:
        scan = self._scan()
        types = scan.collect_schema()
        texts = [name for name in self.source.columns() if types.get(name) == pl.String]
        return Found(types, scan.select(texts).head(LOOKED_AT).collect() if texts else pl.DataFrame())

    def load(self, schema: Schema, between: tuple[int, int] | None) -> Loaded:

        def scan() -> pl.LazyFrame:
            return self._scan() if between is None else self._filtered(between)

        rows = (scan().select(*schema) if schema else scan()).collect()
        return Loaded(rows, pl.DataFrame(), lambda mask: scan().collect().filter(mask))

    def conversion(self, name: str, found: pl.DataType, kept: pl.DataType) -> Conversion | None:
        zone = self.source.time_zone
        return of_column(name, found, kept, zone) if may_become(found, kept, has_zone=zone is not None) else None

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(path_or_contents(self.source, self.file), glob=False, hive_partitioning=False)

    def _filtered(self, between: tuple[int, int]) -> pl.LazyFrame:
        scan, source = self._scan(), self.source
        column = source.event_time if isinstance(source.event_time, str) else source.arrival_time
        dtype = None if column is None else scan.collect_schema().get(column)
        if column is None or not isinstance(dtype, pl.Datetime) or dtype.time_zone is None:
            return scan
        # Compared in the file's own unit: made microseconds, far ones would overflow.
        begin, end, first, last = (
            pl.lit(times.in_unit(time, dtype.time_unit)).cast(dtype) for time in (*between, *ELEMENT_TIMES)
        )
        moment = pl.col(column)
        inside = (moment >= begin) & (moment < end)
        # Rows that are rejected stay.
        return scan.filter(inside | moment.is_null() | (moment < first) | (moment >= last))
