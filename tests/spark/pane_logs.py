"""Pane logs without Spark: a pipeline's own writer, fed with panes made by hand, and a table worked out beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from airflow_dataflow_provider import DISCARDING, AtCount, Combiner, Count, Files, FixedWindows, Pipeline, Repeat, Sum
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.model.time import to_datetime
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.records import EpochPlan, Prepared
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain
from airflow_dataflow_provider.progress.panes.pane_commits import read_header
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.sinks.pane_compaction import Compaction
from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles
from airflow_dataflow_provider.spark.sinks.pane_writer import PaneWriter
from airflow_dataflow_provider.spark.stages.stages import Stages

SCHEMA = {"key": pl.String(), "value": pl.Int64()}
STATE_ID = "the state"
MINUTE = 60_000_000


def pipeline(combiners: Mapping[str, Combiner] | None = None, refinement: Refinement = DISCARDING) -> Pipeline:
    return (
        Pipeline("small", Files("source/*.parquet", event_time="happened"))
        .group_by_key_and_window(
            key="key", window=FixedWindows("1m"), trigger=Repeat(AtCount(1)), refinement=refinement
        )
        .combine(**(combiners or {"count": Count(), "total": Sum("value")}))
    )


def open_log(state: Path | str, what: Pipeline) -> tuple[PaneWriter, Stages]:
    """A new or known pane log of a state that has nothing else."""
    stages = Stages.of(what, SCHEMA)
    writer = PaneWriter(Store.open(state), STATE_ID, what)
    writer.open(stages)
    return writer, stages


def compaction(panes: Store | str, **options: int) -> Compaction:
    """The compaction of a pane log."""
    store = Store.open(panes) if isinstance(panes, str) else panes
    return Compaction(store, PaneChain(store), PaneFiles(store, read_header(store)), **options)


@dataclass(frozen=True)
class Said:
    """One pane: of a key and a window, by number (None: the window without end), its values and flags."""

    key: str
    window: int | None
    total: int
    is_first: bool = False
    is_retraction: bool = False


def frame_of(panes: Sequence[Said], schema: Mapping[str, pl.DataType], epoch: int = 0) -> pl.DataFrame:
    """Panes as the kernel makes them, with accumulators where the schema has them."""
    rows: list[dict[str, Any]] = [
        {
            "window_start": None if pane.window is None else to_datetime(pane.window * MINUTE),
            "window_end": None if pane.window is None else to_datetime((pane.window + 1) * MINUTE),
            # Within a window's life later panes have greater numbers.
            "key": pane.key, "count": 1, "total": pane.total, "pane_timing": "LATE",
            "pane_index": 0 if pane.is_first else 1 + 10 * epoch + number,
            "pane_is_first": pane.is_first, "pane_is_last": False, "pane_is_retraction": pane.is_retraction,
            "completeness": 1.0, "watermark": None, "processing_time": None,
            "_count.count": 1, "_total.sum": pane.total, "_total.packed": None,
        }
        for number, pane in enumerate(panes)
    ]  # fmt: skip
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=dict(schema))


def publish(
    writer: PaneWriter, stages: Stages, epoch: int, panes: Sequence[Said], interval: Interval | None = None
) -> None:
    """Take one epoch through the pane log."""
    publish_frames(writer, epoch, [frame_of(panes, stages.published(), epoch)] if panes else [], interval)


def publish_frames(writer: PaneWriter, epoch: int, few: list[pl.DataFrame], interval: Interval | None = None) -> None:
    """The same, with panes as the engine has made them."""
    kind = "data" if interval is None else "interval"
    plan = EpochPlan(epoch, kind, 1, "run", "streaming", Clock(0, NOTHING_KNOWN), 0, interval)
    result = EpochResult(pane_files=writer.stage(epoch, few, {}), panes=sum(map(len, few)))
    writer.commit(plan, Prepared(epoch, 1, result), epoch)


class Expected:
    """The table, one pane after the other."""

    def __init__(self, *, discarding: bool) -> None:
        self._discarding = discarding
        self.table: dict[tuple[str, int | None], tuple[int, int]] = {}

    def take(self, panes: Sequence[Said], interval: Interval | None = None) -> None:
        if interval is not None:
            ended = [at for at in self.table if at[1] is not None and interval.contains((at[1] + 1) * MINUTE)]
            for at in ended:
                del self.table[at]
        for pane in panes:
            at = (pane.key, pane.window)
            if pane.is_retraction:
                self.table.pop(at, None)
            elif self._discarding and not pane.is_first and at in self.table:
                count, total = self.table[at]
                self.table[at] = (count + 1, total + pane.total)
            else:
                self.table[at] = (1, pane.total)

    def rows(self) -> list[tuple[str, int | None, int, int]]:
        return sorted(((*at, *values) for at, values in self.table.items()), key=repr)


def rows_of(current: pl.DataFrame) -> list[tuple[str, int | None, int, int]]:
    """What :meth:`Expected.rows` says, from a reader."""
    window = pl.col("window_start").dt.epoch("us") // MINUTE
    return sorted(current.select("key", window, "count", "total").iter_rows(), key=repr)
