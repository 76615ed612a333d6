"""Files to elements: one file after the other, only the columns that are asked for, malformed rows set aside.

The file read is part of the map pass: what crosses the JVM is the path, not the rows. Whatever the first file of a
source was like, a value of a later one is read as what it is, or its row is rejected, or the file is refused: none is
changed (``docs/reference/sources.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.errors import DataError, DataflowError
from airflow_dataflow_provider.model.file_formats import Csv, FileFormat, JsonLines, Parquet
from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME as ARRIVAL
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.model.time import ELEMENT_YEARS
from airflow_dataflow_provider.spark.sources import first_file
from airflow_dataflow_provider.spark.sources.conversion import Conversion, of_times
from airflow_dataflow_provider.spark.sources.csv_files import CsvReader
from airflow_dataflow_provider.spark.sources.file_reader import FILE, LINE, REASON, FileReader, Loaded
from airflow_dataflow_provider.spark.sources.json_lines import JsonLinesReader
from airflow_dataflow_provider.spark.sources.parquet_files import ParquetReader
from airflow_dataflow_provider.spark.values import times
from airflow_dataflow_provider.spark.values.type_table import MOMENT, Schema
from airflow_dataflow_provider.spark.values.written_times import instants

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files

_READERS: dict[type[FileFormat], type[FileReader]] = {
    Parquet: ParquetReader,
    Csv: CsvReader,
    JsonLines: JsonLinesReader,
}


@dataclass(frozen=True, slots=True)
class Read:
    """One file: its good rows and the rejected ones.

    Attributes:
        rows: in :func:`element_types`, with :data:`EVENT` and :data:`ARRIVAL`.
        rejected: as they are in the file, with the file, the reason, and the line where the format has lines.
    """

    rows: pl.DataFrame
    rejected: pl.DataFrame


def column_types(source: Files, file: str) -> Schema:
    """The types in which the engine keeps a file's columns: those that they are said to have, or learned from it.

    Raises:
        DataError: ``DATA_UNREADABLE`` where the file is not what its format says.
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_COLUMN_TYPE``: it is not what ``schema=`` says;
            ``SOURCE_NAIVE_TIME``, ``SOURCE_EVENT_TIME_TYPE``: none of its times can be read.
    """
    with _readable(file):
        return first_file.kept_types(_reader(source, file))


def columns_of_elements(found: Schema) -> tuple[str, ...]:
    """The columns that a pipeline gets which reads all of them: those whose type and name the engine can carry."""
    return tuple(
        name
        for name, dtype in found.items()
        if not name.startswith("_") and dtype not in (pl.Null, pl.Object, pl.Unknown)
    )


def element_types(source: Files, schema: Schema) -> Schema:
    """The types of an element's columns, by the types they are read in: a time is the instant that it means, in UTC."""
    return schema | dict.fromkeys(source.columns(), MOMENT)


def read(source: Files, schema: Schema, file: str, now: int, between: tuple[int, int] | None = None) -> Read:
    """Read one file.

    Args:
        source: says what the times are.
        schema: the columns that are wanted, in the types they are kept in.
        file: its path or URL.
        now: the arrival time of rows that carry none; microseconds.
        between: only event times in ``[from, to)`` are of interest; microseconds. A hint: row groups that Parquet's own
            statistics rule out are not read, but other rows outside may come, and all do whose event time cannot be
            used. Not for a pipeline that changes event times.

    Raises:
        DataError: ``DATA_UNREADABLE``, ``DATA_COLUMN_MISSING``, ``DATA_COLUMN_TYPE``: the file as a whole cannot be
            read.
    """
    with _readable(file):
        return _read(_reader(source, file), schema, now, between)


def _reader(source: Files, file: str) -> FileReader:
    return _READERS[type(source.file_format)](source, file)


