"""Which types of a file may become the type that the engine keeps.

The rule is in ``docs/reference/sources.md``. Types are of *kinds*. A file may have another type of the same kind, and
another kind of number where whole values are the same in both. Then each value decides: what is equal afterwards is
taken, a row with any other is rejected. A column of another kind refuses the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

_WHOLE, _FLOAT, _DECIMAL, _TEXT, _NAIVE, _INSTANT = "integer", "float", "decimal", "text", "naive time", "instant"
_NUMBERS = {(_WHOLE, _FLOAT), (_FLOAT, _WHOLE), (_WHOLE, _DECIMAL), (_DECIMAL, _WHOLE)}
"""Kinds of numbers that become each other where the value is the same. Decimal and binary fractions hardly ever are."""

Kind = str | tuple[object, ...]


def may_become(found: PolarsDataType, kept: PolarsDataType, *, has_zone: bool = False) -> bool:
    """Whether values of a file's type can be kept in a type, each if it is the same there.

    Args:
        found: the type in a file.
        kept: the type that the engine keeps.
        has_zone: times without a time zone are said to have one.
    """
    if found == pl.Null:  # nothing but nulls
        return True
    match found, kept:
        case (pl.List(inner=a), pl.List(inner=b)):
            return may_become(a, b)
        case (pl.Array(inner=a, size=length), pl.Array(inner=b, size=wanted)):
            return length == wanted and may_become(a, b)
        case (pl.Struct(fields=some), pl.Struct(fields=others)):
            return [field.name for field in some] == [field.name for field in others] and all(
                may_become(a.dtype, b.dtype) for a, b in zip(some, others, strict=True)
            )
    kinds = _kind(found), _kind(kept)
    return kinds[0] == kinds[1] or kinds in _NUMBERS or (has_zone and kinds == (_NAIVE, _INSTANT))


def _kind(dtype: PolarsDataType) -> str:
    if dtype.is_integer():
        return _WHOLE
    if dtype.is_float():
        return _FLOAT
    if dtype.is_decimal():
        return _DECIMAL
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return _TEXT
    if isinstance(dtype, pl.Datetime):
        return _NAIVE if dtype.time_zone is None else _INSTANT
    return "duration" if dtype == pl.Duration else str(dtype)
