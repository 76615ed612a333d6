"""Combiners, column-wise: each becomes a few accumulator columns and the expressions that make, merge and read them.

The Python protocol in :mod:`airflow_dataflow_provider.model.combiners` says what the result must be; this package says
how polars gets there without touching single values. The accumulator of aggregate ``total`` is one or more columns
named ``total.<field>``.
"""

from airflow_dataflow_provider.spark.aggregates.aggregate import SIGN, Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.aggregates import Aggregates
from airflow_dataflow_provider.spark.aggregates.header import combiners_from_json, combiners_to_json

__all__ = ["SIGN", "Aggregate", "Aggregates", "Field", "combiners_from_json", "combiners_to_json"]
