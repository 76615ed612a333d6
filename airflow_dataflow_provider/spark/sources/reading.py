"""Splits to frames: one file after the other, only the columns that are asked for, malformed rows set aside.

The file read is part of the map pass: what crosses the JVM is the path, not the rows. Whatever the first file of a
source was like, a value of a later one is read as what it is, or its row is rejected, or the file is refused: none is
changed (``docs/reference/sources.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.errors import DataError, DataflowError, SubmissionError
from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME as ARRIVAL
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.model.time import ELEMENT_TIMES, ELEMENT_YEARS
from airflow_dataflow_provider.spark.sources import conversion
from airflow_dataflow_provider.spark.sources.csv_files import read_csv
from airflow_dataflow_provider.spark.sources.opening import contents, path_or_contents
from airflow_dataflow_provider.spark.values import times
from airflow_dataflow_provider.spark.values.kept_types import kept_as, may_become, type_named
from airflow_dataflow_provider.spark.values.times import MOMENT

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files

_REASON = "_reason"
_LOOKED_AT = 10_000
"""Rows of a CSV file that say what types its columns have."""
Schema = dict[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class Read:
    """One file: its good rows and the rejected ones.

    Attributes:
        rows: in :func:`element_types`, with :data:`EVENT` and :data:`ARRIVAL`.
        rejected: as they are in the file, with the reason; lines of CSV that are no rows, as text.
    """

    rows: pl.DataFrame
    rejected: pl.DataFrame


def column_types(source: Files, file: str) -> Schema:
    """The types in which the engine keeps a file's columns: those that they are said to have, or learned from it.

    Raises:
        DataError: ``DATA_UNREADABLE`` where the file is not what its format says.
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_COLUMN_TYPE``: it is not what ``schema=`` says.
    """
    said = {name: type_named(of) for name, of in source.said().items() if name not in source.columns()}
    with _readable(file):
        if source.format == "parquet":
            scan = pl.scan_parquet(path_or_contents(source, file), glob=False, hive_partitioning=False)
            found: Mapping[str, pl.DataType] = scan.collect_schema()
        else:
            text = read_csv(contents(source, file)).rows.head(_LOOKED_AT)
            found = {
                name: said.get(name) or (pl.String() if name in source.columns() else conversion.inferred(text[name]))
                for name in text.columns
            }
    for name, dtype in said.items():
        if name not in found:
            raise SubmissionError(
                f"the column {name!r}, which schema= names, is not in {file}",
                reason="it would be a column without values",
                hint=f"name one of its columns: {', '.join(found)}",
                code="SOURCE_NO_COLUMN",
            )
        if not may_become(found[name], dtype, has_zone=source.time_zone is not None):
            raise SubmissionError(
                f"the column {name!r} is {found[name]} in {file}, and {source.said()[name]} in schema=",
                reason="values of one kind are never made ones of another",
                hint="say another type, or convert the column where the files are written",
                code="SOURCE_COLUMN_TYPE",
            )
    return {name: said.get(name) or kept_as(dtype) for name, dtype in found.items()}


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


def check_columns(source: Files, wanted: tuple[str, ...], found: Schema, file: str) -> Schema:
    """The types of the wanted columns.

    Raises:
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_EVENT_TIME_TYPE``, ``SOURCE_NAIVE_TIME``,
        ``SOURCE_COLUMN_TYPE``.
    """
    missing = [name for name in wanted if name not in found]
    if missing:
        roles = {source.event_time: " (the event time)", source.arrival_time: " (the arrival time)"}
        role = roles.get(missing[0], "")
        raise SubmissionError(
            f"the column {missing[0]!r}{role} is not in {file}",
            reason="the pipeline reads it",
            hint=f"name one of its columns: {', '.join(found)}",
            code="SOURCE_NO_COLUMN",
        )
    for name in source.columns():
        dtype = found[name]
        if dtype == pl.String:
            continue
        if not isinstance(dtype, pl.Datetime):
            raise SubmissionError(
                f"the time column {name!r} has type {dtype} in {file}",
                reason="a number or a date does not say which instant is meant",
                hint="make it a timestamp with a time zone, or ISO 8601 text with an offset",
                code="SOURCE_EVENT_TIME_TYPE",
            )
        if dtype.time_zone is None and source.time_zone is None:
            raise SubmissionError(
                f"the time column {name!r} of {file} has no time zone",
                reason="a naive time means another instant on every machine",
                hint='write it in UTC with a zone, or say what it means: Files(..., time_zone="UTC")',
                code="SOURCE_NAIVE_TIME",
            )
    for name in wanted:
        if found[name] == pl.Null:
            raise SubmissionError(
                f"the column {name!r} is null in all rows of {file}",
                reason="its type is learned from this file, and values of later ones would be lost",
                hint=f'say what it is: Files(..., schema={{{name!r}: "float64"}})',
                code="SOURCE_COLUMN_TYPE",
            )
    return {name: found[name] for name in wanted}


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
        return _read(source, schema, file, now, between)


def _read(source: Files, schema: Schema, file: str, now: int, between: tuple[int, int] | None) -> Read:
    raw, ragged = _load(source, list(schema) or None, file, between)
    # A column of nulls has no value to change, whatever type its writer has chosen for it.
    found = {name: pl.Null() if raw[name].null_count() == len(raw) else raw.schema[name] for name in schema}
    _check_kinds(source, schema, found, file)
    conversions = {name: _conversion(source, name, found[name], dtype) for name, dtype in schema.items()}
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
    rejected = [] if ragged.is_empty() else [ragged.with_columns(_file=pl.lit(file))]
    # Hardly any file has bad rows: reasons are worked out where there are some.
    if suspected and raw.select(pl.any_horizontal(each.any() for each in suspected)).item():
        reason = raw.select(pl.coalesce(*reasons, pl.lit(None, dtype=pl.String)).alias(_REASON))[_REASON]
        whole, _ = _load(source, None, file, between)
        bad = reason.is_not_null()
        rejected.insert(0, whole.with_columns(_file=pl.lit(file), _reason=reason).filter(bad))
        rows = rows.filter(~bad)
    return Read(rows, pl.concat(rejected, how="diagonal") if rejected else pl.DataFrame())


def _conversion(source: Files, name: str, found: pl.DataType, kept: pl.DataType) -> conversion.Conversion:
    """How a column is read; a time column becomes microseconds."""
    column = pl.col(name)
    if name in source.columns():
        if found == pl.String:
            return conversion.Conversion(times.of_text(column, source.time_zone))
        if isinstance(found, pl.Datetime):
            return conversion.Conversion(times.of_timestamps(column, found, source.time_zone))
        return conversion.Conversion(pl.lit(None, dtype=pl.Int64))  # nothing but nulls
    if source.format == "csv" and found != pl.Null:
        return conversion.of_text(name, kept, source.time_zone, said=name in source.said())
    return conversion.of_column(name, found, kept, source.time_zone)


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


def _check_kinds(source: Files, schema: Schema, columns: Schema, file: str) -> None:
    """Refuse a file whose columns are of another kind than those of the first one.

    Raises:
        DataError: ``DATA_COLUMN_TYPE``.
    """
    if source.format == "csv":
        return
    for name, kept in schema.items():
        found = columns[name]
        if name in source.columns():
            has_zone = isinstance(found, pl.Datetime) and (found.time_zone or source.time_zone)
            fits = bool(has_zone) or found in (pl.String, pl.Null)
            wanted = "a timestamp with a time zone, or text with an offset"
        else:
            fits = may_become(found, kept, has_zone=source.time_zone is not None)
            wanted = str(kept)
        if not fits:
            raise DataError(
                f"the column {name!r} has type {found} in {file}, not {wanted}",
                reason="values of one kind are never made ones of another: they would not be what the file says",
                hint="convert the column in the file, or remove the file; the run goes on where it stopped",
                code="DATA_COLUMN_TYPE",
            )


def _load(
    source: Files, columns: list[str] | None, file: str, between: tuple[int, int] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The wanted columns of a file, and rows of CSV that are none."""
    try:
        if source.format == "csv":
            # Everything as text first: a value that does not read as its type must be seen, not turned into a null.
            found = read_csv(contents(source, file), columns)
            return found.rows, found.ragged
        scan = pl.scan_parquet(path_or_contents(source, file), glob=False, hive_partitioning=False)
        if between is not None:
            scan = _filtered(source, scan, between)
        return (scan if columns is None else scan.select(columns)).collect(), pl.DataFrame()
    except (pl.exceptions.ColumnNotFoundError, KeyError) as error:
        raise DataError(
            f"{file} lacks a column that the pipeline reads: {error}",
            reason="earlier files had it; reading on would treat its rows as nulls",
            hint="repair or remove the file; the run goes on where it stopped",
            code="DATA_COLUMN_MISSING",
        ) from error


def _filtered(source: Files, scan: pl.LazyFrame, between: tuple[int, int]) -> pl.LazyFrame:
    """Without row groups in which all event times lie outside; what cannot be an element's comes, to be rejected."""
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
    return scan.filter(inside | moment.is_null() | (moment < first) | (moment >= last))


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
