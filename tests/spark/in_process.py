"""The engine without Spark: the same map and reduce sides, called one after the other in this process."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT
from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS, RowCounts
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT
from airflow_dataflow_provider.spark.map_side.map_task import MapTask
from airflow_dataflow_provider.spark.reduce_side.driver_side import DriverSide
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.running.continuation import Continuation
from airflow_dataflow_provider.spark.running.job import EpochJob
from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.values.frames import from_blob, to_blob
from airflow_dataflow_provider.spark.values.type_table import Schema
from airflow_dataflow_provider.spark.watermark.delays import Observation
from airflow_dataflow_provider.testing.frames import panes_of

SCHEMA: Schema = {"key": pl.String(), "site": pl.Int64(), "whole": pl.Int64(), "part": pl.Float64()}
"""Of what :mod:`airflow_dataflow_provider.testing.strategies` generates."""


class InProcess:
    """One pipeline's engine, epoch by epoch.

    Args:
        pipeline: what to run.
        schema: the columns that it reads, without the times.
        partitions: state partitions.
        combining: combine before the shuffle.
        tasks: map tasks an epoch. Each has one file: a run of elements that arrived one after the other.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        schema: Schema = SCHEMA,
        *,
        partitions: int = 2,
        tasks: int = 2,
        combining: bool = True,
    ) -> None:
        self.pipeline, self.schema, self.tasks, self.combining = pipeline, schema, tasks, combining
        self.stages = Stages.of(pipeline, schema)
        self.url = f"memory://{uuid.uuid4().hex}"
        self.partitions = partitions
        self.states = [StageState.empty(partitions) for _ in pipeline.groupings]
        self.rows = NO_ROWS
        self.observed = Observation()
        self.number = 0

    def epoch(self, epoch: Epoch) -> list[Pane]:
        """Run one epoch; its panes by partition."""
        return self._panes(self.blobs(epoch))

    def interval(self, elements: Sequence[Element], processing_time: Micros, interval: Interval) -> list[Pane]:
        """Compute the windows of an interval from these elements; the state stays as it is."""
        clock = Clock(processing_time, END_OF_INPUT, timers_until=MAX_TIME)
        return self._panes(self._run(clock, MIN_TIME, elements, interval=interval))

    def blobs(self, epoch: Epoch) -> list[bytes]:
        """Run one epoch; its panes as the partitions answer them."""
        return self._run(epoch.clock, epoch.horizon, epoch.elements)

    def _panes(self, blobs: list[bytes]) -> list[Pane]:
        return [pane for blob in blobs for pane in panes_of(from_blob(blob), self.pipeline.grouping)]

    def _run(
        self,
        clock: Clock,
        horizon: Micros,
        elements: Sequence[Element],
        interval: Interval | None = None,
    ) -> list[bytes]:
        context = EpochContext(
            self.stages, self.partitions, self.url, f"{self.url}/panes", self.number, EpochTime(clock, horizon),
            self.combining, interval,
        )  # fmt: skip
        job = EpochJob(context)
        sent: list[tuple[int, tuple[str, bytes]]] = []
        task = MapTask(context)
        for number, file in enumerate(self._files(elements)):
            for partition, frame in task.combine(self._frame(file)):
                sent.append((partition, (f"{number:06d}", to_blob(frame))))

        of_stages, self.states = job.advance(self.states, DriverSide(self.partitions, sent).run_stage)
        self.number += 1
        results = [result for stage in of_stages for result in stage]
        late, expired = sum(result.late for result in results), sum(result.expired for result in results)
        self.observed = self.observed.merged(task.report.observation, self.pipeline.source.watermark)
        self.rows += task.report.rows + RowCounts(late=late, expired=expired)
        return [result.few_panes for result in of_stages[-1] if result.few_panes is not None]

    def is_due(self, epoch: Epoch) -> bool:
        """Whether a driver would run an epoch without elements, as far as it knows from the epoch log."""
        known = Continuation(self.pipeline, self.partitions)
        known.states = [StageState.from_json(json.loads(json.dumps(state.to_json()))) for state in self.states]
        return known.is_due(EpochTime(epoch.clock, epoch.horizon))

    def run(self, epochs: Sequence[Epoch]) -> list[list[Pane]]:
        """The panes of each epoch."""
        return [self.epoch(epoch) for epoch in epochs]

    def _files(self, elements: Sequence[Element]) -> list[Sequence[Element]]:
        """The elements as files, in the order of their names: that decides where elements arrived at one moment."""
        borders = [len(elements) * task // self.tasks for task in range(self.tasks + 1)]
        return [elements[start:end] for start, end in pairwise(borders) if start < end]

    def _frame(self, elements: Sequence[Element]) -> pl.DataFrame:
        columns = {name: [element.row.get(name) for element in elements] for name in self.schema}
        times = {
            EVENT: [element.event_time for element in elements],
            ARRIVAL: [element.arrival_time for element in elements],
        }
        return pl.DataFrame(columns | times, schema={**self.schema, EVENT: pl.Int64, ARRIVAL: pl.Int64})
