"""The reduce side: one kernel call a state partition, between loading its chain and writing what has changed.

What it publishes goes to the pane log; of a grouping before the last it goes to the partitions of the next one instead.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.progress.panes.pane_commits import DATA
from airflow_dataflow_provider.progress.store.numbered import epoch_name
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
from airflow_dataflow_provider.spark.kernel.advance import advance
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT, ORDER
from airflow_dataflow_provider.spark.kernel.epoch import Arrived, Outcome
from airflow_dataflow_provider.spark.kernel.holding import earliest_output_time, waiting_for
from airflow_dataflow_provider.spark.kernel.late_check import LateCheck
from airflow_dataflow_provider.spark.map_side.map_task import set_expired_aside
from airflow_dataflow_provider.spark.reduce_side.partition_result import PartitionResult
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.reduce_side.state import Chain, Partition
from airflow_dataflow_provider.spark.stages.partitioner import Partitioner
from airflow_dataflow_provider.spark.tasks.shuffled import MESSAGE
from airflow_dataflow_provider.spark.tasks.task_errors import from_bytes, with_error
from airflow_dataflow_provider.spark.tasks.worker import freeze_imports
from airflow_dataflow_provider.spark.values.frames import from_blob, to_blob, write_parquet
from airflow_dataflow_provider.spark.values.intervals import contains

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.map_side.map_report import MapReport
    from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

ANSWER = -1
"""The partition under which a task's answer travels where elements of the next grouping travel beside it."""
_FEW = 5_000
"""Panes of one partition that travel to the driver, which writes them as one file with the others' few."""


