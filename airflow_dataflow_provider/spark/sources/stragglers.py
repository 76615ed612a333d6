"""Reading a share of the input without waiting for stragglers: the policy ``input_share``.

Every piece of the input is a Spark job of its own, on a thread of its own. Once the finished pieces are a large enough
share, by bytes, the other jobs are cancelled, also those whose task hangs in a read. The epoch continues with the map
side's results of the finished pieces, which the workers keep.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from airflow_dataflow_provider.progress.log.left_out import LeftOut, counted_bytes, input_bytes
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.spark.sources.splits import MapStep, Reading

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

_MOST_PIECES = 256
"""Jobs of an epoch. Of more files than this, several are one piece, which comes in or is left out as a whole."""
_AT_HAND = 2
"""Jobs that wait for a core, so that none is idle while the driver starts another."""
_AGAIN_AFTER = 0.1
"""Seconds between two cancellations: a job that was about to start is met by the next one."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of some splits that makes up a share of the input.

    Args:
        splits: splits that exist and are unread.
        of: the bytes of the whole input.
        share: the share of the input to wait for, above 0 and at most 1.
        away: the bytes of the input that do not exist at the moment.
    """

    splits: tuple[Split, ...]
    of: int
    share: float
    away: int = 0

    @classmethod
    def over(cls, splits: tuple[Split, ...], before: LeftOut | None, share: float) -> Self:
        """The share of a batch's input (:func:`~airflow_dataflow_provider.progress.log.left_out.input_bytes`).

        Args:
            splits: splits that exist and are unread.
            before: splits that an earlier batch left out.
            share: the share of the input to wait for.
        """
        there = {split.path for split in splits}
        old = () if before is None else before.files
        away = counted_bytes(split for split in old if split.path not in there)
        return cls(splits, input_bytes(before, splits), share, away)

    @property
    def enough(self) -> int:
        """The bytes of ``splits`` that are waited for; none or less where the share is read already."""
        read = self.of - counted_bytes(self.splits) - self.away
        return math.ceil(self.of * Fraction(str(self.share))) - read

    def at_least(self) -> tuple[Split, ...]:
        """As many of them, in their order, as are enough."""
        enough, taken = self.enough, list[Split]()
        for split in self.splits:
            if enough <= 0:
                break
            taken.append(split)
            enough -= counted_bytes((split,))
        return tuple(taken)

    @contextmanager
    def mapped(self, spark: SparkSession, step: MapStep) -> Iterator[RDD[Shuffled]]:
        """What the map side made of the pieces that came in first. It is forgotten when the context is left."""
        length = max(1, -(-len(self.splits) // _MOST_PIECES))
        pieces = [self.splits[start : start + length] for start in range(0, len(self.splits), length)]
        context, kept = spark.sparkContext, list["RDD[Shuffled]"]()
        try:
            came_in = _first(spark, step, pieces, self.enough, kept)
            # What goes on is a few tasks again: a task for each piece would cost more than its work.
            together = context.union(came_in) if came_in else context.parallelize((), 1)
            yield together.coalesce(context.defaultParallelism)
        finally:
            for one in kept:
                one.unpersist()


def _first(
    spark: SparkSession, step: MapStep, pieces: Sequence[tuple[Split, ...]], enough: int, kept: list[RDD[Shuffled]]
) -> list[RDD[Shuffled]]:
    """Compute pieces until they are enough, and cancel the rest.

    Args:
        spark: where.
        step: the map side.
        pieces: of which files.
        enough: how many bytes.
        kept: is given whatever is kept on the workers.

    Returns:
        What the map side made of those that came in, each kept where it was computed.

    Raises:
        Py4JJavaError: the first piece that failed by itself: what cannot be read is not a straggler.
    """
    from pyspark import StorageLevel  # noqa: PLC0415 - how much is enough needs no Spark

    context, group = spark.sparkContext, f"dataflow-share-{uuid.uuid4().hex[:8]}"

    def compute(piece: tuple[Split, ...]) -> RDD[Shuffled]:
        context.setJobGroup(group, "a piece of the input", interruptOnCancel=True)
        mapped = step(Reading(spark, (piece,))).persist(StorageLevel.MEMORY_AND_DISK)
        kept.append(mapped)
        mapped._jrdd.count()  # noqa: SLF001 - counted by the JVM, without another worker
        return mapped

    with ThreadPoolExecutor(context.defaultParallelism + _AT_HAND, "dataflow-share") as pool:
        jobs = {pool.submit(compute, piece): counted_bytes(piece) for piece in pieces if enough > 0}
        try:
            for job in as_completed(jobs):
                job.result()
                enough -= jobs[job]
                if enough <= 0:
                    break
        finally:
            _cancel(context, group, jobs)
    # Also those that ended well while they were cancelled.
    return [job.result() for job in jobs if not job.cancelled() and job.exception() is None]


def _cancel(context: SparkContext, group: str, jobs: Collection[Future[RDD[Shuffled]]]) -> None:
    going = {job for job in jobs if not job.cancel() and not job.done()}
    while going:
        context.cancelJobGroup(group)
        going = wait(going, timeout=_AGAIN_AFTER).not_done
