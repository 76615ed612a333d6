"""The engine without Spark: the same map and reduce sides, called one after the other in this process."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.frames import from_blob, to_blob
from airflow_dataflow_provider.spark.map_side import MapSide, Report
from airflow_dataflow_provider.spark.reading import ARRIVAL, EVENT, Schema
from airflow_dataflow_provider.spark.reduce_side import ReduceSide
from airflow_dataflow_provider.spark.state import Chain
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
        self.url = f"memory://{uuid.uuid4().hex}"
        self.chains = dict.fromkeys(range(partitions), Chain())
        self.expired_until: Micros = MIN_TIME
        self.report = Report()
        self.number = 0

    def epoch(self, epoch: Epoch) -> list[Pane]:
        """Run one epoch; its panes by partition."""
        horizon = epoch.horizon
        map_side = MapSide(
            self.pipeline,
            self.schema,
            len(self.chains),
            self.url,
            self.number,
            epoch.clock.processing_time,
            horizon,
            self.combining,
        )
        reduce_side = ReduceSide(
            self.pipeline, self.schema, self.url, f"{self.url}/panes", self.number, self.chains, self.expired_until,
            epoch.clock, horizon, self.combining,
        )  # fmt: skip
        blobs: dict[int, list[bytes]] = {partition: [] for partition in self.chains}
        for file in self._files(epoch.elements):
            for partition, partials in map_side.combine(self._frame(file), self.report):
                blobs[partition].append(to_blob(partials))
        panes: list[Pane] = []
        chains = {}
        for partition, arrived in blobs.items():
            answer, few = reduce_side.run(partition, [from_blob(blob) for blob in arrived])
            chains[partition] = Chain.from_json(answer["chain"])
            if few is not None:
                panes += panes_of(from_blob(few), self.pipeline.grouping)
        self.chains, self.expired_until, self.number = chains, horizon, self.number + 1
        return panes

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
