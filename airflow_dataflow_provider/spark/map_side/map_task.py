"""The map side: paths go in, packed partial accumulators come out, one blob a state partition.

One vectorised pass over each file: read, set malformed rows aside, assign windows, send elements of expired windows to
the late output, combine what is left by key and window, pack by state partition. Rows that cannot go on are written to
files of this task; which of them count is said by the epoch log.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.progress.log.row_counts import commonest
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.upkeep.set_aside import EXPIRED_FOLDER, REJECTED_FOLDER
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, END, EVENT, SIGN, START
from airflow_dataflow_provider.spark.kernel.late_check import LateCheck
from airflow_dataflow_provider.spark.par_do.par_do import apply
from airflow_dataflow_provider.spark.sources.file_systems import away, is_there
from airflow_dataflow_provider.spark.sources.reading import read
from airflow_dataflow_provider.spark.stages.partitioner import Partitioner
from airflow_dataflow_provider.spark.tasks.task_errors import raise_reported, to_every_partition
from airflow_dataflow_provider.spark.tasks.worker import freeze_imports
from airflow_dataflow_provider.spark.values.frames import to_blob, write_parquet
from airflow_dataflow_provider.spark.values.type_table import Schema
from airflow_dataflow_provider.spark.watermark.delays import Observation

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.model.watermark_policies import WatermarkPolicy
    from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

REPORT = ""
"""In the place of a blob's origin: the blob says what the task saw."""
_CHUNK_BYTES = 16 * 2**20
"""Files are combined together until this many bytes of them; then what they came to is sent off."""


@dataclass(frozen=True)
class MapSide:
    """Every map task of an epoch."""

    context: EpochContext

    def run_task(self, tasks: Iterable[tuple[Split, ...]]) -> Iterator[Shuffled]:
        """The splits of one task in; what goes to each partition, and the task's report, out."""
        freeze_imports()
        yield from to_every_partition(self._run(tasks), self.context.partitions)

    def _run(self, tasks: Iterable[tuple[Split, ...]]) -> Iterator[Shuffled]:
        report = Report()
        chunk: list[Split] = []
        size = 0
        for split in sorted(chain.from_iterable(tasks)):
            chunk.append(split)
            size += split.size
            if size >= _CHUNK_BYTES:
                yield from self._send(chunk, report)
                chunk, size = [], 0
        if chunk:
            yield from self._send(chunk, report)
        if report.files:
            yield 0, (REPORT, json.dumps(report.to_json()).encode())

    def _send(self, splits: list[Split], report: Report) -> Iterator[Shuffled]:
        rows = self.read(splits, report)
        if rows is None:
            return
        for partition, frame in self.combine(rows, report):
            yield partition, (splits[0].path, to_blob(frame))

    hidden: ClassVar[Schema] = {EVENT: pl.Int64(), ARRIVAL: pl.Int64()}
    """The hidden columns of what :meth:`read_task` gives."""

    def read_task(self, listed: Iterable[Mapping[str, Any]]) -> Iterator[pl.DataFrame | bytes]:
        """The files of one task, as elements on their way through Spark's expressions, and a report."""
        freeze_imports()
        report = Report()
        for split in sorted(Split(**row) for row in listed):
            rows = self.read([split], report)
            if rows is not None:
                self._observe(rows, report)
                yield rows
        yield json.dumps(report.to_json()).encode()

    def send_task(self, passed: Iterable[pl.DataFrame | bytes]) -> Iterator[Shuffled]:
        """What comes back from there; what goes to each partition, and the reports, out."""
        yield from to_every_partition(self._send_passed(passed), self.context.partitions)

    def _send_passed(self, passed: Iterable[pl.DataFrame | bytes]) -> Iterator[Shuffled]:
        from pyspark import TaskContext  # noqa: PLC0415 - only within a task

        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        report = Report()
        for number, each in enumerate(passed):
            if isinstance(each, bytes):
                raise_reported(each)
                yield 0, (REPORT, each)
                continue
            for partition, frame in self.place(each, report):
                yield partition, (f"{task:06d}-{number:06d}", to_blob(frame))
        yield 0, (REPORT, json.dumps(report.to_json()).encode())

    def read(self, splits: list[Split], report: Report) -> pl.DataFrame | None:
        """The good rows of some splits; the others are set aside. None where none of the splits is there."""
        context, source = self.context, self.context.stages.pipeline.source
        if not isinstance(source, Files):  # the plan was checked before it was sent here
            raise TypeError(source)
        now, between = context.time.clock.processing_time, self._between()
        frames = []
        # Rows that Parquet's statistics rule out are neither counted nor known to be good.
        is_partly_read = between is not None and source.format == "parquet"
        for split in splits:
            if not is_there(split):
                if context.interval is not None:
                    raise away(split)
                continue  # the commit leaves it out by name
            found = read(source, context.stages.source, split.path, now, between)
            is_there(split)  # it may have been replaced meanwhile; if it is away now, all of it was read before
            frames.append(found.rows)
            report.files.append(split.path)
            report.read += len(found.rejected)
            report.accepted += len(found.rows) + is_partly_read
            if len(found.rejected):
                report.rejected += len(found.rejected)
                report.reasons.update(found.rejected["_reason"])
                file = set_aside(context.state_url, REJECTED_FOLDER, context.epoch, found.rejected)
                report.rejected_files.append(file)
        return pl.concat(frames) if frames else None

    def _between(self) -> tuple[Micros, Micros] | None:
        """The event times that windows of the interval can have."""
        stages, interval = self.context.stages, self.context.interval
        grouping = stages.pipeline.groupings[0]
        if interval is None or grouping.window.merges or grouping.window.longest is None:
            return None
        if grouping.par_dos or len(stages) > 1:
            return None
        return interval.start - grouping.window.longest, interval.end

    def combine(self, rows: pl.DataFrame, report: Report) -> Iterator[tuple[int, pl.DataFrame]]:
        """What goes to each state partition of some rows of the source."""
        if not len(rows):
            return
        self._observe(rows, report)
        yield from self.place(apply(self.context.stages.pipeline.groupings[0].par_dos, rows), report)

    def _observe(self, rows: pl.DataFrame, report: Report) -> None:
        """Count what was read, and learn how late it is; an interval knows its own, and teaches nothing."""
        if self.context.interval is None and len(rows):
            policy = self.context.stages.pipeline.source.watermark
            now = self.context.time.clock.processing_time
            seen = Observation.of(policy, rows[EVENT].to_numpy(), rows[ARRIVAL].to_numpy(), now)
            report.observation = report.observation.merged(seen, policy)
            report.implausible += len(rows) - seen.count
            report.read += len(rows)

    def place(self, rows: pl.DataFrame, report: Report) -> Iterator[tuple[int, pl.DataFrame]]:
        """What goes to each state partition of some elements as they come to the first grouping."""
        context = self.context
        kernel, only_stage = context.stages.kernel(0), len(context.stages) == 1
        interval = context.interval if only_stage else None
        check = LateCheck(context.time.horizon, kernel.grouping.allowed_lateness, interval)
        with sums_that_fit():
            yield from Partitioner(kernel, context.partitions, check, context.combining).split(rows)
        if context.interval is not None:
            report.read += check.windowed
        report.late += check.late
        if check.expired is not None:
            report.expired += len(check.expired)
            report.expired_files.append(set_expired_aside(context, check.expired, context.time.horizon))


