"""The input of one epoch: the files that Spark hands out, and those that an earlier batch left out.

An epoch over data reads both, always. So what is left out after an epoch follows from the epoch log alone, and each
file is read exactly once, whichever mode comes next and wherever a driver crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_dataflow_provider.progress.left_out import LeftOut, Split

if TYPE_CHECKING:
    from pyspark.core.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

    from airflow_dataflow_provider.spark.map_side import Shuffled


@dataclass(frozen=True, slots=True)
class Listing:
    """Files that a job is to read: ``path`` and ``length``, by tasks.

    Args:
        spark: whose job it is.
        handed_out: as Spark lists them, in its tasks; None: no such ones.
        named: others, by name.
        tasks: how many tasks these are.
    """

    spark: SparkSession
    handed_out: DataFrame | None
    named: tuple[Split, ...] = ()
    tasks: int = 1

    @property
    def rdd(self) -> RDD[Any]:
        """For Python workers, without a plan to be made."""
        parts: list[RDD[Any]] = [] if self.handed_out is None else [self.handed_out.rdd]
        if self.named or not parts:
            rows = [{"path": path, "length": size} for path, size in self.named]
            parts.append(self.spark.sparkContext.parallelize(rows, self.tasks))
        return parts[0] if len(parts) == 1 else self.spark.sparkContext.union(parts)

    @property
    def frame(self) -> DataFrame:
        """For Spark's expressions."""
        if self.handed_out is not None and not self.named:
            return self.handed_out
        named = self.spark.createDataFrame(list(self.named), "path string, length long").coalesce(self.tasks)
        return named if self.handed_out is None else self.handed_out.union(named)


MapStep = Callable[[Listing], "RDD[Shuffled]"]
"""The map side of some files, not computed yet."""


class Input(Protocol):
    """The files of an epoch, and how long they are waited for."""

    def mapped(self, spark: SparkSession, step: MapStep) -> AbstractContextManager[RDD[Shuffled]]:
        """What the map side makes of them."""

    def left_out(self, read: Collection[str]) -> LeftOut | None:
        """What is not among the files that were read."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All files, however long it takes.

    Args:
        handed_out: as Spark lists them; None: no new ones.
        before: what an earlier batch left out.
    """

    handed_out: DataFrame | None
    before: LeftOut | None = None

    def mapped(self, spark: SparkSession, step: MapStep) -> AbstractContextManager[RDD[Shuffled]]:
        """In the tasks of Spark's own listing: no job more for that."""
        named = () if self.before is None else self.before.files
        return nullcontext(step(Listing(spark, self.handed_out, named, max(1, len(named)))))

    def left_out(self, read: Collection[str]) -> None:
        """Nothing."""
