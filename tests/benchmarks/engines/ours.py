"""Ours: the pipeline with its state written and its panes committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.benchmarks.check import Answer, StateSize, WrongAnswerError
from tests.benchmarks.engines.engine import MASTER, Engine
from tests.benchmarks.engines.spark_settings import settings
from tests.benchmarks.generate import Events
from tests.benchmarks.queries import Query

ALWAYS = Interval(0, 2**52)
"""In which every window ends."""


class Ours(Engine):
    """A run begins with an empty state and ends when the backlog is read.

    Args:
        name: as in the table.
        mode: ``micro-batch``, or ``batch``: one epoch of all files, then the end of input.
        interval: for a batch that recomputes the windows that end in it, and leaves no state behind.
    """

    side, place = "ours", "ours"

    def __init__(
        self, name: str = "ours", mode: RuntimeMode = RuntimeMode.MICRO_BATCH, interval: Interval | None = None
    ) -> None:
        self.name, self.mode, self._runtime_mode, self._interval = name, mode.value, mode, interval

    def answers(self, query: Query) -> bool:
        return self._runtime_mode is RuntimeMode.MICRO_BATCH or query.batch

    def run(self, query: Query, events: Events, folder: Path) -> None:
        drive(query.pipeline(events), folder, self._runtime_mode, interval=self._interval)

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:
        """What all panes add up to, after the end of input has been told to the same state."""
        timed = list(EpochLog(Store.open(state_of(folder))).records())
        state = None if self._interval is not None else state_size(timed, folder)
        if self._runtime_mode is RuntimeMode.MICRO_BATCH:
            drive(query.pipeline(events), folder, RuntimeMode.BATCH)
        end = list(EpochLog(Store.open(state_of(folder))).records())[-1]
        rows = end.totals
        if (rows.read, rows.expired, rows.rejected) != (events.workload.rows, 0, 0):
            raise WrongAnswerError(f"{self.name} {query.name}: of {events.workload.rows} rows it counts {rows}")
        path = folder / "answer.parquet"
        query.from_log(PaneLogReader(state_of(folder))).write_parquet(path)
        return Answer(path, published=timed[-1].panes_total, state=state)


def drive(
    pipeline: Pipeline,
    folder: Path,
    mode: RuntimeMode,
    on_epoch: Callable[[EpochRecord], None] = lambda _: None,
    *,
    conf: Mapping[str, str] | None = None,
    interval: Interval | None = None,
) -> None:
    """Run a pipeline on the state in a folder."""
    conf = settings(folder.parent) | {"spark.log.level": "ERROR"} | dict(conf or {})
    run(Submission(pipeline, mode, state_of(folder), interval, master=MASTER, conf=conf, on_epoch=on_epoch))


def state_of(folder: Path) -> str:
    """The state's URL."""
    return str(folder / "state")


def open_windows(record: EpochRecord) -> int:
    """How many keys and windows the state holds after an epoch."""
    return Checkpoint.from_json(record.checkpoint).stages[0].open_windows


def state_size(records: list[EpochRecord], folder: Path) -> StateSize:
    """How large the state is after these epochs."""
    chains = Checkpoint.from_json(records[-1].checkpoint).stages[0].chains
    written = [Checkpoint.from_json(record.checkpoint).state_bytes for record in records if record.kind == "data"]
    return StateSize(
        open_windows(records[-1]),
        sum(file.size for chain in chains.values() for file in chain.files),
        round(sum(written) / max(1, len(written))),
        len(written),
    )