@dataclass(frozen=True)
class ReduceSide:
    """Every reduce task of one grouping in an epoch.

    Args:
        context: of the epoch.
        stage: which of the groupings.
        state: the grouping's state before the epoch; None in an interval epoch.
        time: the grouping's time.
        arriving: its time while the results of the grouping before come in; None for the first grouping of an epoch
            that is not an interval's.
        next_horizon: the horizon by which its results are late or expired in the next grouping.
    """

    context: EpochContext
    stage: int
    state: StageState | None
    time: EpochTime
    arriving: EpochTime | None = None
    next_horizon: Micros = MIN_TIME

    @property
    def is_last(self) -> bool:
        """Whether its panes are published."""
        return self.stage == len(self.context.stages) - 1

    def run_task(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[PartitionResult | DataflowError]:
        """One task of the last grouping."""
        freeze_imports()
        yield from with_error(self.reduce(partition, arrived))

    def tick(self, partition: int, _: Iterable[object]) -> Iterator[PartitionResult | DataflowError]:
        """One task of an epoch without elements."""
        yield from self.run_task(partition, ())

    def run_task_and_pass_on(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[tuple[int, Any]]:
        """One task of a grouping before the last."""
        freeze_imports()
        for passed in with_error(self.pass_on(partition, arrived)):
            yield (ANSWER, passed) if isinstance(passed, DataflowError) else passed

    def tick_and_pass_on(self, partition: int, _: Iterable[object]) -> Iterator[tuple[int, Any]]:
        """One task of an epoch without elements."""
        yield from self.run_task_and_pass_on(partition, ())

    def reduce(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[PartitionResult]:
        """Take in what was sent to this partition, which may be nothing; give its result."""
        result, outcome = self._run(partition, arrived)
        yield self._published(result, outcome)

    def pass_on(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[tuple[int, Any]]:
        """Take in what was sent to this partition; give its result, and its panes to the next grouping's partitions."""
        result, outcome = self._run(partition, arrived)
        kernel = self.context.stages.kernel(self.stage + 1)
        check = LateCheck(self.next_horizon, kernel.grouping.allowed_lateness)
        passed = self._passed_on(outcome, Partitioner(kernel, self.context.partitions, check))
        sent = [(to, (f"{partition:06d}", to_blob(frame))) for to, frame in passed]
        result = self._with_expired(replace(result, late=result.late + check.late), check.expired, self.next_horizon)
        yield ANSWER, result
        yield from sent

    def _passed_on(self, outcome: Outcome, partitioner: Partitioner) -> Iterator[tuple[int, pl.DataFrame]]:
        """The panes of a grouping as elements of the next one, by its state partitions."""
        if not len(outcome.panes):
            return
        elements = self.context.stages.results_as_elements(self.stage, outcome.panes)
        with sums_that_fit():
            yield from partitioner.split(elements)

    def _run(self, partition: int, arrived: Iterable[Shuffled]) -> tuple[PartitionResult, Outcome]:
        """Advance one partition, and save its state."""
        reports, frames = _unpacked(arrived)
        kernel = self.context.stages.kernel(self.stage)
        keyed = Partition(Store.open(self.context.state_url), self.stage, partition)
        before = Chain() if self.state is None else self.state.chains[partition]
        opened = kernel.empty_state()
        if self.state is not None and before.files:
            opened = keyed.load(kernel, before, self.state.expired_until)
        with sums_that_fit():
            outcome = advance(kernel, opened, self._sorted(frames), self.time, arriving=self.arriving)
        chain, written = Chain(), 0
        if self.state is not None:
            chain, written = keyed.save(self.context.epoch, before, outcome)
        result = PartitionResult(
            partition, f"{socket.gethostname()}:{os.getpid()}", reports, sum(map(len, frames)), chain, written,
            outcome.late,
        )  # fmt: skip
        if not self.is_last:
            result = replace(
                result,
                awaited=waiting_for(kernel, outcome.state, self.time.clock),
                earliest=earliest_output_time(kernel, outcome.state, self.time.clock),
            )
        return self._with_expired(result, outcome.expired, self.time.horizon), outcome

    def _with_expired(self, result: PartitionResult, rows: pl.DataFrame | None, horizon: Micros) -> PartitionResult:
        """The result once elements that no window took are written to the late output."""
        if rows is None:
            return result
        file = set_expired_aside(self.context, rows, horizon)
        return replace(result, expired=result.expired + len(rows), expired_files=(*result.expired_files, file))

    def _sorted(self, arrived: list[pl.DataFrame]) -> Arrived | None:
        """Partial accumulators on one side, elements in the order of arrival on the other."""
        if not arrived:
            return None
        elements = [frame for frame in arrived if EVENT in frame.columns]
        partials = [frame for frame in arrived if EVENT not in frame.columns]
        found = None
        if elements:
            order = [EVENT, *ORDER] if self.stage and ORDER[0] in elements[0].columns else [ARRIVAL]
            found = pl.concat(elements).sort(order, maintain_order=True)
        return Arrived(partials, found, self.context.combining)

    def _published(self, result: PartitionResult, outcome: Outcome) -> PartitionResult:
        """The result with the panes: in a file, or as they are where they are few."""
        context, panes = self.context, outcome.panes
        if context.interval is not None:
            panes = panes.filter(contains(context.interval, pl.col("window_end").dt.epoch("us")))
        panes = context.stages.published_of(panes)
        if not len(panes):
            return result
        if len(panes) <= _FEW:
            return replace(result, panes=len(panes), few_panes=to_blob(panes))
        name = f"{epoch_name(context.epoch)}-{result.partition:04d}-{uuid.uuid4().hex[:8]}.parquet"
        return replace(
            result, panes=len(panes), pane_file=write_parquet(Store.open(context.panes_url), DATA, name, panes)
        )


def _unpacked(arrived: Iterable[Shuffled]) -> tuple[tuple[MapReport, ...], list[pl.DataFrame]]:
    """The reports and the frames among blobs; raises the error, if one is among them."""
    # Blobs arrive in any order; floating-point sums must not depend on it.
    blobs = sorted((blob for _, blob in arrived), key=itemgetter(0))
    reports: list[MapReport] = [from_bytes(blob) for origin, blob in blobs if origin == MESSAGE]
    reports.sort(key=attrgetter("files"))
    return tuple(reports), [from_blob(blob) for origin, blob in blobs if origin != MESSAGE]
