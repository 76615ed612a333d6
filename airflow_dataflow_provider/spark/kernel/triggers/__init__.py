"""Trigger trees, compiled: every open window of a partition is asked at once."""

from airflow_dataflow_provider.spark.kernel.triggers import clocks, composites, elements  # they register their nodes
from airflow_dataflow_provider.spark.kernel.triggers.compile_trigger import compile_trigger

__all__ = ["clocks", "compile_trigger", "composites", "elements"]
