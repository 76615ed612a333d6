"""Frames on their way to Spark: its schema, and the layouts of Arrow that it reads."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
from pyspark.sql import types as spark

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.spark.values.type_table import Schema, struct, to_spark


def spark_schema(schema: Schema) -> spark.StructType:
    """The schema of a data frame of Spark's.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO`` for a type that Spark does not have.
    """
    fields = {name: to_spark(dtype) for name, dtype in schema.items()}
    for name, made in fields.items():
        if made is None:
            raise SubmissionError(
                f"the column {name!r} of type {schema[name]} cannot be taken through Spark",
                reason="Spark has no such type, and SparkColumns keeps all columns",
                hint="drop or cast it in a Vectorised step before",
                code="SUBMIT_PAR_DO",
            )
    return spark.StructType.fromJson(struct(fields))


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
