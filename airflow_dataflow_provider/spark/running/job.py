"""One epoch's work: the groupings of a pipeline one after the other, each under a clock that the one before holds back.

On Spark a grouping is a shuffle and a round of tasks. They are RDDs of Python tuples, not data frames: a row here is a
file or a packed blob, and planning a query over so few rows took longer than running it
(``docs/decisions/0003-rdd-epochs.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.clock import EpochTime
from airflow_dataflow_provider.model.grouping import earliest_output
from airflow_dataflow_provider.model.hold import Hold
from airflow_dataflow_provider.model.par_do import SparkColumns
from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.spark.map_side.map_task import MapSide
from airflow_dataflow_provider.spark.reduce_side import driver_side
from airflow_dataflow_provider.spark.reduce_side.driver_side import DriverSide
from airflow_dataflow_provider.spark.reduce_side.partition_result import PartitionResult
from airflow_dataflow_provider.spark.reduce_side.reduce_task import ANSWER, ReduceSide
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.sources.splits import expected_bytes, in_tasks
from airflow_dataflow_provider.spark.tasks.task_errors import succeeded

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.spark.sources.splits import Input, Reading
    from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

_CORES = 2
"""Map tasks of an epoch that runs in one process."""


@dataclass(frozen=True, slots=True)
class EpochJob:
    """One epoch of a pipeline, as every engine runs it.

    Args:
        context: of the epoch.
        in_driver: reduce in the driver, if the map side has little to send.
    """

    context: EpochContext
    in_driver: bool = False

    @property
    def map_side(self) -> MapSide:
        """The map side of the epoch."""
        return MapSide(self.context)

    def advance(
        self, states: list[StageState], run_stage: Callable[[ReduceSide], list[PartitionResult]]
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:
        """Take every grouping through the epoch.

        Args:
            states: of the groupings before the epoch; an interval epoch does not change them.
            run_stage: runs one grouping on what the one before it, or the map side, has sent to its partitions.

        Returns:
            For each grouping, the answers of its tasks, and its state after the epoch.
        """
        stateless = self.context.interval is not None
        time, arriving = self.context.time, self._nothing_known if stateless else None
        hold = states[0].hold
        answered: list[list[PartitionResult]] = []
        after: list[StageState] = []
        for number, state in enumerate(states):
            next_hold = Hold() if stateless or number + 1 == len(states) else states[number + 1].hold
            results_arrive = self._nothing_known if stateless else next_hold.arriving(time.clock)
            side = ReduceSide(
                self.context, number, None if stateless else state, time, arriving, results_arrive.horizon
            )
            results = run_stage(side)
            chains = {result.partition: result.chain for result in results}
            answered.append(results)
            after.append(StageState({**state.chains, **chains}, time.horizon, hold))
            if side.is_last:
                break
            awaited, earliest = _awaited(results)
            border = earliest_output(self.context.stages.pipeline.groupings[number], time.horizon)
            hold, time = next_hold.after(time, waiting=awaited, earliest=min(border, earliest))
            arriving = results_arrive
        return answered, states if stateless else after

    @property
    def _nothing_known(self) -> EpochTime:
        """The time of an interval epoch until all of its input is in: no watermark is known, as in a batch.

        A pane that an element fires has only a part of its window, and must not claim that it is complete.
        """
        clock = replace(self.context.time.clock, watermarks=NOTHING_KNOWN, timers_until=MIN_TIME)
        return EpochTime(clock, MIN_TIME)

    def on_spark(
        self, spark: SparkSession, files: Input | None, states: list[StageState]
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:  # fmt: skip
        """Run it on the elements of some files, or on none."""
        if files is not None and self._reads_in_driver(files):
            return self.in_process(files.splits, states)
        driver = self._driver_side(spark, files) if self.in_driver else None
        if driver is not None:
            return self.advance(states, driver.run_stage)
        with nullcontext() if files is None else files.mapped(spark, self._mapped) as mapped:
            arriving: RDD[Any] | None = None if mapped is None else mapped.partitionBy(self.context.partitions, int)
            kept: list[RDD[Any]] = []

            def run_stage(side: ReduceSide) -> list[PartitionResult]:
                nonlocal arriving
                source, tick = arriving, arriving is None
                if source is None:
                    source = spark.sparkContext.parallelize(range(self.context.partitions), self.context.partitions)
                if side.is_last:
                    return succeeded(source.mapPartitionsWithIndex(side.tick if tick else side.run_task).collect())
                # It is read twice: its answers say under which clock the next grouping takes its results.
                task = side.tick_and_pass_on if tick else side.run_task_and_pass_on
                passed = source.mapPartitionsWithIndex(task).persist()
                kept.append(passed)
                arriving = passed.filter(_is_element).partitionBy(self.context.partitions, int)
                return succeeded(passed.filter(_is_answer).values().collect())

            try:
                return self.advance(states, run_stage)
            finally:
                for rdd in kept:
                    rdd.unpersist()

    def in_process(
        self, splits: Sequence[Split], states: list[StageState]
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:
        """Run it in this process, one task after the other, on the elements of some splits."""
        sent = [blob for task in in_tasks(splits, _CORES) for blob in self.map_side.run_task([task])]
        return self.advance(states, DriverSide(self.context.partitions, sent).run_stage)

    def _reads_in_driver(self, files: Input) -> bool:
        """Whether the input is so small that starting a task for it would cost more than its work."""
        has_steps = bool(self.context.stages.pipeline.groupings[0].par_dos)
        return self.in_driver and not has_steps and sum(map(expected_bytes, files.splits)) <= driver_side.MOST_INPUT

    def _driver_side(self, spark: SparkSession, files: Input | None) -> DriverSide | None:
        """The reduce side in this process, if what the map side sends is little enough for it."""
        if files is None:
            return DriverSide(self.context.partitions)
        run_task, most = self.map_side.run_task, driver_side.MOST_BYTES

        def mapped(reading: Reading) -> RDD[Shuffled]:
            return reading.rdd.mapPartitions(lambda tasks: driver_side.if_little(run_task(tasks), most))

        with files.mapped(spark, mapped) as found:
            return driver_side.collected(found, self.context.partitions)

    def _mapped(self, reading: Reading) -> RDD[Any]:
        map_side, steps = self.map_side, self.context.stages.pipeline.groupings[0].par_dos
        if not any(isinstance(step, SparkColumns) for step in steps):
            return reading.rdd.mapPartitions(map_side.run_task)
        from airflow_dataflow_provider.spark.par_do.spark_columns import through_spark  # noqa: PLC0415 - rarely needed

        return through_spark(
            reading.frame, map_side.read_task, steps, self.context.stages.elements, map_side.hidden, map_side.send_task
        )


def _awaited(results: Sequence[PartitionResult]) -> tuple[dict[float, Micros], Micros]:
    """The earliest output times that a grouping can still have: by percentile, and of all open windows."""
    awaited: dict[float, Micros] = {}
    for percentile, time in (pair for result in results for pair in result.awaited.items()):
        awaited[percentile] = min(time, awaited.get(percentile, time))
    return awaited, min(result.earliest for result in results)


def _is_answer(passed: tuple[int, Any]) -> bool:
    return passed[0] == ANSWER


def _is_element(passed: tuple[int, Any]) -> bool:
    return passed[0] != ANSWER
