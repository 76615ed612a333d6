"""Splits to frames: one file after the other, only the columns that are asked for, malformed rows set aside.

The file read is part of the map pass: what crosses the JVM is the path, not the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.errors import DataError, SubmissionError
from airflow_dataflow_provider.spark.opening import contents, path_or_contents

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files

EVENT, ARRIVAL = "_event", "_arrival"
"""The times of a row in microseconds since the epoch."""
_REASON = "_reason"
_MOMENT = pl.Datetime("us", "UTC")
Schema = dict[str, pl.DataType]


@dataclass(frozen=True, slots=True)
class Read:
    """One file: its good rows and the rejected ones.

    Attributes:
        rows: in :func:`element_types`, with :data:`EVENT` and :data:`ARRIVAL`.
        rejected: as they are in the file, with the reason.
    """

    rows: pl.DataFrame
    rejected: pl.DataFrame


def column_types(source: Files, file: str) -> Schema:
    """The types in which the engine keeps a file's columns: 64-bit numbers, microseconds, plain text.

    Raises:
        DataError: ``DATA_UNREADABLE`` where the file is not what its format says.
    """
    try:
        if source.format == "parquet":
            found: Mapping[str, pl.DataType] = pl.scan_parquet(
                path_or_contents(source, file), glob=False, hive_partitioning=False
            ).collect_schema()
        else:
            found = pl.read_csv(contents(source, file), n_rows=10_000, try_parse_dates=False).schema
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unreadable(file, error) from error
    return {name: kept_as(dtype) for name, dtype in found.items()}


def columns_of_elements(found: Schema) -> tuple[str, ...]:
    """The columns that a pipeline gets which reads all of them: those whose type and name the engine can carry."""
    return tuple(
        name
        for name, dtype in found.items()
        if not name.startswith("_") and dtype not in (pl.Null, pl.Object, pl.Unknown)
    )


def element_types(source: Files, schema: Schema) -> Schema:
    """The types of an element's columns, by the types they are read in: a time is the instant that it means, in UTC."""
    return schema | dict.fromkeys(source.columns(), _MOMENT)


