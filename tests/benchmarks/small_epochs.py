"""What small epochs of ours cost on a large state: ten rows, and the clock alone."""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.progress.log.records import EpochRecord
from tests.benchmarks.check import compare, write_truth
from tests.benchmarks.engines.ours import Ours, drive, open_windows, state_of
from tests.benchmarks.generate import Events, append
from tests.benchmarks.queries import Query

SMALL_EPOCHS_OF = "Q1"
ROWS = 10
_EPOCHS = 5
"""Epochs of ten rows that are measured; one before them starts the query and is not."""
_MILLISECOND = 1_000
_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class SmallEpoch:
    """What one kind of epoch costs; the median of several, where there are several.

    Attributes:
        query: the query's name.
        keys: the keys of the state.
        open_windows: its windows (of all keys) before the epoch.
        epoch: what kind.
        panes: how many panes it published.
        seconds: from its plan to its commit.
        cycle_s: from the commit before it to its own, Spark's part included; None where that says nothing.
        keyed_bytes: written below ``keyed``: the windows that have changed.
        epochs_bytes: written below ``epochs``: plan, result and commit.
        state_bytes: written below the state URL in all, Spark's checkpoint and the panes included.
    """

    query: str
    keys: int
    open_windows: int
    epoch: str
    panes: int
    seconds: float
    cycle_s: float | None
    keyed_bytes: int
    epochs_bytes: int
    state_bytes: int


def measure_small_epochs(query: Query, events: Events, folder: Path) -> list[SmallEpoch]:
    """Fill a state with all events, then run small epochs on it. The answer is checked at the end.

    Raises:
        WrongAnswerError: where all that was published is not what DuckDB computes.
    """
    mine = Events(replace(events.workload, rows=events.workload.rows + (_EPOCHS + 2) * ROWS), folder / "input")
    mine.folder.mkdir(parents=True)
    for path in events.paths:
        os.link(path, mine.folder / path.name)
    filled = _Ledger(folder)
    drive(query.pipeline(mine), folder, RuntimeMode.MICRO_BATCH, filled)
    base = {"query": query.name, "keys": events.workload.keys}

    for number in range(_EPOCHS + 1):
        append(mine, ROWS, after=_MILLISECOND, seed=number)
    still = _Ledger(folder)
    drive(_file_by_file(query.pipeline(mine)), folder, RuntimeMode.MICRO_BATCH, still)

    append(mine, ROWS, after=_MINUTE, seed=_EPOCHS + 1)
    closing = _Ledger(folder)
    drive(query.pipeline(mine), folder, RuntimeMode.MICRO_BATCH, closing)

    ten = still.of_kind("data")[1:]
    found = [
        SmallEpoch(
            **base,
            open_windows=ten[0].open_before,
            epoch=f"{ROWS} rows",
            panes=0,
            seconds=statistics.median(entry.seconds for entry in ten),
            cycle_s=statistics.median(entry.cycle_s for entry in ten),
            keyed_bytes=round(statistics.median(entry.written["keyed"] for entry in ten)),
            epochs_bytes=round(statistics.median(entry.written["epochs"] for entry in ten)),
            state_bytes=round(statistics.median(entry.written.total() for entry in ten)),
        )
    ]
    for name, ledger in (("clock, nothing due", still), ("clock, a minute closes", closing)):
        found += [
            SmallEpoch(
                **base,
                open_windows=entry.open_before,
                epoch=name,
                panes=entry.panes,
                seconds=entry.seconds,
                cycle_s=None,
                keyed_bytes=entry.written["keyed"],
                epochs_bytes=entry.written["epochs"],
                state_bytes=entry.written.total(),
            )
            for entry in ledger.of_kind("clock")
        ]
    write_truth(query, mine, folder / "truth.parquet")
    compare(query, "ours", Ours().answer(query, mine, folder), folder / "truth.parquet")
    return found


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    open_before: int
    panes: int
    seconds: float
    cycle_s: float
    written: Counter[str]


class _Ledger:
    """Listens to a run's epochs, and looks after each at what it has written."""

    def __init__(self, folder: Path) -> None:
        self._state = Path(state_of(folder))
        self._entries: list[_Entry] = []
        self._files = self._look()
        self._open = 0
        self._left = time.time()

    def __call__(self, record: EpochRecord) -> None:
        now = time.time()
        files = self._look()
        written: Counter[str] = Counter()
        for path, (size, modified) in files.items():
            if self._files.get(path) != (size, modified):
                written[path.relative_to(self._state).parts[0]] += size
        self._entries.append(
            _Entry(record.kind, self._open, record.panes, now - record.started_at / 1e6, now - self._left, written)
        )
        self._open = open_windows(record)
        self._files, self._left = files, time.time()

    def of_kind(self, kind: str) -> list[_Entry]:
        return [entry for entry in self._entries if entry.kind == kind]

    def _look(self) -> dict[Path, tuple[int, int]]:
        stats = ((path, path.stat()) for path in self._state.rglob("*") if path.is_file())
        return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats}


def _file_by_file(pipeline: Pipeline) -> Pipeline:
    assert isinstance(pipeline.source, Files)
    return replace(pipeline, source=replace(pipeline.source, max_files_per_epoch=1))
