"""What a user's Python function gives, as columns of the types that it said; and what is told where it fails."""

from __future__ import annotations

import datetime as dt
import traceback
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.errors import DataError
from airflow_dataflow_provider.spark.values.type_table import MADE_BY_PYTHON

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.par_do import ParDo, PerElement

_DECIMALS = 18
_ALSO: dict[type, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
}
"""Types that are taken for others; otherwise only a type itself and what derives from it."""
_NOT: dict[type, type] = {int: bool, float: bool, dt.date: dt.datetime}
"""Types that derive from another in Python, but mean something else."""
NOT_TAKEN = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)
"""What polars raises where a value does not fit into a column."""
_MOST = 200
"""Characters of a value that are told."""


def series(step: PerElement, name: str, values: list[Any]) -> pl.Series:
    """The values of one column.

    Raises:
        DataError: ``DATA_PAR_DO`` for a value that is not of the type that the step says it makes, or does not fit.
    """
    kind = step.makes[name]
    wrong = unfit(values, kind)
    if wrong is not None:
        raise blame(step, type(wrong)(f"it made {name}={wrong}"))
    try:
        return pl.Series(name, values, dtype=MADE_BY_PYTHON[kind], strict=True)
    except NOT_TAKEN as error:
        raise blame(step, error, f"in {name}") from error


def unfit(values: Sequence[Any], kind: Any) -> TypeError | ValueError | None:  # noqa: ANN401 - a type, or list[...]
    """The first value that a column of this Python type would change or refuse, and why; None if there is none.

    Args:
        values: with None for a null.
        kind: one of the types that a column can have, or ``list[...]`` of one.
    """
    if get_origin(kind) is list:
        lists = [value for value in values if value is not None]
        other = next((value for value in lists if not isinstance(value, list | tuple)), None)
        if other is not None:
            return TypeError(f"{_short(other)} where it says {kind}")
        return unfit([item for value in lists for item in value], *get_args(kind))
    allowed = _ALSO.get(kind, (kind,))
    # A set of types first: few distinct ones, so that values are looked at in one pass without Python code.
    for found in {*map(type, values)} - {type(None)}:
        if not issubclass(found, allowed) or (kind in _NOT and issubclass(found, _NOT[kind])):
            first = next(value for value in values if type(value) is found)
            return TypeError(f"{_short(first)} where it says {kind.__name__}")
    if kind in _CHECKS:
        for value in values:
            if value is not None and not _CHECKS[kind](value):
                return ValueError(f"{_short(value)}, {_FAULTS[kind]}")
    return None


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
        reason=_one_line(f"{type(error).__name__}: {error}{line}"),
        hint="correct the function or the data; the run goes on where it stopped",
        code="DATA_PAR_DO",
    )


def _short(value: object, *, plain: bool = False) -> str:
    text = str(value) if plain else repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def _one_line(text: str) -> str:
    """Errors of workers are told line by line."""
    return " ".join(text.split())
