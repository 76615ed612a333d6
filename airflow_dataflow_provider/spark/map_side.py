"""The map side: paths go in, packed partial accumulators come out, one blob a state partition.

One vectorised pass over each file: read, set malformed rows aside, assign windows, send elements of expired windows to
the late output, combine what is left by key and window, pack by state partition. Rows that cannot go on are written to
files of this task; which of them count is said by the epoch log.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.windows import FixedWindows, expired_until
from airflow_dataflow_provider.progress.store import Store
from airflow_dataflow_provider.spark.delays import Observation
from airflow_dataflow_provider.spark.frames import to_blob, write_parquet
from airflow_dataflow_provider.spark.hashing import partition_of
from airflow_dataflow_provider.spark.kernel.kernel import END, START, Kernel, kernel_for, window_end, window_start
from airflow_dataflow_provider.spark.reading import ARRIVAL, EVENT, Schema, read
from airflow_dataflow_provider.spark.worker import settle

if TYPE_CHECKING:
    from pyspark.sql import Row

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.model.time import Micros

Shuffled = tuple[int, tuple[str, bytes]]
"""What goes through the shuffle: a state partition, and a blob of partial accumulators with the first file that it
comes from; or, for partition 0, :data:`REPORT` and what the task saw."""
REPORT = ""
_CHUNK_BYTES = 128 * 2**20
"""Files are combined together until this many bytes of them; then what they came to is sent off."""

EXPIRED_FOLDER, REJECTED_FOLDER = "expired", "rejected"


@dataclass(frozen=True)
class MapSide:
    """What every map task of an epoch needs; Spark sends it to the workers.

    Args:
        pipeline: what to read and how to group.
        schema: the types of the columns that are read.
        partitions: the number of state partitions.
        state_url: where expired and rejected rows are written.
        epoch: whose they are.
        now: processing time of the epoch.
        horizon: the ordinary watermark by which elements are late or expired.
        combining: combine before the shuffle. Where nearly every row has a key and window of its own it does not pay.
        window_ends: an interval epoch takes only windows whose end lies in ``(from, to]``; None: all.
    """

    pipeline: Pipeline
    schema: Schema
    partitions: int
    state_url: str
    epoch: int
    now: Micros
    horizon: Micros
    combining: bool = True
    window_ends: tuple[Micros, Micros] | None = None

    @property
    def _kernel(self) -> Kernel:
        return kernel_for(self.pipeline.grouping, self.schema)

    def run_task(self, listed: Iterable[Row]) -> Iterator[Shuffled]:
        """The files of one task in (``path``, ``length``); what goes to each partition, and the task's report, out."""
        settle()
        report = Report()
        chunk: list[str] = []
        size = 0
        for file in sorted(listed, key=itemgetter("path")):
            chunk.append(file["path"])
            size += file["length"]
            if size >= _CHUNK_BYTES:
                yield from self._send(chunk, report)
                chunk, size = [], 0
        if chunk:
            yield from self._send(chunk, report)
        if report.files:
            yield 0, (REPORT, json.dumps(report.to_json()).encode())

    def _send(self, paths: list[str], report: Report) -> Iterator[Shuffled]:
        rows = self.read(paths, report)
        for partition, partials in self.combine(rows, report):
            yield partition, (paths[0], to_blob(partials))

    def read(self, paths: list[str], report: Report) -> pl.DataFrame:
        """The good rows of some files; the others are set aside."""
        source = self.pipeline.source
        if not isinstance(source, Files):  # the plan was checked before it was sent here
            raise TypeError(source)
        frames = []
        for path in paths:
            found = read(source, self.schema, path, self.now, self._between())
            frames.append(found.rows)
            report.files.append(path)
            report.read += len(found.rejected)
            if len(found.rejected):
                report.rejected += len(found.rejected)
                report.rejected_files.append(self._set_aside(REJECTED_FOLDER, found.rejected))
        return pl.concat(frames)

    def _between(self) -> tuple[Micros, Micros] | None:
        """The event times that windows of the interval can have."""
        if self.window_ends is None or not isinstance(window := self.pipeline.grouping.window, FixedWindows):
            return None
        return self.window_ends[0] - window.size, self.window_ends[1]

    def combine(self, rows: pl.DataFrame, report: Report) -> Iterator[tuple[int, pl.DataFrame]]:
        """The partial accumulators of some rows by state partition: one row a key and window."""
        rows = self._assigned(rows)
        report.read += len(rows)
        if not len(rows):
            return
        if self.window_ends is None:
            policy = self.pipeline.source.watermark
            seen = Observation.of(policy, rows[EVENT].to_numpy(), rows[ARRIVAL].to_numpy(), self.now)
            report.observation = report.observation.merged(seen, policy.horizons)
        rows = self._without_expired(rows, report)
        kernel = self._kernel
        if self.combining:
            partials = rows.group_by(kernel.by).agg(kernel.aggregates.make())
        else:
            partials = rows.select(*kernel.by, *kernel.aggregates.lift())
        home = partition_of([partials[column] for column in self.pipeline.grouping.key], self.partitions)
        partials = partials[np.argsort(home, kind="stable")]
        bounds = np.searchsorted(np.sort(home), np.arange(self.partitions + 1))
        for partition in range(self.partitions):
            start, stop = int(bounds[partition]), int(bounds[partition + 1])
            if stop > start:
                yield partition, partials[start:stop]

    def _assigned(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with their windows: ``AssignWindows``, column-wise."""
        window = self.pipeline.grouping.window
        rows = rows.with_columns(pl.Series(START, window_start(window, rows[EVENT].to_numpy())))
        rows = rows.with_columns(window_end(window, pl.col(START)).alias(END))
        if self.window_ends is not None:
            after, until = self.window_ends
            rows = rows.filter((pl.col(END) > after) & (pl.col(END) <= until))
        return rows

    def _without_expired(self, rows: pl.DataFrame, report: Report) -> pl.DataFrame:
        if self.horizon == MIN_TIME or not len(rows):
            return rows
        end = rows[END].to_numpy()
        expired = end <= expired_until(self.horizon, self.pipeline.grouping.allowed_lateness)
        report.late += int((end <= self.horizon).sum()) - int(expired.sum())
        if not expired.any():
            return rows
        lost = rows.filter(expired)
        report.expired += len(lost)
        moment = pl.Datetime("us", "UTC")
        finite = pl.col(END) < MAX_TIME
        lost = lost.select(
            pl.exclude(EVENT, ARRIVAL, START, END),
            pl.col(EVENT).cast(moment).alias("_event_time"),
            pl.col(ARRIVAL).cast(moment).alias("_arrival_time"),
            pl.when(finite).then(pl.col(START)).cast(moment).alias("_window_start"),
            pl.when(finite).then(pl.col(END)).cast(moment).alias("_window_end"),
            pl.lit(self.horizon).cast(moment).alias("_watermark"),
            (pl.col(ARRIVAL) - pl.col(EVENT)).cast(pl.Duration("us")).alias("_delay"),
            pl.lit("the window had expired").alias("_reason"),
        )
        report.expired_files.append(self._set_aside(EXPIRED_FOLDER, lost))
        return rows.filter(~expired)

    def _set_aside(self, folder: str, rows: pl.DataFrame) -> str:
        name = f"{self.epoch:012d}/{uuid.uuid4().hex}.parquet"
        write_parquet(Store.open(self.state_url), f"{folder}/{name}", rows)
        return name


class Report:
    """What one map task, or all of them together, saw."""

    def __init__(self) -> None:
        self.read = self.late = self.expired = self.rejected = 0
        self.files: list[str] = []
        self.expired_files: list[str] = []
        self.rejected_files: list[str] = []
        self.observation = Observation()

    def add(self, document: dict[str, Any], horizons: tuple[Micros, ...]) -> None:
        """Add another task's :meth:`to_json`."""
        for name in ("read", "late", "expired", "rejected"):
            setattr(self, name, getattr(self, name) + document[name])
        self.files += document["files"]
        self.expired_files += document["expired_files"]
        self.rejected_files += document["rejected_files"]
        self.observation = self.observation.merged(Observation.from_json(document["observation"]), horizons)

    def to_json(self) -> dict[str, Any]:
        """For the way to the driver."""
        return {
            "files": self.files, "read": self.read, "late": self.late, "expired": self.expired,
            "rejected": self.rejected, "expired_files": self.expired_files, "rejected_files": self.rejected_files,
            "observation": self.observation.to_json(),
        }  # fmt: skip
