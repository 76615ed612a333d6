"""Concatenates frames of different files. A column whose types do not fit together becomes text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.time import CALENDAR

if TYPE_CHECKING:
    import polars as pl

_DAY = 86_400_000_000


def one_table(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All rows of some frames, in their order, and every column that one of them has.

    A column keeps its type if all frames agree, or differ only in the width of numbers. Otherwise it is text: JSON for
    lists and structs, hexadecimal for bytes. A column with times that Python cannot represent is text, too; times
    outside the years 1 to 9999 are numbers in it, with their unit.
    """
    import polars as pl

    shown = [frame.with_columns(map(_showable, frame.get_columns())) for frame in frames]
    types: dict[str, set[pl.DataType]] = {}
    for frame in shown:
        for name, dtype in frame.schema.items():
            types.setdefault(name, set()).add(dtype)
    together = {name: _common(found - {pl.Null()}) for name, found in types.items()}
    same = [
        frame.with_columns(_as(column, together[column.name]) for column in frame.get_columns()) for frame in shown
    ]  # fmt: skip
    return pl.concat(same, how="diagonal")


def _common(types: set[pl.DataType]) -> pl.DataType:
    """The common type of some types."""
    import polars as pl

    if len(types) <= 1:
        return types.pop() if types else pl.Null()
    if all(dtype.is_integer() for dtype in types) and not types & {pl.UInt64(), pl.Int128(), pl.UInt128()}:
        return pl.Int64()
    return pl.Float64() if all(dtype.is_float() for dtype in types) else pl.String()


def _as(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    import polars as pl

    if column.dtype == dtype:
        return column
    return as_text(column) if dtype == pl.String else column.cast(dtype)


def _showable(column: pl.Series) -> pl.Series:
    """The column, or text if it has times that Python cannot represent."""
    import polars as pl

    if not (column.dtype.is_temporal() or column.dtype.is_nested()):
        return column
    if isinstance(column.dtype, pl.Datetime | pl.Date):
        return column if _in_calendar(column).all() else as_text(column)
    try:
        column.to_list()
    except (OverflowError, ValueError, pl.exceptions.PanicException):
        return as_text(column)
    return column


def _in_calendar(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    per_day = {"ms": _DAY // 1000, "us": _DAY, "ns": _DAY * 1000, "days": 1}[_unit(dtype)]
    # Whole days, and one less at each end, since a time zone shifts times.
    days = column.to_physical() // per_day
    return days.is_between(CALENDAR[0] // _DAY + 1, CALENDAR[1] // _DAY - 1).fill_null(value=True)


def _unit(dtype: pl.DataType) -> str:
    """The unit of a timestamp or date."""
    import polars as pl

    return dtype.time_unit if isinstance(dtype, pl.Datetime) else "days"


def as_text(column: pl.Series) -> pl.Series:
    """A column as text: JSON for lists and structs, hexadecimal for bytes."""
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Datetime | pl.Date):
        inside = _in_calendar(column)
        far = column.to_physical().cast(pl.String) + f" {_unit(dtype)} since 1970"
        near = column.to_physical().set(~inside, None).cast(dtype).cast(pl.String)
        return near.zip_with(inside, far)
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    if dtype.is_nested():
        try:
            values = column.to_list()
        except (OverflowError, ValueError, pl.exceptions.PanicException):
            values = column.to_physical().to_list()
        texts = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
        return pl.Series(column.name, texts, dtype=pl.String)
    return column.cast(pl.String)