def set_expired_aside(context: EpochContext, rows: pl.DataFrame, horizon: Micros) -> Json:
    """Write elements that no window took to the late output, with their windows, delays and the reason."""
    moment = pl.Datetime("us", "UTC")
    finite = pl.col(END) < MAX_TIME
    lost = rows.select(
        *(name for name in rows.columns if not name.startswith("_")),
        pl.col(EVENT).cast(moment).alias("_event_time"),
        pl.col(ARRIVAL).cast(moment).alias("_arrival_time"),
        pl.when(finite).then(pl.col(START)).cast(moment).alias("_window_start"),
        pl.when(finite).then(pl.col(END)).cast(moment).alias("_window_end"),
        pl.lit(horizon if horizon < MAX_TIME else None).cast(moment).alias("_watermark"),
        (pl.col(ARRIVAL) - pl.col(EVENT)).cast(pl.Duration("us")).alias("_delay"),
        (pl.col(SIGN) < 0 if SIGN in rows.columns else pl.lit(value=False)).alias("_is_retraction"),
        pl.lit("the window had expired").alias("_reason"),
    )
    return set_aside(context.state_url, EXPIRED_FOLDER, context.epoch, lost)


def set_aside(state_url: str, folder: str, epoch: int, rows: pl.DataFrame) -> Json:
    """Write rows that cannot go on to a file of its own; the answer names it within the folder, for the epoch log."""
    name = f"{epoch:012d}/{uuid.uuid4().hex}.parquet"
    return write_parquet(Store.open(state_url), folder, name, rows).to_json()


class Report:
    """What one map task, or all of them together, saw.

    ``accepted`` is 0 only if no row that was looked at is an element. ``read`` counts elements and rejected rows; of an
    interval only the elements in its windows.
    """

    def __init__(self) -> None:
        self.read = self.late = self.expired = self.rejected = self.accepted = self.implausible = 0
        self.reasons = Counter[str]()
        self.files: list[str] = []
        self.expired_files: list[Json] = []
        self.rejected_files: list[Json] = []
        self.observation = Observation()

    def add(self, document: dict[str, Any], policy: WatermarkPolicy) -> None:
        """Add another task's :meth:`to_json`."""
        for name in ("read", "late", "expired", "rejected", "accepted", "implausible"):
            setattr(self, name, getattr(self, name) + document[name])
        self.reasons.update(document["reasons"])
        self.files += document["files"]
        self.expired_files += document["expired_files"]
        self.rejected_files += document["rejected_files"]
        self.observation = self.observation.merged(Observation.from_json(document["observation"]), policy)

    def to_json(self) -> dict[str, Any]:
        """For the way to the driver."""
        return {
            "files": self.files, "read": self.read, "late": self.late, "expired": self.expired,
            "rejected": self.rejected, "accepted": self.accepted, "implausible": self.implausible,
            "reasons": dict(commonest(self.reasons)),
            "expired_files": self.expired_files, "rejected_files": self.rejected_files,
            "observation": self.observation.to_json(),
        }  # fmt: skip