def check_columns(source: Files, wanted: tuple[str, ...], found: Schema, file: str) -> Schema:
    """The types of the wanted columns.

    Raises:
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_EVENT_TIME_TYPE``, ``SOURCE_NAIVE_TIME``,
        ``SUBMIT_COLUMN_TYPE``.
    """
    missing = [name for name in wanted if name not in found]
    if missing:
        roles = {source.event_time: " (the event time)", source.arrival_time: " (the arrival time)"}
        role = roles.get(missing[0], "")
        raise SubmissionError(
            f"the column {missing[0]!r}{role} is not in {file}",
            why="the pipeline reads it",
            todo=f"name one of its columns: {', '.join(found)}",
            code="SOURCE_NO_COLUMN",
        )
    for name in source.columns():
        dtype = found[name]
        if dtype == pl.String:
            continue
        if not isinstance(dtype, pl.Datetime):
            raise SubmissionError(
                f"the time column {name!r} has type {dtype} in {file}",
                why="a number or a date does not say which instant is meant",
                todo="make it a timestamp with a time zone, or ISO 8601 text with an offset",
                code="SOURCE_EVENT_TIME_TYPE",
            )
        if dtype.time_zone is None and source.time_zone is None:
            raise SubmissionError(
                f"the time column {name!r} of {file} has no time zone",
                why="a naive time means another instant on every machine",
                todo='write it in UTC with a zone, or say what it means: Files(..., time_zone="UTC")',
                code="SOURCE_NAIVE_TIME",
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
            statistics rule out are not read, but other rows outside may come, and all rejected ones do. Not for a
            pipeline that changes event times.

    Raises:
        DataError: ``DATA_UNREADABLE``, ``DATA_COLUMN_MISSING``: the file as a whole cannot be read.
    """
    raw = _load(source, list(schema) or None, file, between)
    problems: list[pl.Expr] = []
    columns: list[pl.Expr] = []
    for name, dtype in schema.items():
        if name in source.columns():
            continue
        converted = pl.col(name).cast(dtype, strict=False)
        columns.append(converted.alias(name))
        if raw.schema[name] != dtype:
            broken = converted.is_null() & pl.col(name).is_not_null()
            problems.append(pl.when(broken).then(pl.lit(f"{name} does not read as {dtype}")))
    # Times of text are worth reading once only, so each is a column before it is used.
    times = {name: pl.col(f"_micros {name}") for name in source.columns()}
    raw = raw.with_columns(_micros(source, raw.schema, name).alias(f"_micros {name}") for name in times)
    for name, time in times.items():
        columns.append(time.cast(_MOMENT).alias(name))
        unread = pl.when(pl.col(name).is_null()).then(pl.lit(f"{name} is null"))
        problems.append(unread.when(time.is_null()).then(pl.lit(f"{name} is not a time")))
    arrival = times[source.arrival_time] if source.arrival_time else pl.lit(now, dtype=pl.Int64)
    event = times[source.event_time] if isinstance(source.event_time, str) else arrival
    reason = pl.coalesce(*problems, pl.lit(None, dtype=pl.String)).alias(_REASON)
    # Constants alone would make one row, beside the columns there are they make as many as the file has.
    rows = raw.with_columns(*columns, event.alias(EVENT), arrival.alias(ARRIVAL), reason)
    rows = rows.select(*schema, EVENT, ARRIVAL, _REASON)
    bad = rows[_REASON].is_not_null()
    if not bad.any():
        return Read(rows.drop(_REASON), pl.DataFrame())
    whole = (
        _load(source, None, file, between)
        .filter(bad)
        .with_columns(_file=pl.lit(file), _reason=rows[_REASON].filter(bad))
    )
    return Read(rows.filter(~bad).drop(_REASON), whole)


def _load(source: Files, columns: list[str] | None, file: str, between: tuple[int, int] | None = None) -> pl.DataFrame:
    try:
        if source.format == "parquet" and between is not None:
            scan = pl.scan_parquet(path_or_contents(source, file), glob=False, hive_partitioning=False)
            column = source.event_time if isinstance(source.event_time, str) else source.arrival_time
            dtype = None if column is None else scan.collect_schema().get(column)
            if column is not None and isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
                begin, end = (pl.lit(time).cast(_MOMENT) for time in between)
                moment = pl.col(column)
                scan = scan.filter(((moment >= begin) & (moment < end)) | moment.is_null())
            return (scan if columns is None else scan.select(columns)).collect()
        if source.format == "parquet":
            return pl.read_parquet(path_or_contents(source, file), columns=columns, glob=False, hive_partitioning=False)
        # Everything as text first: a value that does not read as its type must be seen, not turned into a null.
        return pl.read_csv(contents(source, file), columns=columns, infer_schema=False)
    except pl.exceptions.ColumnNotFoundError as error:
        raise DataError(
            f"{file} lacks a column that the pipeline reads: {error}",
            why="earlier files had it; reading on would treat its rows as nulls",
            todo="repair or remove the file; the run goes on where it stopped",
            code="DATA_COLUMN_MISSING",
        ) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unreadable(file, error) from error


def _micros(source: Files, schema: Mapping[str, pl.DataType], name: str) -> pl.Expr:
    """A time column as microseconds since the epoch; null where it is none."""
    column, dtype = pl.col(name), schema[name]
    if dtype == pl.String:
        # An offset is required: "Z" is spelled out, and what has none does not match.
        text = column.str.strip_chars().str.replace(" ", "T", literal=True).str.replace(r"[Zz]$", "+00:00")
        parsed = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False).dt.epoch("us")
        if source.time_zone is None:
            return parsed
        naive = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        naive = naive.dt.replace_time_zone(source.time_zone, ambiguous="earliest", non_existent="null")
        return pl.coalesce(parsed, naive.dt.epoch("us"))
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            column = column.dt.replace_time_zone(source.time_zone or "UTC", ambiguous="earliest", non_existent="null")
        return column.dt.epoch("us")
    return pl.lit(None, dtype=pl.Int64)


def kept_as(dtype: pl.DataType) -> pl.DataType:
    """The type in which the engine keeps values of a type: one integer, one float, one text, microseconds."""
    if dtype.is_integer() and dtype != pl.UInt64:
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone)
    if dtype in (pl.Categorical, pl.Enum):
        return pl.String()
    return dtype


def _unreadable(file: str, error: Exception) -> DataError:
    return DataError(
        f"{file} cannot be read: {error}",
        why="a file that is skipped is data that is lost",
        todo="repair or remove the file; the run goes on where it stopped",
        code="DATA_UNREADABLE",
    )
