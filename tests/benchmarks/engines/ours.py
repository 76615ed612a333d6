"""Ours: the pipeline in micro-batch mode, with its state written and its panes committed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.progress.records import EpochRecord
from airflow_dataflow_provider.spark.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.benchmarks.check import Answer, WrongAnswerError
from tests.benchmarks.engines.engine import MASTER, Engine
from tests.benchmarks.engines.spark_settings import settings
from tests.benchmarks.generate import Events
from tests.benchmarks.queries import Query


class Ours(Engine):
    """A run begins with an empty state and ends when the backlog is read."""

    name, mode, place = "ours", "micro-batch", "ours"

    def run(self, query: Query, events: Events, folder: Path) -> None:
        drive(query.pipeline(events), folder, RuntimeMode.MICRO_BATCH)

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:
        """The table that all panes add up to, after the end of input has been told to the same state."""
        records: list[EpochRecord] = []
        drive(query.pipeline(events), folder, RuntimeMode.BATCH, records.append)
        end = records[-1]
        rows = end.totals
        if (rows.read, rows.expired, rows.rejected) != (events.workload.rows, 0, 0):
            raise WrongAnswerError(f"ours {query.name}: of {events.workload.rows} rows it counts {rows}")
        path = folder / "answer.parquet"
        query.from_table(PaneLogReader(state_of(folder)).current()).write_parquet(path)
        return Answer(path, published=end.panes_total - end.panes)


def drive(
    pipeline: Pipeline,
    folder: Path,
    mode: RuntimeMode,
    on_epoch: Callable[[EpochRecord], None] = lambda _: None,
) -> None:
    """Run a pipeline on the state in a folder."""
    conf = settings(folder.parent) | {"spark.log.level": "ERROR"}
    run(Submission(pipeline, mode, state_of(folder), master=MASTER, conf=conf, on_epoch=on_epoch))


def state_of(folder: Path) -> str:
    """The state's URL."""
    return str(folder / "state")
