"""The map side: paths go in, packed partial accumulators come out, one blob a state partition.

One vectorised pass over each file: read, set malformed rows aside, assign windows, send elements of expired windows to
the late output, combine what is left by key and window, pack by state partition. Rows that cannot go on are written to
files of this task; which of them count is said by the epoch log.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.progress.log.row_counts import RowCounts, commonest
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.numbered import epoch_name
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.progress.upkeep.set_aside import EXPIRED_FOLDER, REJECTED_FOLDER
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, END, EVENT, SIGN, START
from airflow_dataflow_provider.spark.kernel.late_check import LateCheck
from airflow_dataflow_provider.spark.map_side.map_report import MapReport
from airflow_dataflow_provider.spark.par_do.par_do import apply
from airflow_dataflow_provider.spark.sources.file_systems import away, is_there
from airflow_dataflow_provider.spark.sources.reading import read
from airflow_dataflow_provider.spark.sources.splits import expected_bytes
from airflow_dataflow_provider.spark.stages.partitioner import Partitioner
from airflow_dataflow_provider.spark.tasks.shuffled import MESSAGE
from airflow_dataflow_provider.spark.tasks.task_errors import from_bytes, to_bytes, with_error_to_all
from airflow_dataflow_provider.spark.tasks.worker import freeze_imports
from airflow_dataflow_provider.spark.values.frames import to_blob, write_parquet
from airflow_dataflow_provider.spark.values.type_table import Schema
from airflow_dataflow_provider.spark.watermark.delays import Observation

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.model.watermark_policies import WatermarkPolicy
    from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

_CHUNK_BYTES = 16 * 2**20
"""Files are combined together until this many bytes of them; then what they came to is sent off."""


@dataclass(frozen=True)
class MapSide:
    """The map tasks of an epoch; Spark sends it to the workers."""

    context: EpochContext

    hidden: ClassVar[Schema] = {EVENT: pl.Int64(), ARRIVAL: pl.Int64()}
    """The hidden columns of what :meth:`read_task` gives."""

    def run_task(self, tasks: Iterable[tuple[Split, ...]]) -> Iterator[Shuffled]:
        """Read the splits of one task; send rows to each state partition, and the task's report."""
        freeze_imports()
        yield from with_error_to_all(MapTask(self.context).run(tasks), self.context.partitions)

    def read_task(self, listed: Iterable[Mapping[str, Any]]) -> Iterator[pl.DataFrame | bytes]:
        """Read the files of one task, as elements on their way through Spark's expressions, and a report."""
        freeze_imports()
        task = MapTask(self.context)
        for split in sorted(Split(**row) for row in listed):
            rows = task.read([split])
            if rows is not None:
                task.observe(rows)
                yield rows
        yield to_bytes(task.report)

    def send_task(self, passed: Iterable[pl.DataFrame | bytes]) -> Iterator[Shuffled]:
        """Take the elements and reports that come back from there; send them as :meth:`run_task` does."""
        yield from with_error_to_all(MapTask(self.context).send(passed), self.context.partitions)


