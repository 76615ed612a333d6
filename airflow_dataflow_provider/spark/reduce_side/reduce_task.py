"""The reduce side: one kernel call a state partition, between loading its chain and writing what has changed.

What it publishes goes to the pane log; of a grouping before the last it goes to the partitions of the next one instead.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.time import MIN_TIME, iso
from airflow_dataflow_provider.progress.panes.pane_commits import DATA
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
from airflow_dataflow_provider.spark.kernel.advance import advance
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT, ORDER
from airflow_dataflow_provider.spark.kernel.epoch import Arrived, Outcome
from airflow_dataflow_provider.spark.kernel.holding import earliest_output_time, waiting_for
from airflow_dataflow_provider.spark.kernel.late_check import LateCheck
from airflow_dataflow_provider.spark.map_side.map_task import REPORT, set_expired_aside
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.reduce_side.state import Chain, Partition
from airflow_dataflow_provider.spark.stages.partitioner import Partitioner
from airflow_dataflow_provider.spark.tasks.task_errors import as_result, raise_arrived
from airflow_dataflow_provider.spark.tasks.worker import freeze_imports
from airflow_dataflow_provider.spark.values.frames import from_blob, to_blob, write_parquet
from airflow_dataflow_provider.spark.values.intervals import contains

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

Reduced = tuple[list[dict[str, Any]], dict[str, Any], bytes | None]
"""What a task answers: the map reports that came through it, its partition's result, its panes if they are few."""
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

    def run_task(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[Reduced | DataflowError]:
        """One task of the last grouping."""
        freeze_imports()
        yield from as_result(self.reduce(partition, arrived))

    def tick(self, partition: int, _: Iterable[object]) -> Iterator[Reduced | DataflowError]:
        """One task of an epoch without elements."""
        yield from self.run_task(partition, ())

    def run_task_and_pass_on(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[tuple[int, Any]]:
        """One task of a grouping before the last."""
        freeze_imports()
        for passed in as_result(self.pass_on(partition, arrived)):
            yield (ANSWER, passed) if isinstance(passed, DataflowError) else passed

    def tick_and_pass_on(self, partition: int, _: Iterable[object]) -> Iterator[tuple[int, Any]]:
        """One task of an epoch without elements."""
        yield from self.run_task_and_pass_on(partition, ())

    def reduce(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[Reduced]:
        """What was sent to this partition in, one answer out; also of nothing."""
        reports, frames = _unpacked(arrived)
        answer, outcome = self.run(partition, frames)
        yield reports, *self._published(partition, answer, outcome)

    def pass_on(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[tuple[int, Any]]:
        """The answer of a grouping before the last, and what its results are to the next one's partitions."""
        reports, frames = _unpacked(arrived)
        answer, outcome = self.run(partition, frames)
        kernel = self.context.stages.kernel(self.stage + 1)
        check = LateCheck(self.next_horizon, kernel.grouping.allowed_lateness)
        passed = self._passed_on(outcome, Partitioner(kernel, self.context.partitions, check))
        sent = [(to, (f"{partition:06d}", to_blob(frame))) for to, frame in passed]
        answer["late"] += check.late
        self._set_aside(check.expired, self.next_horizon, answer)
        yield ANSWER, (reports, answer, None)
        yield from sent

    def _passed_on(self, outcome: Outcome, partitioner: Partitioner) -> Iterator[tuple[int, pl.DataFrame]]:
        """The panes of a grouping as elements of the next one, by its state partitions."""
        if not len(outcome.panes):
            return
        elements = self.context.stages.results_as_elements(self.stage, outcome.panes)
        with sums_that_fit():
            yield from partitioner.split(elements)

    def run(self, partition: int, arrived: list[pl.DataFrame]) -> tuple[dict[str, Any], Outcome]:
        """Advance one partition: its answer as JSON, and what came of it."""
        kernel = self.context.stages.kernel(self.stage)
        keyed = Partition(Store.open(self.context.state_url), self.stage, partition)
        before = Chain() if self.state is None else self.state.chains[partition]
        frame = kernel.empty_state()
        if self.state is not None and before.files:
            frame = keyed.load(kernel, before, self.state.expired_until)
        with sums_that_fit():
            came = self._sorted(arrived)
            outcome = advance(kernel, frame, came, self.time, arriving=self.arriving)
        chain, written = Chain(), 0
        if self.state is not None:
            chain, written = keyed.save(self.context.epoch, before, outcome)
        answer = {
            "partition": partition, "chain": chain.to_json(), "written": written, "pane_file": None, "panes": 0,
            "folded": sum(map(len, arrived)), "late": outcome.late, "expired": 0, "expired_files": [],
            "worker": f"{socket.gethostname()}:{os.getpid()}",
        }  # fmt: skip
        self._set_aside(outcome.expired, self.time.horizon, answer)
        if not self.is_last:
            answer["waiting"] = {
                f"{percentile!r}": iso(time)
                for percentile, time in waiting_for(kernel, outcome.state, self.time.clock).items()
            }
            answer["earliest"] = iso(earliest_output_time(kernel, outcome.state, self.time.clock))
        return answer, outcome

    def _set_aside(self, expired: pl.DataFrame | None, horizon: Micros, answer: dict[str, Any]) -> None:
        """Write elements that no window took to the late output, and say so in the answer."""
        if expired is not None:
            answer["expired"] += len(expired)
            answer["expired_files"].append(set_expired_aside(self.context, expired, horizon))

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

    def _published(
        self, partition: int, answer: dict[str, Any], outcome: Outcome
    ) -> tuple[dict[str, Any], bytes | None]:  # fmt: skip
        """The answer with the panes: in a file, or beside it where they are few."""
        panes = outcome.panes
        if self.context.interval is not None:
            panes = panes.filter(contains(self.context.interval, pl.col("window_end").dt.epoch("us")))
        panes = self.context.stages.published_of(panes)
        few, file = None, None
        if 0 < len(panes) <= _FEW:
            few = to_blob(panes)
        elif len(panes):
            name = f"{self.context.epoch:012d}-{partition:04d}-{uuid.uuid4().hex[:8]}.parquet"
            file = write_parquet(Store.open(self.context.panes_url), DATA, name, panes).to_json()
        return {**answer, "pane_file": file, "panes": len(panes)}, few


def _unpacked(arrived: Iterable[Shuffled]) -> tuple[list[dict[str, Any]], list[pl.DataFrame]]:
    # Blobs arrive in any order; floating-point sums must not depend on it.
    blobs = sorted((blob for _, blob in arrived), key=itemgetter(0))
    raise_arrived(blobs)
    reports = [json.loads(blob) for origin, blob in blobs if origin == REPORT]
    reports.sort(key=itemgetter("files"))
    return reports, [from_blob(blob) for origin, blob in blobs if origin != REPORT]
