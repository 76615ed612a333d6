"""The pane log's writing side: staged by tasks, committed by epoch, compacted now and then."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import polars as pl

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.pipeline import RESERVED_COLUMNS
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain
from airflow_dataflow_provider.progress.panes.pane_commits import (
    DATA,
    FORMAT,
    HEADER,
    POINTER,
    PaneCommit,
    check_format,
)
from airflow_dataflow_provider.progress.store.documents import load_document
from airflow_dataflow_provider.progress.store.numbered import epoch_name
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile, damaged
from airflow_dataflow_provider.spark.aggregates import combiners_to_json
from airflow_dataflow_provider.spark.sinks.pane_compaction import COMMITS, Compaction
from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles
from airflow_dataflow_provider.spark.values.frames import schema_bytes, write_parquet

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.model.sinks import PaneLog
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.progress.log.records import EpochPlan, Prepared
    from airflow_dataflow_provider.spark.stages.stages import Stages


def is_under_state(sink: PaneLog) -> bool:
    """Whether a pane log's path is relative to the state URL."""
    return not (sink.path.startswith("/") or urlsplit(sink.path).scheme)


def pane_log_url(state: Store, sink: PaneLog) -> str:
    """Where a pane log lies: a relative path is under the state URL."""
    return state.child(sink.path) if is_under_state(sink) else Store.open(sink.path).url


class PaneWriter:
    """Writes a state's pane log.

    Raises:
        StateError: ``STATE_PANES_OWNED`` where another state writes to that log: its epochs would be taken for ours.
    """

    def __init__(self, state: Store, state_id: str, pipeline: Pipeline) -> None:
        self.url = pane_log_url(state, pipeline.pane_log)
        self._store = Store.open(self.url)
        self._chain = PaneChain(self._store)
        self._state, self._state_id, self._pipeline = state, state_id, pipeline
        self._header: Json = {}
        self.until: int | None = None
        """The epoch of the newest commit, None before the first: what an epoch's record is to name."""
        self._uncompacted = 0

    def check(self) -> None:
        """Make sure that the log, if there is one, is this state's; changes nothing.

        Raises:
            StateError: ``STATE_PANES_OWNED``, ``STATE_FORMAT``.
        """
        header = load_document(self._store, HEADER, dict)
        if header is not None:
            self._refuse_another_states(check_format(self._store, header))

    def open(self, stages: Stages) -> None:
        """Make the log, or make sure that it is this state's, and whole.

        Raises:
            StateError: ``STATE_PANES_OWNED``, ``STATE_DAMAGED``, ``STATE_FORMAT``.
        """
        last = EpochLog(self._state).last_record()
        until = None if last is None else last.panes_until
        if until is not None and not self._store.exists(HEADER):
            raise damaged(f"the pane log {self.url} is gone, and epochs up to {until} have published there")
        self._header = check_format(self._store, self._store.put_if_absent(HEADER, self._new_header(stages)))
        self._refuse_another_states(self._header)
        if self.url != self._state.url:
            sink = self._pipeline.pane_log
            self._state.put_if_absent(POINTER, {"url": sink.path if is_under_state(sink) else self.url})
        published = self._chain.read(until)
        if published.newest is not None:
            self._refuse_unknown(published.newest, following=0 if last is None else last.epoch + 1)
        self.until, self._uncompacted = published.newest, len(published.commits)

    def _refuse_another_states(self, header: Json) -> None:
        if header["state_id"] != self._state_id:
            raise StateError(
                f"the pane log {self.url} belongs to pipeline {header['pipeline']!r} with state {header['state']}",
                reason="epochs of two states in one log could not be told apart, and rows would double",
                hint="give this pipeline a PaneLog path of its own",
                code="STATE_PANES_OWNED",
            )

    def _refuse_unknown(self, newest: int, following: int) -> None:
        """Refuse a log that has published what the epoch log does not know: it would be published twice.

        The epoch after the last commit may have published, and not have been committed yet. It has a result then.
        """
        if newest > following:
            what = "commit"
        elif newest == following and EpochLog(self._state).prepared(following) is None:
            what = "result"
        else:
            return
        raise self._chain.other_history(
            newest, f", and the epoch log {self._state.url} has no {what} of epoch {following}"
        )

    def _new_header(self, stages: Stages) -> Json:
        grouping = self._pipeline.grouping
        columns = stages.published()
        key, steps = [*grouping.key], self._pipeline.result_steps
        own = {*key, *RESERVED_COLUMNS}
        return {
            "format": FORMAT,
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

    def stage(self, epoch: int, few: list[pl.DataFrame], files: Mapping[int, WrittenFile]) -> tuple[WrittenFile, ...]:
        """Write the panes that came to the driver; the answer is all files of the epoch."""
        staged = [files[partition] for partition in sorted(files)]
        if few:
            name = f"{epoch_name(epoch)}-driver-{uuid.uuid4().hex[:8]}.parquet"
            staged.append(write_parquet(self._store, DATA, name, pl.concat(few)))
        return tuple(staged)

    def sync(self) -> None:
        """Make what is staged survive a power cut; before it is prepared."""
        self._store.sync(DATA)

    def commit(self, plan: EpochPlan, prepared: Prepared, now: Micros) -> int | None:
        """Make an epoch's panes visible. Done again it changes nothing: the first commit stands.

        Returns:
            The epoch of the newest commit, which the epoch's record is to name.
        """
        commit = PaneCommit.of(plan, prepared, self.until, now)
        if commit is not None:
            self._chain.put(commit)
        elif self.until == plan.epoch:
            raise self._chain.other_history(plan.epoch)
        if commit is not None and self.until != plan.epoch:
            self.until, self._uncompacted = plan.epoch, self._uncompacted + 1
        return self.until

    def compact(self, *, before: int, now: Micros) -> None:
        """Make few files of many, where it is worth it; only between epochs.

        Args:
            before: the next epoch.
            now: processing time.
        """
        if self._uncompacted < COMMITS:
            return
        files = PaneFiles(self._store, self._header)
        compaction = Compaction(self._store, self._chain, files, self._pipeline.pane_log.retention, commits=COMMITS)
        if compaction.run(before, now) is not None:
            self._uncompacted = 0
