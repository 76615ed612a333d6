"""The type table: what a column's type is called in ``schema=``, in Python, in polars and in Spark.

Spark's types are written as its JSON has them, so that nothing here needs Spark.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from airflow_dataflow_provider.model.column_types import digits, fields, items

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

Schema = dict[str, pl.DataType]
"""The types of columns, by name."""
SparkJson = str | dict[str, Any]
MOMENT: Final = pl.Datetime("us", "UTC")
_DECIMAL: Final = pl.Decimal(38, 18)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A row of the table.

    Attributes:
        polars: the type that columns have in the engine.
        spark: the same in Spark.
        name: in ``schema=``; empty for a type that the engine does not keep, or that has parameters.
        python: the type of a value, as the steps and combiners of users say it.
    """

    polars: pl.DataType
    spark: str = ""
    name: str = ""
    python: type | None = None


TABLE: Final = (
    ColumnType(pl.Int64(), "long", "int64", int),
    ColumnType(pl.UInt64(), name="uint64"),
    ColumnType(pl.Int32(), "integer"),
    ColumnType(pl.Int16(), "short"),
    ColumnType(pl.Int8(), "byte"),
    ColumnType(pl.Float64(), "double", "float64", float),
    ColumnType(pl.Float32(), "float"),
    ColumnType(pl.String(), "string", "string", str),
    ColumnType(pl.Boolean(), "boolean", "boolean", bool),
    ColumnType(pl.Binary(), "binary", "binary", bytes),
    ColumnType(pl.Date(), "date", "date", dt.date),
    ColumnType(MOMENT, "timestamp", "timestamp", dt.datetime),
    ColumnType(pl.Datetime("us"), "timestamp_ntz"),
    ColumnType(pl.Duration("us"), "interval day to second", python=dt.timedelta),
    ColumnType(_DECIMAL, "decimal(38,18)", python=Decimal),
)
_NAMED: Final = {row.name: row.polars for row in TABLE if row.name}
_IN_SPARK: Final = {row.polars: row.spark for row in TABLE if row.spark}
_FROM_SPARK: Final = {row.spark: row.polars for row in TABLE if row.spark}
_VARIANTS: Final = {
    r"(var)?char\(\d+\)": "string",
    r"interval (day|hour|minute|second)( to (hour|minute|second))?": "interval day to second",
}
"""Types of Spark's that hold fewer values than one of the table."""
MADE_BY_PYTHON: Final[dict[type, pl.DataType]] = {row.python: row.polars for row in TABLE if row.python}
"""The column type of each Python type that a step or combiner can say it makes."""


def type_named(name: str) -> pl.DataType:
    """The type that a column is said to have (:mod:`airflow_dataflow_provider.model.column_types`)."""
    decimal, item, parts = digits(name), items(name), fields(name)
    if item is not None:
        return pl.List(type_named(item))
    if parts is not None:
        return pl.Struct({field: type_named(of) for field, of in parts})
    return _NAMED[name] if decimal is None else pl.Decimal(*decimal)


def kept_as(dtype: PolarsDataType) -> pl.DataType:
    """The type in which the engine keeps values of a type: one integer, one float, one text, microseconds."""
    match dtype:
        case pl.Datetime(time_zone=zone):
            return pl.Datetime("us", zone)
        case pl.Duration():
            return pl.Duration("us")
        case pl.List(inner=inner):
            return pl.List(kept_as(inner))
        case pl.Array(inner=inner, size=size):
            return pl.Array(kept_as(inner), size)
        case pl.Struct(fields=fields):
            return pl.Struct({field.name: kept_as(field.dtype) for field in fields})
    if dtype.is_integer() and dtype != pl.UInt64:
        return pl.Int64()
    if dtype.is_float():
        return pl.Float64()
    if dtype in (pl.Categorical, pl.Enum):
        return pl.String()
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def to_spark(dtype: PolarsDataType) -> SparkJson | None:
    """Spark's type for polars'; None where it has none."""
    match dtype:
        case pl.Datetime(time_zone=str()):
            return "timestamp"
        case pl.Decimal(precision=precision, scale=scale):
            return f"decimal({38 if precision is None else precision},{scale})"
        case pl.List(inner=inner) | pl.Array(inner=inner):
            of = to_spark(inner)
            return None if of is None else {"type": "array", "elementType": of, "containsNull": True}
        case pl.Struct(fields=fields):
            parts = {field.name: to_spark(field.dtype) for field in fields}
            return None if None in parts.values() else struct(parts)
        case _:
            return _IN_SPARK.get(dtype if isinstance(dtype, pl.DataType) else dtype())


def from_spark(found: SparkJson) -> pl.DataType | None:
    """Polars' type for Spark's, as the engine keeps it; None where it has none."""
    if isinstance(found, str):
        decimal = digits(found)
        name = next((name for form, name in _VARIANTS.items() if re.fullmatch(form, found)), found)
        known = _FROM_SPARK.get(name) if decimal is None else pl.Decimal(*decimal)
        return None if known is None else kept_as(known)
    if found["type"] == "array":
        of = from_spark(found["elementType"])
        return None if of is None else pl.List(of)
    if found["type"] == "struct":
        parts = {field["name"]: from_spark(field["type"]) for field in found["fields"]}
        kept = {name: part for name, part in parts.items() if part is not None}
        return pl.Struct(kept) if len(kept) == len(parts) else None
    return None


def struct(parts: dict[str, SparkJson | None]) -> dict[str, Any]:
    """Spark's struct with fields of some types."""
    fields = [{"name": name, "type": of, "nullable": True, "metadata": {}} for name, of in parts.items()]
    return {"type": "struct", "fields": fields}
