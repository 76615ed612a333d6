"""Runs a test's script on Spark: with the real map side, shuffle, kernel, state and pane log, at the script's clocks.

The watermarks are those of the script instead of an estimate; all else is as in a run. Elements are written as Parquet
files to a folder, which Spark reads as a source.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, to_micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.reference.interpreter import Counts, Epoch, ExpiredElement, Outcome
from airflow_dataflow_provider.testing.frames import micros, panes_of

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.spark.running.run import Run
    from airflow_dataflow_provider.spark.running.runner import Runner

_PATIENCE = 120.0
"""Seconds after which a test of a stream that makes no progress fails."""


_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


def local_spark() -> SparkSession:
    """A session of the Spark in this process, or of a new one with two threads, reachable from this machine only."""
    from airflow_dataflow_provider.spark.running.session import spark_session

    return spark_session("test-stream", master="local[2]", conf=_LOCAL)


def spark_runs() -> bool:
    """Whether Spark runs in this process already."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None  # noqa: SLF001 - has no public form


def spark_batch(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Outcome:
    """Run all elements at once, then the script's last clock: a batch has no clocks and signals in between."""
    with _stage(pipeline, epochs, "batch") as stage:
        stage.arrive(epochs)
        nothing_known = WatermarkCurve.flat(MIN_TIME, pipeline.percentiles())
        stage.clock, stage.clock_after_data = replace(epochs[-1].clock, watermarks=nothing_known), epochs[-1].clock
        stage.runner().run(RuntimeMode.BATCH, None)
        return stage.outcome()


def spark_micro_batch(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Outcome:
    """Start a run for each epoch of the script, all on one state."""
    with _stage(pipeline, epochs, "micro-batch") as stage:
        for epoch in epochs:
            stage.clock = epoch.clock
            stage.arrive([epoch])
            stage.raise_signals(epoch)
            stage.runner().run(RuntimeMode.MICRO_BATCH, None)
        return stage.outcome()


def spark_streaming(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Outcome:
    """Start one continuous run; each epoch of the script waits until the one before it was read.

    Spark and the clock run concurrently, so an epoch with both elements and signals may become two.
    """
    with _stage(pipeline, epochs, "streaming") as stage:
        stopping = threading.Event()
        runner = stage.runner(stopping)
        failure: list[BaseException] = []

        def stream() -> None:
            try:
                runner.run(RuntimeMode.STREAMING, None)
            except BaseException as error:  # noqa: BLE001 - raised again below, in the test's own thread
                failure.append(error)

        thread = threading.Thread(target=stream, name="test-stream")
        thread.start()
        try:
            for number, epoch in enumerate(epochs):
                stage.clock = epoch.clock
                stage.arrive([epoch])
                read = sum(len(earlier.elements) for earlier in epochs[: number + 1])
                _wait(partial(stage.has_read, read), thread, failure)
                stage.raise_signals(epoch)
                # One tick may be under way with the clock before.
                _wait(partial(_ticked, runner, runner.ticks + 2), thread, failure)
        finally:
            stopping.set()
            thread.join()
        if failure:
            raise failure[0]
        return stage.outcome()


def _ticked(runner: Runner, times: int) -> bool:
    return runner.ticks >= times


def _wait(condition: Callable[[], bool], thread: threading.Thread, failure: list[BaseException]) -> None:
    until = time.monotonic() + _PATIENCE
    while not condition():
        if failure:
            raise failure[0]
        if not thread.is_alive() or time.monotonic() > until:
            raise TimeoutError("the stream did not take the script's next step")
        time.sleep(0.02)


@dataclass
class _Stage:
    """The environment of a script: a folder of files, a state, and the script's clock."""

    folder: Path
    pipeline: Pipeline
    frame: Callable[[Sequence[Epoch]], pl.DataFrame]
    clock: Clock
    clock_after_data: Clock | None = None
    run: Run | None = None
    files: int = 0
    rows_read: int = 0

    def has_read(self, rows: int) -> bool:
        """Whether this many elements are committed."""
        return self.rows_read >= rows

    def arrive(self, epochs: Sequence[Epoch]) -> None:
        """Write the elements of some epochs as one file."""
        frame = self.frame(epochs)
        if len(frame):
            incomplete = self.folder / "incomplete"
            frame.write_parquet(incomplete)
            incomplete.rename(self.folder / "source" / f"{self.files:06d}.parquet")
            self.files += 1

    def runner(self, stopping: threading.Event | None = None) -> Runner:
        """A run on the state."""
        from airflow_dataflow_provider.spark.running.runner import Runner

        assert self.run is not None  # noqa: S101 - set where the stage is made
        return Runner(self.run, self.run.ownership.check, stopping or threading.Event(), tick_seconds=0.05)

    def raise_signals(self, epoch: Epoch) -> None:
        """Raise the signals of an epoch, by requests."""
        from airflow_dataflow_provider.progress.requests.requests import request_signal

        assert self.run is not None  # noqa: S101 - set where the stage is made
        for name in sorted(epoch.clock.signals):
            request_signal(self.run.store, name, self.clock.processing_time)

    def outcome(self) -> Outcome:
        """The panes, expired elements and counts of the run."""
        from airflow_dataflow_provider.tables.pane_log import PaneLogReader
        from airflow_dataflow_provider.tables.side_outputs import SideOutputs

        assert self.run is not None  # noqa: S101 - set where the stage is made
        url = self.run.store.url
        panes = panes_of(PaneLogReader(url).panes(), self.pipeline.grouping)
        expired = map(_expired, SideOutputs(url).expired().iter_rows(named=True))
        last = self.run.log.last_record()
        counts = Counts() if last is None else Counts(last.totals.read, last.totals.late, last.totals.expired)
        return Outcome(tuple(panes), tuple(expired), counts)


def _expired(row: dict[str, Any]) -> ExpiredElement:
    """A row of the late output."""
    event_time, arrival_time = to_micros(row["_event_time"]), to_micros(row["_arrival_time"])
    columns = {name: row[name] for name in row if not name.startswith("_")}
    return ExpiredElement(
        element=Element(columns, event_time, arrival_time, is_retraction=row["_is_retraction"]),
        window=Window(micros(row["_window_start"], MIN_TIME), micros(row["_window_end"], MAX_TIME)),
        watermark=micros(row["_watermark"], MAX_TIME),
        delay=arrival_time - event_time,
    )


@contextmanager
def _stage(pipeline: Pipeline, epochs: Sequence[Epoch], mode: str) -> Iterator[_Stage]:
    from airflow_dataflow_provider.progress.log.log import EpochLog
    from airflow_dataflow_provider.progress.ownership import identity
    from airflow_dataflow_provider.progress.ownership.owner import Ownership
    from airflow_dataflow_provider.progress.requests.signals import listened_to
    from airflow_dataflow_provider.progress.store.store import Store
    from airflow_dataflow_provider.progress.wall import wall_clock
    from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS
    from airflow_dataflow_provider.spark.running.run import Run
    from airflow_dataflow_provider.spark.running.workers import SparkWorkers
    from airflow_dataflow_provider.spark.sinks.pane_writer import PaneWriter
    from airflow_dataflow_provider.spark.sources.first_file import check_columns
    from airflow_dataflow_provider.spark.tasks.user_code import carry

    with tempfile.TemporaryDirectory(prefix="test-stream-") as name:
        folder = Path(name)
        (folder / "source").mkdir()
        source = pipeline.source
        files = Files(str(folder / "source" / "*.parquet"), source.event_time, source.arrival_time)
        local = replace(pipeline, source=files, sinks=())
        frame = _framer(local, epochs)
        schema = check_columns(files, tuple(frame([]).columns), dict(frame([]).schema), "the test's elements")
        store = Store.open(str(folder / "state"))
        now = wall_clock()
        stored = identity.ensure(
            store, name=local.name, fingerprint=local.fingerprint(), definition=repr(local), shape=local.shape(),
            partitions=3, now=now, signals=listened_to(local),
        )  # fmt: skip
        stage = _Stage(folder, local, frame, epochs[0].clock)
        panes = PaneWriter(store, stored.state_id, local)
        carry(local)
        workers = SparkWorkers(local_spark())
        stages = workers.stages(local, schema)
        panes.open(stages)

        def committed(record: EpochRecord) -> None:
            stage.rows_read += record.rows.read
            stage.clock = stage.clock_after_data or stage.clock

        stage.run = Run(
            workers=workers,
            pipeline=local,
            store=store,
            identity=stored,
            ownership=Ownership.claim(store, mode=mode, run_id="test", now=now),
            log=EpochLog(store),
            panes=panes,
            stages=stages,
            mode=mode,
            run_id="test",
            now=lambda: stage.clock.processing_time,
            on_commit=committed,
            script=lambda: stage.clock.watermarks,
            # So that a test in several modes is reduced both by the driver and by workers.
            driver_rows=ROWS if mode == "micro-batch" else 0,
        )
        yield stage


def _framer(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Callable[[Sequence[Epoch]], pl.DataFrame]:
    """Converts epochs to frames, all with the types of the whole script."""
    import polars as pl

    given = dict.fromkeys(column for epoch in epochs for element in epoch.elements for column in element.row)
    columns = pipeline.input_columns(tuple(given))

    def rows(some: Sequence[Epoch]) -> dict[str, list[object]]:
        elements = [element for epoch in some for element in epoch.elements]
        return {column: [element.row.get(column) for element in elements] for column in columns}

    found = pl.DataFrame(rows(epochs), strict=False).schema
    guess = dict.fromkeys(pipeline.groupings[0].key, pl.String()) | dict.fromkeys(
        pipeline.source.columns(), pl.Datetime("us", "UTC")
    )
    types = {column: guess.get(column, pl.Int64()) if dtype == pl.Null else dtype for column, dtype in found.items()}
    return lambda some: pl.DataFrame(rows(some), schema=types, strict=False)
