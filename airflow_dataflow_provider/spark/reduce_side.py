"""The reduce side: one kernel call a state partition, between loading its chain and writing what has changed."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.progress.store import Store
from airflow_dataflow_provider.spark import state
from airflow_dataflow_provider.spark.frames import from_blob, to_blob, write_parquet
from airflow_dataflow_provider.spark.kernel.kernel import kernel_for
from airflow_dataflow_provider.spark.map_side import REPORT, Shuffled
from airflow_dataflow_provider.spark.state import Chain
from airflow_dataflow_provider.spark.worker import settle

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.reading import Schema

Reduced = tuple[list[dict[str, Any]], dict[str, Any], bytes | None]
"""What a task answers: the map reports that came through it, its partition's result, its panes if they are few."""
_FEW = 5_000
"""Panes of one partition that travel to the driver, which writes them as one file with the others' few."""


@dataclass(frozen=True)
class ReduceSide:
    """What every reduce task of an epoch needs; Spark sends it to the workers.

    Args:
        pipeline: how to group, combine and fire.
        schema: the types of the columns that are read.
        state_url: where the state is.
        panes_url: where the pane log is.
        epoch: the epoch's number.
        chains: the state of each partition before the epoch; None for an epoch that neither has nor leaves state.
        expired_until: the horizon that those chains were committed with.
        clock: what fires panes.
        horizon: the ordinary watermark by which windows expire.
        combined: whether what the map side sends has at most one row a key and window in each blob.
    """

    pipeline: Pipeline
    schema: Schema
    state_url: str
    panes_url: str
    epoch: int
    chains: Mapping[int, Chain] | None
    expired_until: Micros
    clock: Clock
    horizon: Micros
    combined: bool = True

    def run_task(self, partition: int, arrived: Iterable[Shuffled]) -> Iterator[Reduced]:
        """One task: what the map side sent to this partition in, one answer out; also where nothing was sent."""
        settle()
        # Blobs arrive in any order; floating-point sums must not depend on it.
        blobs = sorted((blob for _, blob in arrived), key=itemgetter(0))
        reports = [json.loads(blob) for origin, blob in blobs if origin == REPORT]
        reports.sort(key=itemgetter("files"))
        yield reports, *self.run(partition, [from_blob(blob) for origin, blob in blobs if origin != REPORT])

    def tick(self, partition: int, _: Iterable[object]) -> Iterator[Reduced]:
        """One task of an epoch without elements."""
        settle()
        yield [], *self.run(partition, [])

    def run(self, partition: int, partials: list[pl.DataFrame]) -> tuple[dict[str, Any], bytes | None]:
        """Advance one partition: its answer as JSON, and its panes if they are few."""
        kernel = kernel_for(self.pipeline.grouping, self.schema)
        store = Store.open(self.state_url)
        before = Chain() if self.chains is None else self.chains[partition]
        frame = (
            state.load(store, kernel, partition, before, self.expired_until) if before.files else kernel.empty_state()
        )
        folded = kernel.fold(partials, combined=self.combined) if partials else None
        outcome = kernel.advance(frame, folded, self.clock, self.horizon)
        chain, written = (
            (Chain(), 0) if self.chains is None else state.save(store, self.epoch, partition, before, outcome)
        )
        file, few = None, None
        if 0 < len(outcome.panes) <= _FEW:
            few = to_blob(outcome.panes)
        elif len(outcome.panes):
            file = f"{self.epoch:012d}-{partition:04d}-{uuid.uuid4().hex[:8]}.parquet"
            write_parquet(Store.open(self.panes_url), f"data/{file}", outcome.panes)
        answer = {
            "partition": partition, "chain": chain.to_json(), "written": written, "pane_file": file,
            "panes": len(outcome.panes), "folded": 0 if folded is None else len(folded),
            "worker": f"{socket.gethostname()}:{os.getpid()}",
        }  # fmt: skip
        return answer, few
