"""Instants in files, as microseconds since 1970: from timestamps of every unit, and from ISO 8601 text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from airflow_dataflow_provider.model.time import CALENDAR, ELEMENT_TIMES, Micros

if TYPE_CHECKING:
    from polars._typing import TimeUnit

_DAY: Final = 86_400_000_000
_FIRST, _LAST = CALENDAR


def of_text(column: pl.Expr, zone: str | None) -> pl.Expr:
    """ISO 8601 text as microseconds; null where it is none, or lacks an offset and no zone is given for it."""
    # An offset is required: "Z" is spelled out, and what has none does not match.
    text = column.str.strip_chars().str.replace(" ", "T", literal=True).str.replace(r"[Zz]$", "+00:00")
    parsed = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False).dt.epoch("us")
    if zone is None:
        return parsed
    naive = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    return pl.coalesce(parsed, in_zone(naive.dt.epoch("us"), zone))


def of_timestamps(column: pl.Expr, dtype: pl.Datetime, zone: str | None) -> pl.Expr:
    """Timestamps as microseconds, cut to whole ones; null where the clocks of a zone skip a local time.

    Those beyond the years 1 to 9999 may be others afterwards, beyond :data:`ELEMENT_TIMES`, so that nothing overflows.

    Args:
        column: the timestamps.
        dtype: their type.
        zone: of timestamps that carry none.
    """
    local = in_micros(column, dtype.time_unit)
    return in_zone(local, zone) if dtype.time_zone is None and zone is not None else local


def in_micros(column: pl.Expr, unit: TimeUnit) -> pl.Expr:
    """The numbers of timestamps as microseconds; what would overflow is the first or last instant of the calendar."""
    raw = column.to_physical()
    if unit == "ms":
        return raw.clip(_FIRST // 1000, _LAST // 1000) * 1000
    return raw // 1000 if unit == "ns" else raw


def is_exact(column: pl.Expr, micros: pl.Expr, unit: TimeUnit) -> pl.Expr:
    """Whether :func:`in_micros` has the timestamps as they are."""
    raw = column.to_physical()
    if unit == "ns":
        return raw == micros * 1000
    return raw == (micros // 1000 if unit == "ms" else micros)


def in_unit(time: Micros, unit: TimeUnit) -> int:
    """A time as the first number of a unit that is not before it."""
    if unit == "ns":
        return max(-(2**63), min(time * 1000, 2**63 - 1))
    return -(-time // 1000) if unit == "ms" else time


def in_zone(local: pl.Expr, zone: str) -> pl.Expr:
    """Local times as instants; of an hour that comes twice it is the first."""
    # A day from the calendar's ends, there is no zone that could push a time over them.
    inside = local.clip(_FIRST + _DAY, _LAST - _DAY).cast(pl.Datetime("us"))
    return inside.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("us")


def in_calendar(micros: pl.Expr, *, with_zone: bool) -> pl.Expr:
    """Whether times are in the years 1 to 9999; those with a zone by its clocks, too."""
    margin = _DAY if with_zone else 0
    return micros.is_between(_FIRST + margin, _LAST - margin)


def dates_in_calendar(column: pl.Expr) -> pl.Expr:
    """Whether dates are in the years 1 to 9999; cast to a timestamp or shown, others panic."""
    return column.to_physical().is_between(_FIRST // _DAY, _LAST // _DAY)


def in_range(micros: pl.Expr) -> pl.Expr:
    """Whether instants are times that an element can have."""
    return micros.is_between(*ELEMENT_TIMES, closed="left")
