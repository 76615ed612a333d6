"""Where the tasks of an epoch run: on Spark, or one after the other in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.par_do import SparkColumns
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.tasks.spark_errors import with_codes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.spark.reduce_side.partition_result import PartitionResult
    from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
    from airflow_dataflow_provider.spark.running.job import EpochJob
    from airflow_dataflow_provider.spark.sources.splits import Input
    from airflow_dataflow_provider.spark.values.type_table import Schema


class Workers(Protocol):
    """Runs the jobs of epochs."""

    def stages(self, pipeline: Pipeline, schema: Schema) -> Stages:
        """The groupings of a pipeline with the types of their columns.

        Raises:
            SubmissionError: for steps, combiners or columns that do not fit.
        """

    def run(
        self, job: EpochJob, files: Input | None, states: list[StageState], name: str
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:
        """Run an epoch's job.

        Args:
            job: what to do.
            files: what to read; None: nothing.
            states: what each grouping goes on with.
            name: what the job is called where people see it.

        Returns:
            For each grouping, what its tasks answered, and what it goes on with.
        """


class SparkWorkers:
    """Spark's executors.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def stages(self, pipeline: Pipeline, schema: Schema) -> Stages:
        """Spark says what types its expressions make."""
        with with_codes():
            return Stages.of(pipeline, schema, self.spark)

    def run(
        self, job: EpochJob, files: Input | None, states: list[StageState], name: str
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:
        """Run the job on Spark, whose pages show its name."""
        with with_codes():
            self.spark.sparkContext.setJobDescription(name)
            return job.on_spark(self.spark, files, states)


class ThisProcess:
    """No workers at all: for tests, and for what is too small to be worth a Spark."""

    def stages(self, pipeline: Pipeline, schema: Schema) -> Stages:
        """As on Spark, but for Spark's own expressions, which nothing here evaluates."""
        for grouping in pipeline.groupings:
            for step in grouping.par_dos:
                if isinstance(step, SparkColumns):
                    raise SubmissionError(
                        f"{step!r} is Spark's to evaluate, and there is no Spark here",
                        hint="write the step as Vectorised or PerElement, or run the pipeline on Spark",
                        code="ENGINE_PAR_DO",
                    )
        return Stages.of(pipeline, schema)

    def run(
        self,
        job: EpochJob,
        files: Input | None,
        states: list[StageState],
        name: str,  # noqa: ARG002 - nobody sees it
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:
        """Run the job here."""
        return job.in_process(() if files is None else files.at_least(), states)
