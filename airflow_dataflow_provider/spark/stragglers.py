"""A share of the input, without waiting for its stragglers: the batch percentile.

Every piece of the input is a Spark job of its own, on a thread of its own. Once the pieces that came in are a large
enough share, by bytes, the other jobs are cancelled, also those whose task hangs in a read; the epoch goes on with what
the map side made of the former, which has waited on the workers.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.left_out import LeftOut, Split
from airflow_dataflow_provider.spark.splits import MapTask, as_listed

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

    from airflow_dataflow_provider.spark.map_side import Shuffled

_MOST_PIECES = 256
"""Jobs of an epoch. Of more files than this, several are one piece, which comes in or is left out as a whole."""
_AT_HAND = 2
"""Jobs that wait for a core, so that none is idle while the driver starts another."""
_AGAIN_AFTER = 0.1
"""Seconds between two cancellations: a job that was about to start is met by the next one."""


@dataclass(frozen=True, slots=True)
class Share:
    """As much of some files as makes a share of the input.

    Args:
        splits: the files that are not read yet.
        of: the bytes of the whole input that they are part of.
        percentile: how much of it is waited for.
    """

    splits: tuple[Split, ...]
    of: int
    percentile: float

    @classmethod
    def over(cls, handed_out: DataFrame | None, before: LeftOut | None, percentile: float) -> Self:
        """The share of a batch's input.

        That is what Spark hands out and what was left out before. Where there is nothing new, it is the input of the
        batch that left it out: a run that is repeated goes on where the first one stood.
        """
        listed = [] if handed_out is None else handed_out.collect()
        new = tuple((row["path"], max(1, row["length"])) for row in listed)
        old = () if before is None else before.files
        input_of = before.of if before is not None and not new else sum(size for _, size in (*old, *new))
        return cls((*old, *new), input_of, percentile)

    @property
    def enough(self) -> int:
        """The bytes of ``splits`` that are waited for; none or less where the share is read already."""
        read = self.of - sum(size for _, size in self.splits)
        return math.ceil(self.of * self.percentile / 100) - read

    @contextmanager
    def mapped(self, context: SparkContext, task: MapTask) -> Iterator[RDD[Shuffled]]:
        """What the map side made of the pieces that came in first. It is forgotten when the context is left."""
        step = max(1, -(-len(self.splits) // _MOST_PIECES))
        pieces = [self.splits[start : start + step] for start in range(0, len(self.splits), step)]
        mapped = [_mapped(context, piece, task) for piece in pieces]
        try:
            came_in = _first(context, mapped, [sum(size for _, size in piece) for piece in pieces], self.enough)
            yield context.union(came_in) if came_in else context.parallelize((), 1)
        finally:
            for one in mapped:
                one.unpersist()

    def listing(self, spark: SparkSession) -> DataFrame:
        """Not for a share: what goes through Spark's expressions is one job, and that ends with its last file.

        Raises:
            SubmissionError: ``SUBMIT_PERCENTILE``.
        """
        del spark
        raise SubmissionError(
            "a batch percentile was given, and a step of the pipeline is of Spark's own expressions",
            why="elements go through them in one job, which waits for its last file",
            todo="run without a percentile, or write the step as Vectorised",
            code="SUBMIT_PERCENTILE",
        )

    def left_out(self, read: Collection[str]) -> LeftOut | None:
        """The splits that are not among the files that were read."""
        known = set(read)
        left = tuple(split for split in self.splits if split[0] not in known)
        return LeftOut(left, self.of) if left else None


def _mapped(context: SparkContext, piece: Sequence[Split], task: MapTask) -> RDD[Shuffled]:
    """The map side of one piece, to be kept where it is computed."""
    from pyspark import StorageLevel  # noqa: PLC0415 - the plan of a share needs no Spark

    return context.parallelize(as_listed(piece), 1).mapPartitions(task).persist(StorageLevel.MEMORY_AND_DISK)


def _first(context: SparkContext, mapped: Sequence[RDD[Any]], sizes: Sequence[int], enough: int) -> list[RDD[Any]]:
    """Compute pieces until they are enough, and cancel the rest.

    Raises:
        Py4JJavaError: the first piece that failed by itself: what cannot be read is not a straggler.
    """
    group = f"dataflow-share-{uuid.uuid4().hex[:8]}"

    def compute(index: int) -> int:
        context.setJobGroup(group, "a piece of the input", interruptOnCancel=True)
        mapped[index]._jrdd.count()  # noqa: SLF001 - counted by the JVM, without a worker
        return index

    with ThreadPoolExecutor(context.defaultParallelism + _AT_HAND, "dataflow-share") as pool:
        jobs: list[Future[int]] = [pool.submit(compute, index) for index in range(len(mapped)) if enough > 0]
        try:
            for job in as_completed(jobs):
                enough -= sizes[job.result()]
                if enough <= 0:
                    break
        finally:
            _cancel(context, group, jobs)
    return [one for one, job in zip(mapped, jobs, strict=False) if _has_come_in(job)]


def _has_come_in(job: Future[int]) -> bool:
    """Also one that ended well while it was cancelled."""
    return not job.cancelled() and job.exception() is None


def _cancel(context: SparkContext, group: str, jobs: Sequence[Future[int]]) -> None:
    going = {job for job in jobs if not job.cancel() and not job.done()}
    while going:
        context.cancelJobGroup(group)
        going = wait(going, timeout=_AGAIN_AFTER).not_done
