"""Where the epochs come from: a batch's one, a micro-batch's backlog, a stream's without end.

The loop, the kernel and the state are the same for all three; only this module knows the difference.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, assert_never

from airflow_dataflow_provider.model.errors import DataError, DataflowError, InterruptedRunError, StateError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.progress import requests
from airflow_dataflow_provider.spark.epochs import Epochs, Run
from airflow_dataflow_provider.spark.source_files import paths_as_they_come, paths_now
from airflow_dataflow_provider.spark.spark_columns import told_by_spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from airflow_dataflow_provider.model.time import Micros

CHECKPOINT = "checkpoint"
TICK_SECONDS = 0.5
"""How often a stream asks its source for more, and looks at its clock and its requests."""


class Runner:
    """One driver's run, from the first epoch to the last.

    Args:
        run: what stays the same.
        heart_check: raises when another driver has taken over.
        stopping: set from outside to end a stream after the epoch at hand.
        tick_seconds: how often a stream asks its source for more, and looks at its clock and its requests.
    """

    def __init__(
        self, run: Run, heart_check: Callable[[], None], stopping: threading.Event, tick_seconds: float = TICK_SECONDS
    ) -> None:
        self._run, self._heart_check, self._stopping, self._tick_seconds = run, heart_check, stopping, tick_seconds
        source = run.pipeline.source
        if not isinstance(source, Files):  # the plan was checked before
            raise TypeError(source)
        self._source = source
        self._epochs = Epochs(run)
        self._epochs.sweep()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._busy_since_tick = False
        self.ticks = 0
        """How often a stream has looked at its clock and its requests."""

    def run(self, mode: RuntimeMode, interval: tuple[Micros, Micros] | None) -> None:
        """Run in a mode.

        Raises:
            DataflowError: whatever ended the run before its time.
        """
        try:
            self._epochs.resume(self._listing_now)
            self._run_in(mode, interval)
        except Exception as error:
            told = None if isinstance(error, DataflowError) else _told(str(error))
            if told is None:
                raise
            raise told from error

    def _run_in(self, mode: RuntimeMode, interval: tuple[Micros, Micros] | None) -> None:
        match mode:
            case RuntimeMode.BATCH if interval is not None:
                self._epochs.interval(self._listing_now(), interval)
            case RuntimeMode.BATCH:
                self._backlog(limit=None)
                self._epochs.take_up()
                self._epochs.end_of_input()
            case RuntimeMode.MICRO_BATCH:
                self._backlog(limit=self._source.max_files_per_epoch)
                self._epochs.take_up()
                self._epochs.clock(idle=True)
            case RuntimeMode.STREAMING:
                self._stream()
            case RuntimeMode.AUTOMATIC:
                self._run_in(mode.resolve(self._source.boundedness, has_interval=interval is not None), interval)
            case _:
                assert_never(mode)

    def _backlog(self, limit: int | None) -> None:
        """The epochs of what is there, then no more."""
        self._wait(self._start(limit, available_now=True), lambda: None)
        if self._stopping.is_set():
            # What is not read yet must not be taken for absent.
            raise InterruptedRunError(
                "the run was interrupted before it had read all that is there",
                why="somebody ended its process",
                todo="run it again: it goes on after the last committed epoch",
                code="RUN_INTERRUPTED",
            )

    def _stream(self) -> None:
        """Epochs until somebody asks for the end; between them the clock ticks."""
        query = self._start(self._source.max_files_per_epoch, available_now=False)
        asked: list[requests.Request] = []

        def tick() -> None:
            pending = requests.pending(self._run.store, token=self._run.ownership.token)
            asked[:] = [request for request in pending if request.kind in ("stop", "drain")]
            if asked:
                self._stopping.set()
                return
            with self._lock:
                # Right after an epoch the source may have more; the clock waits for a quiet tick.
                quiet, self._busy_since_tick = not self._busy_since_tick, False
                if not self._epochs.take_up():
                    self._epochs.clock(idle=quiet)
            self.ticks += 1

        self._wait(query, tick)
        if any(request.kind == "drain" for request in asked):
            self._stopping.clear()
            self._backlog(self._source.max_files_per_epoch)
            self._epochs.take_up()
            self._epochs.end_of_input()
        else:
            self._epochs.clock(idle=False)
        for request in asked:
            requests.acknowledge(self._run.store, request, self._run.now(), self._run.ownership.token)

    def _start(self, limit: int | None, *, available_now: bool) -> StreamingQuery:
        self._check_checkpoint()
        paths = paths_as_they_come(self._run.spark, self._source, limit)
        writer = (
            paths.writeStream.queryName(f"{self._run.pipeline.name}-{self._run.run_id}")
            .option("checkpointLocation", self._run.store.child(CHECKPOINT))
            .foreachBatch(self._on_batch)
        )
        writer = (
            writer.trigger(availableNow=True)
            if available_now
            else writer.trigger(processingTime=f"{int(self._tick_seconds * 1000)} milliseconds")
        )
        return writer.start()

    def _check_checkpoint(self) -> None:
        """Refuse a state whose checkpoint is gone.

        Spark counts its batches there. It would start again at 0, and we would pass those over.
        """
        last = self._run.log.last_record()
        if last is None or self._run.store.exists(f"{CHECKPOINT}/offsets"):
            return
        if any(record.spark_batch is not None for record in self._run.log.records()):
            raise StateError(
                f"the checkpoint {self._run.store.child(CHECKPOINT)} is gone, but the epoch log has epochs of it",
                why="Spark would count its batches from 0 again, and rows would be read twice or passed over",
                todo="restore the checkpoint folder, or start at another state URL",
                code="STATE_CHECKPOINT_LOST",
            )

    def _listing_now(self) -> DataFrame:
        return paths_now(self._run.spark, self._source)

    def _on_batch(self, paths: DataFrame, batch: int) -> None:
        """Spark's call for each of its batches, on a thread of its own."""
        with self._lock:
            try:
                self._heart_check()
                self._epochs.data(paths, batch)
                self._busy_since_tick = True
            except BaseException as error:
                self._failure = error
                raise

    def _wait(self, query: StreamingQuery, tick: Callable[[], None]) -> None:
        """Until the query ends by itself, fails, or is told to stop; then nothing of it is left running."""
        try:
            while not self._ended(query):
                self._heart_check()
                tick()
                if self._stopping.is_set():
                    # Between two epochs: a batch that is logged and not run is handed out again next time.
                    with self._lock:
                        query.stop()
                    return
        except Exception:
            if self._failure is not None:
                raise self._failure from None
            raise
        finally:
            with suppress(Exception):
                query.stop()

    def _ended(self, query: StreamingQuery) -> bool:
        """Wait a tick; whether the query has ended by then. Its failure is raised here."""
        return bool(query.awaitTermination(self._tick_seconds))  # type: ignore[arg-type]  # fractions are fine


_TOLD = re.compile(r"\[((?:DATA|SUBMIT|SOURCE|STATE|ENGINE)_[A-Z_]+)\] (.+)")


def _told(text: str) -> DataflowError | None:
    """The error that a worker raised or that an expression of Spark's met, out of the text of a job's failure."""
    return _told_by_worker(text) or told_by_spark(text)


def _told_by_worker(text: str) -> DataflowError | None:
    """The error that a worker raised, out of the text in which Spark wraps it."""
    found = _TOLD.search(text)
    if found is None:
        return None
    rest = text[found.end() :].splitlines()
    why = next((line.removeprefix("Why: ") for line in rest if line.startswith("Why: ")), "")
    todo = next((line.removeprefix("What to do: ") for line in rest if line.startswith("What to do: ")), "")
    return DataError(found.group(2), why=why, todo=todo, code=found.group(1))