def _read(reader: FileReader, schema: Schema, now: int, between: tuple[int, int] | None) -> Read:
    source = reader.source
    loaded = _load(reader, schema, between)
    raw = loaded.rows
    # A column of nulls has no value to change, whatever type its writer has chosen for it.
    found = {name: pl.Null() if raw[name].null_count() == len(raw) else raw.schema[name] for name in schema}
    conversions = {name: _conversion(reader, name, found[name], dtype) for name, dtype in schema.items()}
    # What is worth reading once only is a column before it is used.
    raw = raw.with_columns(each.value.alias(f"_read {name}") for name, each in conversions.items())
    columns: list[pl.Expr] = []
    suspected: list[pl.Expr] = []
    reasons: list[pl.Expr] = []
    for name, each in conversions.items():
        value = pl.col(f"_read {name}")
        if name in source.columns():
            columns.append(value.cast(MOMENT).alias(name))
            suspected.append(~times.in_range(value).fill_null(value=False))
            reasons.append(_no_time(name, value))
        else:
            columns.append(value.alias(name))
            lost = each.lost(value)
            if lost is not None:
                suspected.append(lost)
                reasons.append(pl.when(lost).then(pl.lit(f"{name} does not read as {schema[name]}")))
    arrival = pl.col(f"_read {source.arrival_time}") if source.arrival_time else pl.lit(now, dtype=pl.Int64)
    event = pl.col(f"_read {source.event_time}") if isinstance(source.event_time, str) else arrival
    # Constants alone would make one row, beside the columns there are they make as many as the file has.
    rows = raw.with_columns(*columns, event.alias(EVENT), arrival.alias(ARRIVAL)).select(*schema, EVENT, ARRIVAL)
    rejected = [] if loaded.broken.is_empty() else [loaded.broken]
    # Hardly any file has bad rows: reasons are worked out where there are some.
    if suspected and raw.select(pl.any_horizontal(each.any() for each in suspected)).item():
        reason = raw.select(pl.coalesce(*reasons, pl.lit(None, dtype=pl.String)).alias(REASON))[REASON]
        bad = reason.is_not_null()
        rejected.insert(0, loaded.whole(bad).with_columns(reason.filter(bad)))
        rows = rows.filter(~bad)
    if not rejected:
        return Read(rows, pl.DataFrame())
    together = pl.concat(rejected, how="diagonal").with_columns(pl.lit(reader.file).alias(FILE))
    return Read(rows, together.sort(LINE) if LINE in together.columns else together)


def _load(reader: FileReader, schema: Schema, between: tuple[int, int] | None) -> Loaded:
    try:
        return reader.load(schema, between)
    except (pl.exceptions.ColumnNotFoundError, KeyError) as error:
        raise DataError(
            f"{reader.file} lacks a column that the pipeline reads: {error}",
            reason="earlier files had it; reading on would treat its rows as nulls",
            hint="repair or remove the file; the run goes on where it stopped",
            code="DATA_COLUMN_MISSING",
        ) from error


def _conversion(reader: FileReader, name: str, found: pl.DataType, kept: pl.DataType) -> Conversion:
    """How a column is read; a time column becomes microseconds.

    Raises:
        DataError: ``DATA_COLUMN_TYPE`` for a column of another kind than that of the first file.
    """
    source, column, form = reader.source, pl.col(name), reader.source.time_formats().get(name)
    if name in source.columns():
        nothing = pl.lit(None, dtype=pl.Int64)
        micros = nothing if found == pl.Null else instants(column, found, form, source.time_zone)
        made = None if micros is None else Conversion(micros)
        wanted = f"times as {form}" if form else "a timestamp with a time zone, or text with an offset"
    else:
        made = of_times(column, found, form, source.time_zone) if form and kept == MOMENT else None
        made = made or reader.conversion(name, found, kept)
        wanted = str(kept)
    if made is None:
        raise DataError(
            f"the column {name!r} has type {found} in {reader.file}, not {wanted}",
            reason="values of one kind are never made ones of another: they would not be what the file says",
            hint="convert the column in the file, or remove the file; the run goes on where it stopped",
            code="DATA_COLUMN_TYPE",
        )
    return made


def _no_time(name: str, micros: pl.Expr) -> pl.Expr:
    """Why a row has no time in a column."""
    return (
        pl.when(pl.col(name).is_null())
        .then(pl.lit(f"{name} is null"))
        .when(micros.is_null())
        .then(pl.lit(f"{name} is not a time"))
        .when(~times.in_range(micros))
        .then(pl.lit(f"{name} is not in the years {ELEMENT_YEARS}"))
    )


@contextmanager
def _readable(file: str) -> Iterator[None]:
    """Whatever a library raises over a file is an error with a code and the file's name; a panic is no Exception."""
    try:
        yield
    except DataflowError:
        raise
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DataError(
            f"{file} cannot be read: {error}",
            reason="a file that is skipped is data that is lost",
            hint="repair or remove the file; the run goes on where it stopped",
            code="DATA_UNREADABLE",
        ) from error
