"""Evaluates Spark's expressions for the reference interpreter, in a local session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.par_do import SparkColumns

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.elements import Element
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.reference.par_do import Evaluate

_NUMBER = "_number"


def evaluator(pipeline: Pipeline) -> Evaluate | None:
    """The ``evaluate`` of an :class:`~airflow_dataflow_provider.reference.interpreter.Interpreter` of this pipeline.

    It starts Spark at the first element. It is None for a pipeline without Spark's expressions.
    """
    return _evaluate if any(isinstance(step, SparkColumns) for step in pipeline.par_dos()) else None


def _evaluate(step: SparkColumns, elements: Sequence[Element]) -> list[Element]:
    import polars as pl
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    from airflow_dataflow_provider.testing.spark_engines import local_spark

    if not elements:
        return []
    names = dict.fromkeys(name for element in elements for name in element.row)
    columns: dict[str, Any] = {name: [element.row.get(name) for element in elements] for name in names}
    # A column of nulls has no type in polars; in Spark it is a null that takes the type of its context.
    rows = pl.DataFrame(columns, strict=False).with_columns(pl.Series(_NUMBER, range(len(elements))))
    frame = local_spark().createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    if step.where is not None:
        frame = frame.where(step.where)
    made = dict(step.columns)
    kept = [F.col(f"`{name}`") for name in frame.columns if name not in made]
    frame = frame.select(*kept, *(F.expr(text).alias(name) for name, text in made.items()))
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)  # noqa: S101 - a table never becomes a series
    results = sorted(found.iter_rows(named=True), key=lambda row: row[_NUMBER])
    return [replace(elements[row.pop(_NUMBER)], row=row) for row in results]
