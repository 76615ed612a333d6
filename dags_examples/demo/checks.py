"""The demo checks itself: against the reference interpreter, pane for pane, and against DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

import duckdb
import polars as pl

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import MIN_TIME, to_micros
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from dags_examples.demo.story import Span, moment


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check; ``problem`` is empty if it has passed."""

    what: str
    problem: str = ""

    @classmethod
    def of(cls, what: str, check: Callable[[], str]) -> Check:
        """Run a check that tells what it has compared, or raises what is wrong."""
        try:
            return cls(f"{what}: {check()}")
        except (AssertionError, Mismatch) as error:
            return cls(what, str(error))


class Mismatch(Exception):  # noqa: N818 - it is an answer
    """Two that should be the same are not."""


def equals_reference(state: str, pipeline: Pipeline) -> str:
    """A micro-batch's or a stream's panes are those of the reference, for the same files, clocks and epochs."""
    published = panes_of(PaneLogReader(state).panes(), pipeline.grouping)
    assert_panes(published, panes_of_reference(state, pipeline))
    return _some(len(published), "panes")


def interval_equals_reference(state: str, pipeline: Pipeline, folder: Path) -> str:
    """A batch's panes are those of the reference, for the interval and the files that it read."""
    log, panes = EpochLog(Store.open(state)), PaneLogReader(state).panes()
    for record in log.records():
        prepared = log.prepared(record.epoch)
        if prepared is None or prepared.result is None or record.interval is None:
            raise Mismatch(f"epoch {record.epoch} is no batch over an interval")
        files = [folder / PurePosixPath(file).name for file in prepared.result.files]
        epoch = Epoch(record.clock, _elements(pipeline, files, record.interval), MIN_TIME)
        published = panes_of(panes.filter(pl.col("epoch") == record.epoch), pipeline.grouping)
        assert_panes(published, interpret(pipeline, [epoch]).panes)
    return _some(len(panes), "panes")


def _elements(pipeline: Pipeline, files: list[Path], interval: Interval) -> list[Element]:
    """The elements of the windows of an interval."""
    rows = pl.concat([pl.read_parquet(file) for file in files]).with_columns(
        _event=pl.col(pipeline.source.event_time).dt.epoch("us"),
        _arrival=pl.col(pipeline.source.arrival_time or pipeline.source.event_time).dt.epoch("us"),
    )
    assign = pipeline.grouping.window.assign
    return [
        Element(row, row["_event"], row["_arrival"])
        for row in rows.iter_rows(named=True)
        if all(interval.contains(window.end) for window in assign(row["_event"]))
    ]


_TRUTH = """
    SELECT origin, time_hour AS window_start, count(*) AS flights, avg(dep_delay) AS mean_delay
    FROM read_csv(?, nullstr = 'NA', types = {'time_hour': 'TIMESTAMP'})
    WHERE dep_delay IS NOT NULL AND time_hour >= ? AND time_hour < ?
    GROUP BY ALL ORDER BY window_start, origin
"""
"""In the raw file ``time_hour`` is the hour of the schedule in UTC, and a flight without a delay has not left."""


def table_equals_duckdb(state: str, interval: Span, csv: str) -> str:
    """The table of an interval equals DuckDB's result for the original file."""
    start, end = (moment(time).naive() for time in interval)
    with duckdb.connect() as database:
        truth = database.execute(_TRUTH, [csv, start, end]).fetchall()
    table = PaneLogReader(state).current().with_columns(pl.col("window_start").dt.replace_time_zone(None))
    of_interval = table.filter(pl.col("window_start") >= start, pl.col("window_start") < end)
    ours = of_interval.sort("window_start", "origin").select("origin", "window_start", "flights", "mean_delay").rows()
    # Sums of whole minutes are exact in either, so the means are the same to the last bit.
    if ours != truth:
        different = [(mine, true) for mine, true in zip_longest(ours, truth) if mine != true]
        raise Mismatch("\n".join(f"{mine}, DuckDB has {true}" for mine, true in different))
    return _some(len(ours), "rows")


def were_published(reported: list[dict[str, Any]], panes: pl.DataFrame) -> str:
    """What the gated DAG has reported are panes of the stream, one for each airport."""
    columns = "origin", "flights", "mean_delay", "pane_timing", "pane_index"
    published = set(panes.select(pl.col("window_start").dt.epoch("us"), *columns).rows())
    for row in reported:
        start = to_micros(row["window_start"])
        if (start, *(row[column] for column in columns)) not in published:
            raise Mismatch(f"{row} was never published")
    return _some(len(reported), "rows")


def _some(count: int, what: str) -> str:
    """Refuse a comparison of two empty results."""
    if not count:
        raise Mismatch(f"there are no {what} to compare")
    return f"{count:,} {what}"
