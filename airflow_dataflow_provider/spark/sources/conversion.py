"""Values of a file in the types that the engine keeps: each is the same afterwards, or it is named as lost.

A cast that would round, cut off, overflow or give null is found by casting back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from airflow_dataflow_provider.spark.values import times, written_times
from airflow_dataflow_provider.spark.values.type_table import MOMENT


def _nothing(value: pl.Expr) -> pl.Expr | None:  # noqa: ARG001 - whatever the value
    return None


_NARROW = (pl.Int8(), pl.Int16(), pl.Int32(), pl.UInt8(), pl.UInt16(), pl.UInt32())
_WIDER = {*((narrow, pl.Int64()) for narrow in _NARROW), (pl.Float32(), pl.Float64())}
"""Casts that lose nothing, whatever the value."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a column is converted.

    Attributes:
        value: the column in its kept type.
        lost: of the converted column, where it does not say what the file says; None: nowhere.
    """

    value: pl.Expr
    lost: Callable[[pl.Expr], pl.Expr | None] = _nothing


def of_column(name: str, found: pl.DataType, kept: pl.DataType, zone: str | None) -> Conversion:
    """Convert a column of a typed file, which may become the kept type (:func:`~.kept_types.may_become`).

    Args:
        name: the column.
        found: its type in the file.
        kept: the type that it is kept in.
        zone: the zone of times that carry none, where the kept type has one.
    """
    column = pl.col(name)
    if isinstance(found, pl.Datetime) and isinstance(kept, pl.Datetime):
        return _of_timestamps(column, found, kept, zone)
    if isinstance(kept, pl.Date) and found == kept:
        return Conversion(column, lambda value: ~times.dates_in_calendar(value))
    if found == pl.Null:
        return Conversion(pl.lit(None, dtype=kept))
    if found == kept:
        return Conversion(column)
    if kept == pl.String or (found, kept) in _WIDER:
        return Conversion(column.cast(kept))
    return Conversion(
        column.cast(kept, strict=False), lambda value: ~value.cast(found, strict=False).eq_missing(column)
    )


def of_times(column: pl.Expr, found: pl.DataType, form: str | None, zone: str | None) -> Conversion | None:
    """Convert a column to instants; None where one of its type has none (:func:`~.written_times.instants`)."""
    micros = written_times.instants(column, found, form, zone)
    if micros is None:
        return None
    return Conversion(
        micros.cast(MOMENT),
        lambda value: (
            column.is_not_null() & ~times.in_calendar(value.to_physical(), with_zone=False).fill_null(value=False)
        ),
    )


def _of_timestamps(column: pl.Expr, found: pl.Datetime, kept: pl.Datetime, zone: str | None) -> Conversion:
    zone = zone if found.time_zone is None and kept.time_zone is not None else None
    micros = times.of_timestamps(column, found, zone)

    def lost(value: pl.Expr) -> pl.Expr:
        local = times.in_micros(column, found.time_unit)
        taken = times.is_exact(column, local, found.time_unit) & value.is_not_null()
        with_zone = zone is not None or kept.time_zone not in (None, "UTC")
        return column.is_not_null() & ~(taken & times.in_calendar(local, with_zone=with_zone))

    return Conversion(micros.cast(kept), lost)


_FRACTION = r"^\s*[+-]?\d*(?:\.\d{{0,{scale}}}0*)?\s*$"
_LEADING_ZEROS = r"^\s*[+-]?0\d"
_WHOLE = r"^\s*[+-]?\d+\s*$"


def of_text(name: str, kept: pl.DataType, zone: str | None, form: str | None = None, *, said: bool) -> Conversion:
    """Convert a column of text, as CSV has it.

    Args:
        name: the column.
        kept: the type that it is kept in.
        zone: the zone of times that carry none.
        form: the time format of times and dates that are not ISO 8601.
        said: whether the user says that the column has this type. If not, numbers with leading zeros are none: they are
            codes, which begin with something else in other rows.
    """
    column = pl.col(name)
    unread = _unread(column)
    if kept == pl.String:
        return Conversion(column)
    if kept == pl.Boolean:
        text = column.str.to_lowercase()
        return Conversion(pl.when(text.is_in(["true", "false"])).then(text == "true"), unread)
    if kept == pl.Date:
        return Conversion(
            written_times.dates(column, form),
            lambda value: column.is_not_null() & ~times.dates_in_calendar(value).fill_null(value=False),
        )
    if kept == MOMENT:
        return of_times(column, pl.String(), form, zone) or Conversion(pl.lit(None, dtype=kept))
    value = column.cast(kept, strict=False)
    if isinstance(kept, pl.Decimal):
        # Casting would round.
        fits = column.str.contains(_FRACTION.format(scale=kept.scale))
        return Conversion(pl.when(fits).then(value), unread)
    zeros = pl.lit(value=False) if said else column.str.contains(_LEADING_ZEROS)
    if kept == pl.Float64:
        return Conversion(value, lambda value: unread(value) | zeros | _rounded(column, value))
    return Conversion(value, lambda value: unread(value) | zeros)


def _unread(column: pl.Expr) -> Callable[[pl.Expr], pl.Expr]:
    return lambda value: value.is_null() & column.is_not_null()


def _rounded(column: pl.Expr, value: pl.Expr) -> pl.Expr:
    """Where text that is a whole number, or a finite one, is another one as a float."""
    whole = column.str.contains(_WHOLE)
    exact = column.cast(pl.Int128, strict=False)
    other = (value.cast(pl.Int128, strict=False) != exact).fill_null(value=True)
    # Below 2^53 every whole number has a float of its own.
    return (whole & (value.abs() >= 2**53) & other) | (value.is_infinite() & ~column.str.contains("(?i)inf"))


def inferred(text: pl.Series) -> pl.DataType:
    """The first of integer, float and boolean that all of some text reads as; else text."""
    given = text.drop_nulls().alias("_text").to_frame()
    for dtype in (pl.Int64(), pl.Float64(), pl.Boolean()) if len(given) else ():
        conversion = of_text("_text", dtype, None, said=False)
        lost = conversion.lost(pl.col("_value"))
        if lost is not None and not given.with_columns(conversion.value.alias("_value")).select(lost.any()).item():
            return dtype
    return pl.String()
