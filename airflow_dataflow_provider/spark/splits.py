"""The input of one epoch: the files that Spark hands out, and those that an earlier batch left out.

An epoch over data reads both, always. So what is left out after an epoch follows from the epoch log alone, and each
file is read exactly once, whichever mode comes next and wherever a driver crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from airflow_dataflow_provider.progress.left_out import LeftOut, Split

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

    from airflow_dataflow_provider.spark.map_side import Shuffled

MapTask = Callable[[Iterable[Any]], "Iterator[Shuffled]"]
"""The map side of some files, each with its ``path`` and ``length``."""


class Input(Protocol):
    """The files of an epoch, and how long they are waited for."""

    def mapped(self, context: SparkContext, task: MapTask) -> AbstractContextManager[RDD[Shuffled]]:
        """What the map side makes of them."""

    def listing(self, spark: SparkSession) -> DataFrame:
        """The files themselves (``path``, ``length``), for elements that go through Spark's expressions."""

    def left_out(self, read: Collection[str]) -> LeftOut | None:
        """What is not among the files that were read."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All files, however long it takes.

    Args:
        handed_out: ``path`` and ``length``, as Spark lists them; None: no new ones.
        before: what an earlier batch left out.
    """

    handed_out: DataFrame | None
    before: LeftOut | None = None

    def mapped(self, context: SparkContext, task: MapTask) -> AbstractContextManager[RDD[Shuffled]]:
        """In the tasks of Spark's own listing: no job more for that."""
        parts: list[RDD[Any]] = [] if self.handed_out is None else [self.handed_out.rdd]
        if self.before is not None:
            files = as_listed(self.before.files)
            parts.append(context.parallelize(files, len(files)))
        return nullcontext((parts[0] if len(parts) == 1 else context.union(parts)).mapPartitions(task))

    def listing(self, spark: SparkSession) -> DataFrame:
        """All of them."""
        if self.before is None and self.handed_out is not None:
            return self.handed_out
        rows = [] if self.before is None else [(path, size) for path, size in self.before.files]
        again = spark.createDataFrame(rows, "path string, length long")
        return again if self.handed_out is None else self.handed_out.union(again)

    def left_out(self, read: Collection[str]) -> None:
        """Nothing."""


def as_listed(splits: Iterable[Split]) -> list[dict[str, Any]]:
    """Splits in the form of a listing's rows."""
    return [{"path": path, "length": size} for path, size in splits]
