"""The pane log's writing side: staged by tasks, committed by epoch."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import polars as pl

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.pipeline import RESERVED_COLUMNS
from airflow_dataflow_provider.progress.pane_commits import DATA, HEADER, POINTER, PaneCommit
from airflow_dataflow_provider.progress.store import Store
from airflow_dataflow_provider.spark.aggregates import combiners_to_json
from airflow_dataflow_provider.spark.frames import schema_bytes, write_parquet

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.model.sinks import PaneLog
    from airflow_dataflow_provider.spark.stages import Stages


def pane_log_url(state: Store, sink: PaneLog) -> str:
    """Where a pane log lies: a relative path is under the state URL."""
    absolute = sink.path.startswith("/") or urlsplit(sink.path).scheme
    return Store.open(sink.path).url if absolute else state.child(sink.path)


class PaneWriter:
    """One state's hand on its pane log.

    Raises:
        StateError: ``STATE_PANES_OWNED`` where another state writes to that log: its epochs would be taken for ours.
    """

    def __init__(self, state: Store, state_id: str, pipeline: Pipeline) -> None:
        self.url = pane_log_url(state, pipeline.pane_log)
        self._store = Store.open(self.url)
        self._state, self._state_id, self._pipeline = state, state_id, pipeline

    def open(self, stages: Stages) -> None:
        """Make the log, or make sure that it is this state's."""
        grouping = self._pipeline.grouping
        columns = stages.published()
        key, steps = [*grouping.key], self._pipeline.result_steps
        own = {*key, *RESERVED_COLUMNS}
        header = {
            "format": 1,
            "pipeline": self._pipeline.name,
            "state_id": self._state_id,
            "state": self._state.url,
            "key": key,
            "aggregates": [name for name in columns if name not in own and not name.startswith("_")],
            # What a step has made of a pane cannot be added up.
            "combiners": {} if steps else combiners_to_json(grouping),
            "refinement": grouping.refinement.value,
            "schema": schema_bytes(columns).hex(),
            "input_schema": schema_bytes(stages.last.schema).hex(),
        }
        standing = self._store.put_if_absent(HEADER, header)
        if standing["state_id"] != self._state_id:
            raise StateError(
                f"the pane log {self.url} belongs to pipeline {standing['pipeline']!r} with state {standing['state']}",
                why="epochs of two states in one log could not be told apart, and rows would double",
                todo="give this pipeline a PaneLog path of its own",
                code="STATE_PANES_OWNED",
            )
        if self.url != self._state.url:
            self._state.put_if_absent(POINTER, {"url": self.url})

    def stage(self, epoch: int, few: list[pl.DataFrame], files: Mapping[int, str]) -> list[str]:
        """Write the panes that came to the driver; the answer is all files of the epoch."""
        staged = [files[partition] for partition in sorted(files)]
        if few:
            name = f"{epoch:012d}-driver-{uuid.uuid4().hex[:8]}.parquet"
            write_parquet(self._store, f"{DATA}/{name}", pl.concat(few))
            staged.append(name)
        return staged

    def sync(self) -> None:
        """Make what is staged survive a power cut; before it is prepared."""
        self._store.sync(DATA)

    def commit(self, commit: PaneCommit) -> None:
        """Make an epoch's panes visible. Done again it changes nothing: the first commit stands."""
        if commit.files or commit.replaces is not None:
            self._store.put_if_absent(PaneCommit.path(commit.epoch), commit.to_json())
