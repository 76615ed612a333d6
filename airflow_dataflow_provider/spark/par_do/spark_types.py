"""Column types on both sides of the border: polars' and Spark's.

Timestamps with a zone are Spark's ``timestamp``, those without one its ``timestamp_ntz``; both have microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
from pyspark.sql import types as spark

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.spark.sources.reading import Schema

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

_PLAIN: tuple[tuple[pl.DataType, spark.DataType], ...] = (
    (pl.Int64(), spark.LongType()),
    (pl.Int32(), spark.IntegerType()),
    (pl.Int16(), spark.ShortType()),
    (pl.Int8(), spark.ByteType()),
    (pl.Float64(), spark.DoubleType()),
    (pl.Float32(), spark.FloatType()),
    (pl.String(), spark.StringType()),
    (pl.Boolean(), spark.BooleanType()),
    (pl.Binary(), spark.BinaryType()),
    (pl.Date(), spark.DateType()),
    (pl.Datetime("us"), spark.TimestampNTZType()),
    (pl.Datetime("us", "UTC"), spark.TimestampType()),
    (pl.Duration("us"), spark.DayTimeIntervalType()),
)
_TO_SPARK = dict(_PLAIN)


def to_spark(dtype: pl.DataType) -> spark.DataType | None:
    """Spark's type for polars'; None where it has none."""
    match dtype:
        case pl.Datetime(time_zone=str()):
            return spark.TimestampType()
        case pl.Decimal(precision=precision, scale=scale):
            return spark.DecimalType(38 if precision is None else precision, scale)
        case pl.List(inner=inner) | pl.Array(inner=inner):
            of = to_spark(_instance(inner))
            return None if of is None else spark.ArrayType(of)
        case pl.Struct(fields=fields):
            parts = {field.name: to_spark(_instance(field.dtype)) for field in fields}
            if None in parts.values():
                return None
            return spark.StructType([spark.StructField(name, part) for name, part in parts.items() if part is not None])
        case _:
            return _TO_SPARK.get(dtype)


def from_spark(dtype: spark.DataType) -> pl.DataType | None:
    """Polars' type for Spark's, as the engine keeps it: 64-bit numbers; None where it has none."""
    match dtype:
        case spark.IntegralType():
            return pl.Int64()
        case spark.FloatType() | spark.DoubleType():
            return pl.Float64()
        case spark.StringType() | spark.CharType() | spark.VarcharType():
            return pl.String()
        case spark.DecimalType():
            return pl.Decimal(dtype.precision, dtype.scale)
        case spark.DayTimeIntervalType():
            return pl.Duration("us")
        case spark.ArrayType():
            of = from_spark(dtype.elementType)
            return None if of is None else pl.List(of)
        case spark.StructType():
            parts = {field.name: from_spark(field.dataType) for field in dtype.fields}
            return (
                None
                if None in parts.values()
                else pl.Struct({n: part for n, part in parts.items() if part is not None})
            )
        case _:
            return next((polars for polars, of in _PLAIN if of == dtype), None)


def spark_schema(schema: Schema) -> spark.StructType:
    """The schema of a data frame of Spark's.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO`` for a type that Spark does not have.
    """
    fields = [(name, dtype, to_spark(dtype)) for name, dtype in schema.items()]
    for name, dtype, made in fields:
        if made is None:
            raise SubmissionError(
                f"the column {name!r} of type {dtype} cannot be taken through Spark",
                reason="Spark has no such type, and SparkColumns keeps all columns",
                hint="drop or cast it in a Vectorised step before",
                code="SUBMIT_PAR_DO",
            )
    return spark.StructType([spark.StructField(name, made) for name, _, made in fields if made is not None])


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """A frame in the layouts of Arrow that Spark's JVM reads: it knows no lists with 64-bit offsets."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.cast(pa.schema([field.with_type(_for_spark(field.type)) for field in table.schema]))


def _for_spark(of: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return pa.list_(_for_spark(of.value_type))
    if pa.types.is_struct(of):
        return pa.struct([field.with_type(_for_spark(field.type)) for field in of])
    return of


def _instance(dtype: PolarsDataType) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()
