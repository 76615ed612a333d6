"""The events that every engine reads: made once, seeded, in the order of their arrival, as Parquet files.

Arrivals come at a steady rate. An event happened a delay before it arrived, and delays are heavy-tailed: Pareto with
shape 1.5 from one second on, cut off at :data:`LONGEST_DELAY` (median 1.6 s, 99 % 19 s, 99.9 % 61 s). Keys are uniform
over all of them, or come in bursts, as people do: a key is active for a minute of event time, then silent for two. With
few uniform keys no session would ever end.

The first event has the longest delay of all. An engine that learns the delays from the first files therefore knows the
longest one from then on, as an engine that is told it does: to neither is any event late, and both keep the same
windows open.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_dataflow_provider.model.time import Micros

LONGEST_DELAY: Micros = 180_000_000
FILES_PER_BATCH = 2
"""Files of one micro-batch, on every engine that has such: one for each core."""
FILE_ROWS = 500_000

_FIRST_ARRIVAL: Micros = 1_704_067_200_000_000
_SECOND = 1_000_000
_RATE = 10_000
"""Arrivals a second, of large workloads: the number of open windows then does not depend on the number of rows."""
SHORTEST_SPAN = 500
"""Seconds that arrivals last at least: small workloads are thinner, so that windows of theirs close too."""
_ACTIVE, _CYCLE = 60 * _SECOND, 180 * _SECOND
"""How long a key of a bursty workload is active, and after how long it is again."""
_SHAPE = 1.5
_ABOUT = "workload.json"
_SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("arrival_time", pa.timestamp("us", "UTC")),
        ("value", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Workload:
    """What to generate.

    Args:
        rows: the number of events.
        keys: events have keys from 0 to below this.
        files: over how many files they are spread evenly; by default ten, and more where a file would grow past
            :data:`FILE_ROWS`.
        seed: of the random numbers.
        bursts: keys are active in turns, rather than all of them all the time.
        rate: arrivals a second; by default 10,000, and fewer where they would last less than :data:`SHORTEST_SPAN`.
    """

    rows: int
    keys: int
    files: int = 0
    seed: int = 2015
    bursts: bool = False
    rate: float = 0

    def __post_init__(self) -> None:
        if not self.files:
            object.__setattr__(self, "files", max(10, -(-self.rows // FILE_ROWS)))
        if not self.rate:
            object.__setattr__(self, "rate", min(_RATE, self.rows / SHORTEST_SPAN))
        if self.keys < 1 or self.rows < self.files or self.files < 1:
            raise ValueError(f"{self!r} needs at least one key, and one row for each file")

    @property
    def name(self) -> str:
        """A folder name."""
        bursts = "-bursts" if self.bursts else ""
        return f"{self.rows}-rows-{self.keys}-keys-{self.files}-files-{self.rate:g}-a-second{bursts}-seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Events:
    """A workload as it lies on disk."""

    workload: Workload
    folder: Path

    @property
    def glob(self) -> str:
        """All its files."""
        return f"{self.folder}/*.parquet"

    @property
    def paths(self) -> list[Path]:
        """All its files in the order of arrival."""
        return sorted(self.folder.glob("*.parquet"))


def generate(workload: Workload, root: Path) -> Events:
    """The events of a workload below a folder, reused where they are there already."""
    events = Events(workload, root / workload.name)
    about = json.dumps({**asdict(workload), "longest_delay": LONGEST_DELAY, "version": 2})
    standing = events.folder / _ABOUT
    if standing.exists() and standing.read_text() == about:
        return events
    unfinished = events.folder.with_suffix(".unfinished")
    for folder in (events.folder, unfinished):
        shutil.rmtree(folder, ignore_errors=True)
    unfinished.mkdir(parents=True)
    _write(workload, unfinished)
    (unfinished / _ABOUT).write_text(about)
    unfinished.rename(events.folder)
    return events


def append(events: Events, rows: int, *, after: Micros, seed: int) -> Path:
    """One more file with a few on-time events; it becomes visible as a whole.

    Args:
        events: where it goes.
        rows: how many.
        after: how long after the last arrival so far these arrive, in microseconds.
        seed: of the random keys.
    """
    last = events.paths[-1]
    newest = pq.read_table(last, columns=["arrival_time"])["arrival_time"].cast(pa.int64()).to_numpy().max()
    arrival = np.arange(rows, dtype=np.int64) + int(newest) + after
    random = np.random.default_rng(seed)
    path = events.folder / f"{int(last.stem) + 1:05d}.parquet"
    hidden = path.with_name(f".{path.name}")
    _write_file(hidden, random.integers(events.workload.keys, size=rows), arrival - _SECOND, arrival, np.ones(rows))
    os.utime(hidden, ns=(last.stat().st_mtime_ns + 10**9,) * 2)
    hidden.rename(path)
    return path


def _write(workload: Workload, folder: Path) -> None:
    random = np.random.default_rng(workload.seed)
    arrival = _FIRST_ARRIVAL + (np.arange(workload.rows) * (_SECOND / workload.rate)).astype(np.int64)
    event = arrival - _delays(random, workload.rows)
    key = _keys(random, workload, event)
    value = random.integers(1_000, size=workload.rows)
    bounds = np.linspace(0, workload.rows, workload.files + 1).astype(np.int64)
    for number, (start, stop) in enumerate(pairwise(bounds)):
        rows = slice(int(start), int(stop))
        path = folder / f"{number:05d}.parquet"
        _write_file(path, key[rows], event[rows], arrival[rows], value[rows])
        # File sources go by the modification time.
        os.utime(path, ns=((_FIRST_ARRIVAL // _SECOND + number) * 10**9,) * 2)


Column = np.ndarray[tuple[int], np.dtype[np.int64]]


def _keys(random: np.random.Generator, workload: Workload, event: Column) -> Column:
    if not workload.bursts:
        return random.integers(workload.keys, size=workload.rows)
    active = max(1, workload.keys * _ACTIVE // _CYCLE)
    first = (event % _CYCLE) * workload.keys // _CYCLE
    return (first + random.integers(active, size=workload.rows)) % workload.keys


def _delays(random: np.random.Generator, rows: int) -> Column:
    """By the inverse of the distribution function, which cuts the tail off without piling it up at the cut."""
    share = random.random(rows) * (1 - (_SECOND / LONGEST_DELAY) ** _SHAPE)
    delays = (_SECOND * (1 - share) ** (-1 / _SHAPE)).astype(np.int64)
    delays[0] = LONGEST_DELAY
    return delays


def _write_file(path: Path, *columns: np.ndarray[tuple[int], np.dtype[np.generic]]) -> None:
    arrays = [pa.array(column.astype(np.int64)).cast(kind) for column, kind in zip(columns, _SCHEMA.types, strict=True)]
    pq.write_table(pa.table(arrays, schema=_SCHEMA), path)
