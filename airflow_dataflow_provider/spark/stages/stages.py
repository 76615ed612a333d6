"""The groupings of a pipeline as stages of an epoch: each with its kernel, and what one hands to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.proofs import retracts
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT, ORDER, SIGN, TIMESTAMP
from airflow_dataflow_provider.spark.kernel.kernel import Kernel, kernel_for
from airflow_dataflow_provider.spark.kernel.windowers import windower_for
from airflow_dataflow_provider.spark.par_do.par_do import apply, check_has, schema_after
from airflow_dataflow_provider.spark.sources.reading import element_types
from airflow_dataflow_provider.spark.stages.results import results_of, results_schema
from airflow_dataflow_provider.spark.values.hashing import key_hash
from airflow_dataflow_provider.spark.values.type_table import MOMENT, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.model.grouping import Grouping
    from airflow_dataflow_provider.model.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Stages:
    """A pipeline with the types of its columns: all that a worker needs to make the kernels.

    Attributes:
        pipeline: whose groupings.
        source: the types in which the source's columns are read.
        at_groupings: for each grouping, the types of an element's columns there.
    """

    pipeline: Pipeline
    source: Schema
    at_groupings: tuple[Schema, ...]

    @classmethod
    def of(cls, pipeline: Pipeline, source: Schema, spark: SparkSession | None = None) -> Stages:
        """Work the types out.

        Args:
            pipeline: the pipeline.
            source: the types of the source's columns.
            spark: is asked what its expressions make, where there are any.

        Raises:
            SubmissionError: for steps, combiners or columns that do not fit.
        """
        found: list[Schema] = []
        schema = element_types(pipeline.source, source) if isinstance(pipeline.source, Files) else source
        for number, grouping in enumerate(pipeline.groupings):
            found.append(_schema_at(grouping, schema, spark))
            kernel = _kernel(pipeline, tuple(found), number)
            schema = {
                **kernel.key_types,
                **kernel.aggregates.output_schema,
                "window_start": MOMENT,
                "window_end": MOMENT,
            }
        stages = cls(pipeline, source, tuple(found))
        stages.published()  # it says what does not fit
        return stages

    @property
    def elements(self) -> Schema:
        """The types of an element's columns as it comes from the source."""
        source = self.pipeline.source
        return element_types(source, self.source) if isinstance(source, Files) else self.source

    def __len__(self) -> int:
        return len(self.at_groupings)

    def kernel(self, stage: int) -> Kernel:
        return _kernel(self.pipeline, self.at_groupings, stage)

    @property
    def last(self) -> Kernel:
        """The kernel whose panes are published."""
        return self.kernel(len(self) - 1)

    def published(self) -> Schema:
        """The types of the columns that are published, after the steps that come last."""
        return results_schema(self.pipeline.result_steps, self.last)

    def published_of(self, panes: pl.DataFrame) -> pl.DataFrame:
        """The rows that are published in place of panes of the last grouping."""
        return results_of(self.pipeline.result_steps, self.last, panes)

    def results_as_elements(self, stage: int, panes: pl.DataFrame) -> pl.DataFrame:
        """The panes of a stage as the elements of the next, after that one's ParDos."""
        following = self.pipeline.groupings[stage + 1]
        kernel = self.kernel(stage)
        back = pl.col("pane_is_retraction")
        elements = panes.select(
            *following_columns(kernel),
            pl.col(TIMESTAMP).alias(EVENT),
            pl.col("processing_time").dt.epoch("us").alias(ARRIVAL),
            pl.when(back).then(-1).otherwise(1).cast(pl.Int8).alias(SIGN),
        )
        if windower_for(self.kernel(stage + 1)).sends_elements:
            keys = pl.Series(ORDER[1], key_hash([panes[name] for name in kernel.key_types]))
            index = (panes["pane_index"].cast(pl.Int64) * 2 + panes["pane_is_retraction"]).alias(ORDER[2])
            start = panes["window_start"].dt.epoch("us").fill_null(np.iinfo(np.int64).min).alias(ORDER[0])
            elements = elements.hstack([start, keys, index])
        return apply(following.par_dos, elements)


def _schema_at(grouping: Grouping, schema: Schema, spark: SparkSession | None) -> Schema:
    """The types of the columns as they come to a grouping, after its steps."""
    if spark is None:
        found = schema_after(grouping.par_dos, schema)
    else:
        from airflow_dataflow_provider.spark.par_do.spark_columns import schema_through  # noqa: PLC0415 - with Spark only

        found = schema_through(grouping.par_dos, schema, spark)
    check_has(found, grouping.input_columns(), f"the grouping by {', '.join(grouping.key)}")
    _refuse_keys(grouping, found)
    return found


def _refuse_keys(grouping: Grouping, schema: Schema) -> None:
    """Refuse a key whose values have no hash that is the same for ever.

    Raises:
        SubmissionError: ``SUBMIT_COLUMN_TYPE``.
    """
    for column in grouping.key:
        dtype = schema[column]
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Null, pl.Unknown):
            raise SubmissionError(
                f"the key column {column!r} is of type {dtype}",
                reason="the hash of a key says where its state lives, and such values have none",
                hint="make it text, a number, a boolean, a date or a time, in the source or in a step",
                code="SUBMIT_COLUMN_TYPE",
            )


def following_columns(kernel: Kernel) -> Sequence[str]:
    """The columns of a grouping's results that the next one sees."""
    return kernel.grouping.output_columns


def _kernel(pipeline: Pipeline, at_groupings: tuple[Schema, ...], stage: int) -> Kernel:
    groupings = pipeline.groupings
    before = groupings[stage - 1] if stage else None
    input_retracts = before is not None and retracts(before, is_last=False)
    return kernel_for(
        groupings[stage], at_groupings[stage], input_retracts=input_retracts, is_last=stage == len(groupings) - 1,
        has_steps_after=bool(pipeline.result_steps),
    )  # fmt: skip