class MapTask:
    """One map task.

    Args:
        context: of the epoch.
    """

    def __init__(self, context: EpochContext) -> None:
        self._context = context
        self.report = MapReport()
        """The task's report so far."""

    def run(self, tasks: Iterable[tuple[Split, ...]]) -> Iterator[Shuffled]:
        """Read splits, some megabytes at a time, and send what they come to."""
        chunk: list[Split] = []
        size = 0
        for split in sorted(chain.from_iterable(tasks)):
            chunk.append(split)
            size += expected_bytes(split)
            if size >= _CHUNK_BYTES:
                yield from self._run_chunk(chunk)
                chunk, size = [], 0
        if chunk:
            yield from self._run_chunk(chunk)
        if self.report.files:
            yield 0, (MESSAGE, to_bytes(self.report))

    def _run_chunk(self, splits: list[Split]) -> Iterator[Shuffled]:
        rows = self.read(splits)
        if rows is None:
            return
        for partition, frame in self.combine(rows):
            yield partition, (splits[0].path, to_blob(frame))

    def send(self, passed: Iterable[pl.DataFrame | bytes]) -> Iterator[Shuffled]:
        """Send elements that were read before, and the reports about them."""
        from pyspark import TaskContext  # noqa: PLC0415 - only within a task

        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        for number, each in enumerate(passed):
            if isinstance(each, bytes):
                from_bytes(each)  # it raises, if it is an error
                yield 0, (MESSAGE, each)
                continue
            for partition, frame in self.place(each):
                yield partition, (f"{task:06d}-{number:06d}", to_blob(frame))
        yield 0, (MESSAGE, to_bytes(self.report))

    def read(self, splits: list[Split]) -> pl.DataFrame | None:
        """The good rows of some splits; the others are set aside. None where none of the splits is there."""
        context, source = self._context, self._context.stages.pipeline.source
        if not isinstance(source, Files):  # the plan was checked before it was sent here
            raise TypeError(source)
        now, between = context.time.clock.processing_time, self._between()
        frames, files, rejected_files = list[pl.DataFrame](), list[str](), list[WrittenFile]()
        accepted, reasons = 0, Counter[str]()
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
            files.append(split.path)
            accepted += len(found.rows) + is_partly_read
            if len(found.rejected):
                reasons.update(dict(found.rejected["_reason"].value_counts().iter_rows()))
                rejected_files.append(set_aside(context.state_url, REJECTED_FOLDER, context.epoch, found.rejected))
        counts = RowCounts(reasons.total(), rejected=reasons.total(), reasons=commonest(reasons))
        self._count(MapReport(counts, accepted, tuple(files), rejected_files=tuple(rejected_files)))
        return pl.concat(frames) if frames else None

    def _between(self) -> tuple[Micros, Micros] | None:
        """The event times that windows of the interval can have."""
        stages, interval = self._context.stages, self._context.interval
        grouping = stages.pipeline.groupings[0]
        if interval is None or grouping.window.merges or grouping.window.longest is None:
            return None
        if grouping.par_dos or len(stages) > 1:
            return None
        return interval.start - grouping.window.longest, interval.end

    def combine(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Some rows of the source by state partition, combined where that pays."""
        if not len(rows):
            return
        self.observe(rows)
        yield from self.place(apply(self._context.stages.pipeline.groupings[0].par_dos, rows))

    def observe(self, rows: pl.DataFrame) -> None:
        """Count what was read, and learn how late it is. An interval counts its rows later, and teaches nothing."""
        if self._context.interval is None and len(rows):
            policy, now = self._policy, self._context.time.clock.processing_time
            seen = Observation.of(policy, rows[EVENT].to_numpy(), rows[ARRIVAL].to_numpy(), now)
            self._count(MapReport(RowCounts(len(rows), implausible=len(rows) - seen.count), observation=seen))

    def place(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Elements as they come to the first grouping, by state partition."""
        context = self._context
        kernel, only_stage = context.stages.kernel(0), len(context.stages) == 1
        interval = context.interval if only_stage else None
        check = LateCheck(context.time.horizon, kernel.grouping.allowed_lateness, interval)
        with sums_that_fit():
            yield from Partitioner(kernel, context.partitions, check, context.combining).split(rows)
        read = 0 if context.interval is None else check.windowed
        expired, files = 0, list[WrittenFile]()
        if check.expired is not None:
            expired = len(check.expired)
            files.append(set_expired_aside(context, check.expired, context.time.horizon))
        self._count(MapReport(RowCounts(read, check.late, expired), expired_files=tuple(files)))

    @property
    def _policy(self) -> WatermarkPolicy:
        return self._context.stages.pipeline.source.watermark

    def _count(self, more: MapReport) -> None:
        self.report = self.report.merged(more, self._policy)


def set_expired_aside(context: EpochContext, rows: pl.DataFrame, horizon: Micros) -> WrittenFile:
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


def set_aside(state_url: str, folder: str, epoch: int, rows: pl.DataFrame) -> WrittenFile:
    """Write rows that cannot go on to a file of its own within a folder."""
    name = f"{epoch_name(epoch)}/{uuid.uuid4().hex}.parquet"
    return write_parquet(Store.open(state_url), folder, name, rows)
