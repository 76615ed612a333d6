"""What a user's Python function gives, as columns of the types that it said; and what is told where it fails."""

from __future__ import annotations

import datetime as dt
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.model.errors import DataError

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.par_do import ParDo, PerElement

_DECIMALS = 18
TYPES: dict[type, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    bytes: pl.Binary(),
    dt.datetime: pl.Datetime("us", "UTC"),
    dt.date: pl.Date(),
    Decimal: pl.Decimal(38, _DECIMALS),
}
"""The column type of each Python type that a step can say it makes."""
_ALSO: dict[type, tuple[type, ...]] = {float: (float, int)}
"""Types that are taken for others; otherwise only a type itself and what derives from it."""
_NOT: dict[type, type] = {int: bool, float: bool, dt.date: dt.datetime}
"""Types that derive from another in Python, but mean something else."""
_MOST = 200
"""Characters of a value that are told."""


def series(step: PerElement, name: str, values: list[Any]) -> pl.Series:
    """The values of one column.

    Raises:
        DataError: ``DATA_PAR_DO`` for a value that is not of the type that the step says it makes, or does not fit.
    """
    kind = step.makes[name]
    allowed = _ALSO.get(kind, (kind,))
    # A set of types first: few distinct ones, so that values are looked at in one pass without Python code.
    for found in {*map(type, values)} - {type(None)}:
        if not issubclass(found, allowed) or (kind in _NOT and issubclass(found, _NOT[kind])):
            first = next(value for value in values if type(value) is found)
            raise blame(step, TypeError(f"it made {name}={_short(first)} where it says {kind.__name__}"))
    if kind in _CHECKS:
        for value in values:
            if value is not None and not _CHECKS[kind](value):
                raise blame(step, ValueError(f"it made {name}={_short(value)}, {_FAULTS[kind]}"))
    try:
        return pl.Series(name, values, dtype=TYPES[kind], strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise blame(step, error, f"in {name}") from error


def _fits(value: Decimal) -> bool:
    if not value.is_finite():
        return False
    exponent = value.normalize().as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -_DECIMALS


def _has_zone(value: dt.datetime) -> bool:
    return value.tzinfo is not None


_CHECKS: dict[type, Callable[[Any], bool]] = {Decimal: _fits, dt.datetime: _has_zone}
_FAULTS = {Decimal: f"more than {_DECIMALS} digits behind the point", dt.datetime: "which has no time zone"}


def blame(step: ParDo, error: Exception, where: str = "") -> DataError:
    """The error that says which step has failed, on what, and at which line of the user's."""
    last = traceback.extract_tb(error.__traceback__)
    line = f" ({last[-1].filename}:{last[-1].lineno})" if last else ""
    return DataError(
        _one_line(f"{step!r} failed {_short(where, plain=True)}".rstrip()),
        why=_one_line(f"{type(error).__name__}: {error}{line}"),
        todo="correct the function or the data; the run goes on where it stopped",
        code="DATA_PAR_DO",
    )


def _short(value: object, *, plain: bool = False) -> str:
    text = str(value) if plain else repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def _one_line(text: str) -> str:
    """Errors of workers are told line by line."""
    return " ".join(text.split())
