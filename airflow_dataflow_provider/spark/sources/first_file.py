"""The first file of a source says what types its columns have; what cannot be read is refused before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.file_formats import JsonLines
from airflow_dataflow_provider.spark.values.kept_types import may_become
from airflow_dataflow_provider.spark.values.type_table import MOMENT, Schema, kept_as
from airflow_dataflow_provider.spark.values.written_times import instants

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files
    from airflow_dataflow_provider.spark.sources.file_reader import FileReader

_HOW = "time_format='%d.%m.%Y %H:%M:%S', or 'epoch_seconds', 'epoch_milliseconds'"


def kept_types(reader: FileReader) -> Schema:
    """The types in which the engine keeps a file's columns: those that they are said to have, or learned from it.

    Raises:
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_COLUMN_TYPE``, ``SOURCE_NAIVE_TIME``,
            ``SOURCE_EVENT_TIME_TYPE``.
    """
    source, found, said = reader.source, reader.found(), reader.said()
    for name, dtype in said.items():
        if name not in found.types:
            raise SubmissionError(
                f"the column {name!r}, which schema= names, is not in {reader.file}",
                reason="it would be a column without values",
                hint=f"name one of its columns: {', '.join(found.types)}",
                code="SOURCE_NO_COLUMN",
            )
        form = source.time_formats().get(name) if dtype == MOMENT else None
        is_time = form is not None and instants(pl.col(name), found.types[name], form, source.time_zone) is not None
        if not is_time and not may_become(found.types[name], dtype, has_zone=source.time_zone is not None):
            raise SubmissionError(
                f"the column {name!r} is {found.types[name]} in {reader.file}, and {source.said()[name]} in schema=",
                reason="values of one kind are never made ones of another",
                hint="say another type, or convert the column where the files are written",
                code="SOURCE_COLUMN_TYPE",
            )
    for name in source.columns():
        if found.types.get(name) == pl.String:
            _check_times(source, found.texts[name].drop_nulls(), reader.file)
    return {name: said.get(name) or kept_as(dtype) for name, dtype in found.types.items()}


def check_columns(source: Files, wanted: tuple[str, ...], found: Schema, file: str) -> Schema:
    """The types of the wanted columns.

    Raises:
        SubmissionError: ``SOURCE_NO_COLUMN``, ``SOURCE_EVENT_TIME_TYPE``, ``SOURCE_NAIVE_TIME``,
        ``SOURCE_COLUMN_TYPE``.
    """
    missing = [name for name in wanted if name not in found]
    if missing:
        roles = {source.event_time: " (the event time)", source.arrival_time: " (the arrival time)"}
        also = f"; or say its type: schema={{{missing[0]!r}: ...}}" if isinstance(source.file_format, JsonLines) else ""
        raise SubmissionError(
            f"the column {missing[0]!r}{roles.get(missing[0], '')} is not in {file}",
            reason="the pipeline reads it",
            hint=f"name one of its columns: {', '.join(found)}{also}",
            code="SOURCE_NO_COLUMN",
        )
    for name in source.columns():
        _check_time_type(source, name, found[name], file)
    for name in wanted:
        if found[name] in (pl.Null, pl.Unknown):
            raise SubmissionError(
                f"the column {name!r} is null in all rows of {file}, or has values of several kinds",
                reason="its type is learned from this file, and values of later ones would be lost",
                hint=f'say what it is: Files(..., schema={{{name!r}: "float64"}})',
                code="SOURCE_COLUMN_TYPE",
            )
    return {name: found[name] for name in wanted}


def _check_time_type(source: Files, name: str, dtype: pl.DataType, file: str) -> None:
    form = source.time_formats().get(name)
    if instants(pl.col(name), dtype, form, source.time_zone) is not None:
        return
    if form is None and isinstance(dtype, pl.Datetime):
        raise SubmissionError(
            f"the time column {name!r} of {file} has no time zone",
            reason="a naive time means another instant on every machine",
            hint='write it in UTC with a zone, or say what it means: Files(..., time_zone="UTC")',
            code="SOURCE_NAIVE_TIME",
        )
    raise SubmissionError(
        f"the time column {name!r} has type {dtype} in {file}" + (f", and time_format={form!r}" if form else ""),
        reason="a number or a date does not say which instant is meant" if form is None else "they contradict",
        hint=f"make it a timestamp with a time zone, or ISO 8601 text with an offset; or say how it is written: {_HOW}",
        code="SOURCE_EVENT_TIME_TYPE",
    )


def _check_times(source: Files, texts: pl.Series, file: str) -> None:
    """Refuse times that are written in another way than the source says: all rows would be rejected.

    Text without a digit is no time in any way; whether a run may reject all that it reads is said by its source.
    """
    name, form = texts.name, source.time_formats().get(texts.name)
    texts = texts.filter(texts.str.contains("[0-9]"))
    if texts.is_empty() or source.max_rejected_share == 1 or _times(texts, form, source.time_zone):
        return
    if form is None and source.time_zone is None and _times(texts, None, "UTC"):
        raise SubmissionError(
            f"the time column {name!r} of {file} has no time zone: {texts[0]!r}",
            reason="a naive time means another instant in every zone",
            hint='write times with an offset, or say what they mean: Files(..., time_zone="UTC")',
            code="SOURCE_NAIVE_TIME",
        )
    raise SubmissionError(
        f"no value of the time column {name!r} in {file} is a time"
        f"{' in ISO 8601' if form is None else f' as time_format={form!r} says'}: {texts[0]!r}",
        reason="all rows would be rejected",
        hint=f"say how times are written: {_HOW}",
        code="SOURCE_EVENT_TIME_TYPE",
    )


def _times(texts: pl.Series, form: str | None, zone: str | None) -> int:
    """The number of values that are times."""
    micros = instants(pl.col(texts.name), pl.String(), form, zone)
    return 0 if micros is None else texts.to_frame().select(micros.count()).item()
