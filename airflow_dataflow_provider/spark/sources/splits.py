"""The input of one epoch over data: its splits, and how long they are waited for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_dataflow_provider.model.file_formats import compression_of
from airflow_dataflow_provider.progress.log.split import Split

if TYPE_CHECKING:
    from pyspark.core.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

_TASK_BYTES = 64 * 2**20
"""A task reads about so much, where there is more than a task for each core."""
_EXPANSION = 8
"""What a byte of compressed text becomes, about."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Splits that a job is to read, by tasks."""

    spark: SparkSession
    tasks: tuple[tuple[Split, ...], ...]

    @classmethod
    def of(cls, spark: SparkSession, splits: Sequence[Split]) -> Reading:
        """Give splits to as many tasks as it takes to keep every core busy."""
        return cls(spark, in_tasks(splits, spark.sparkContext.defaultParallelism))

    @property
    def rdd(self) -> RDD[tuple[Split, ...]]:
        """For Python workers: one element, with all its splits, a task."""
        return self.spark.sparkContext.parallelize(self.tasks, max(1, len(self.tasks)))

    @property
    def frame(self) -> DataFrame:
        """For Spark's expressions: one row a split."""
        rows = self.rdd.flatMap(lambda splits: [tuple(split) for split in splits])
        return self.spark.createDataFrame(rows, "path string, size long, modified long")


def in_tasks(splits: Sequence[Split], cores: int) -> tuple[tuple[Split, ...], ...]:
    """Splits by tasks of about the same size; the same splits give the same tasks."""
    wanted = max(cores, -(-sum(map(expected_bytes, splits)) // _TASK_BYTES))
    tasks: list[list[Split]] = [[] for _ in range(min(len(splits), wanted))]
    lightest = [(0, number) for number in range(len(tasks))]
    for split in sorted(splits, key=lambda split: (-expected_bytes(split), split.path)):
        size, number = heapq.heappop(lightest)
        tasks[number].append(split)
        heapq.heappush(lightest, (size + expected_bytes(split), number))
    return tuple(tuple(sorted(task)) for task in tasks)


def expected_bytes(split: Split) -> int:
    """The bytes of a split once it is decompressed, about; an empty file is work, too."""
    return max(1, split.size) * (_EXPANSION if compression_of(split.path) else 1)


MapStep = Callable[[Reading], "RDD[Shuffled]"]
"""The map side of some splits, not computed yet."""


class Input(Protocol):
    """The splits of an epoch, and how long they are waited for."""

    @property
    def splits(self) -> tuple[Split, ...]:
        """What is to be read."""

    def at_least(self) -> tuple[Split, ...]:
        """The splits that are read where none is slower than another."""

    def mapped(self, spark: SparkSession, step: MapStep) -> AbstractContextManager[RDD[Any]]:
        """What the map side makes of them."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All splits, however long it takes.

    Args:
        splits: what is to be read.
    """

    splits: tuple[Split, ...]

    def at_least(self) -> tuple[Split, ...]:
        """All of them."""
        return self.splits

    def mapped(self, spark: SparkSession, step: MapStep) -> AbstractContextManager[RDD[Any]]:
        """One job for all of them."""
        return nullcontext(step(Reading.of(spark, self.splits)))
