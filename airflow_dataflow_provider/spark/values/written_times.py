"""Times as files write them, in microseconds since 1970: timestamps, ISO 8601 text, patterns, counts since the epoch.

What is no time in its format is null. Digits below the microsecond are cut off.
"""

from __future__ import annotations

import re

import polars as pl

from airflow_dataflow_provider.model.time_formats import EPOCH_UNITS
from airflow_dataflow_provider.spark.values import times

_FAR = 10**18
_COUNT = r"^\s*([+-]?)([0-9]{1,28})(?:\.([0-9]+))?\s*$"
"""Of more digits the nanoseconds would not fit into 128 bits."""


def instants(column: pl.Expr, found: pl.DataType, form: str | None, zone: str | None) -> pl.Expr | None:
    """A column of times.

    Args:
        column: as the file has it.
        found: its type there.
        form: one of :mod:`airflow_dataflow_provider.model.time_formats`; None for timestamps and ISO 8601 text.
        zone: the zone of times that carry none.

    Returns:
        Microseconds; None where a column of this type is no times.
    """
    if form in EPOCH_UNITS:
        if found == pl.String:
            return _of_count(column, EPOCH_UNITS[form])
        return _of_number(column, found, EPOCH_UNITS[form]) if found.is_integer() or found.is_float() else None
    if found == pl.String:
        return times.of_text(column, zone) if form is None else _of_pattern(column, form, zone)
    if form is None and isinstance(found, pl.Datetime) and (found.time_zone or zone):
        return times.of_timestamps(column, found, zone)
    return None


def dates(column: pl.Expr, form: str | None) -> pl.Expr:
    """Text as dates; null where it is none."""
    return column.str.to_date("%Y-%m-%d" if form is None else form, strict=False)


def _of_pattern(column: pl.Expr, form: str, zone: str | None) -> pl.Expr:
    """Text in a pattern of Python's ``strptime``, made one of chrono's, which polars takes."""
    if "%f" in form:
        # Chrono's %f counts nanoseconds, and its %.f is a point with digits.
        column = column.str.replace(r"(:[0-9]{1,2}),([0-9])", "$1.$2") if "%S,%f" in form else column
        form = re.sub(r"%S[.,]%f", "%S%.f", form)
    # Chrono wants hours and minutes, if only to know the instant of an offset.
    for parts in (("%H", "%I"), ("%M",)):
        if not any(part in form for part in parts):
            column, form = pl.lit("00 ") + column, f"{parts[0]} {form}"
    if "%z" not in form:
        local = column.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us")
        return local if zone is None else times.in_zone(local, zone)
    if form.endswith("%z"):
        column = column.str.replace(r"[Zz]\s*$", "+00:00")
    return column.str.to_datetime(form, time_unit="us", strict=False).dt.epoch("us")


def _of_count(column: pl.Expr, nanos: int) -> pl.Expr:
    """Text that is a number of units since 1970; every digit counts."""
    groups = column.str.extract_groups(_COUNT)
    sign, whole, fraction = (groups.struct.field(str(number)) for number in (1, 2, 3))
    digits = len(str(nanos)) - 1
    below = ("0" + fraction.fill_null("").str.pad_end(digits, "0").str.slice(0, digits)).cast(pl.Int128)
    absolute = whole.cast(pl.Int128) * nanos + below
    return _in_micros(pl.when(sign == "-").then(absolute * -1).otherwise(absolute))


def _of_number(column: pl.Expr, found: pl.DataType, nanos: int) -> pl.Expr:
    """Numbers of units since 1970. Fractions of floats are rounded to the microseconds that they stand for."""
    if found.is_integer():
        return _in_micros(column.cast(pl.Int128) * nanos)
    number = column.cast(pl.Float64)
    number = pl.when(number.is_finite()).then(number.clip(-_FAR * 1000, _FAR * 1000))
    whole = number.floor()
    fraction = ((number - whole) * (nanos / 1000)).round().cast(pl.Int128) * 1000
    return _in_micros(whole.cast(pl.Int128) * nanos + fraction)


def _in_micros(nanos: pl.Expr) -> pl.Expr:
    """What would overflow becomes a time beyond all calendars, which no element can have."""
    return (nanos // 1000).clip(-_FAR, _FAR).cast(pl.Int64)
