"""The driver side: an epoch with little to do is reduced in the driver, without a shuffle and a second round of tasks.

With few keys a reduce task works for some milliseconds, and Spark takes several times as long to start it. Whether an
epoch is small shows before it runs, by the windows that are open and by what the epoch before has sent; and once more
while it runs: map tasks that have more to send than expected say so, and send nothing. Then the epoch runs on the
workers after all. Before the first epoch, and for an interval, the keys of the first rows say what is to be expected.
An input of a megabyte or less is read here, too, unless there are steps to be taken on it. What the
user has written never runs here, nor does anything but adding up plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.model.file_formats import Parquet
from airflow_dataflow_provider.model.par_do import SparkColumns
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.spark.kernel.windowers import windower_for
from airflow_dataflow_provider.spark.reduce_side.partition_result import PartitionResult
from airflow_dataflow_provider.spark.reduce_side.reduce_task import ANSWER, ReduceSide
from airflow_dataflow_provider.spark.sources.opening import local_path

if TYPE_CHECKING:
    from pyspark import RDD

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.spark.stages.stages import Stages
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

ROWS_CONF = "dataflow.driver.rows"
"""Among ``--conf``: up to how many open windows, and rows sent, epochs are reduced in the driver; 0: never."""
ROWS = 20_000
MOST_BYTES = 2 * 2**20
"""The most bytes that one map task sends to the driver."""
MOST_INPUT = 2**20
"""Bytes of input that the driver reads by itself."""
_LOOKED_AT = 20_000
"""Rows of an input that say whether it has few keys."""
_FEW = 0.1
"""The share of different keys among them up to which they are few."""
_MOST_TASKS = 16
_TOO_MUCH = -1
"""The partition to which a map task sends that it has more."""


def is_plain(stages: Stages) -> bool:
    """Whether the groupings of a pipeline only add up plain numbers, by triggers and windows of ours."""
    first, *later = stages.pipeline.groupings
    in_workers = (*stages.pipeline.result_steps, *(step for grouping in later for step in grouping.par_dos))
    if in_workers or any(isinstance(step, SparkColumns) for step in first.par_dos):
        return False
    kernels = [stages.kernel(number) for number in range(len(stages))]
    if any(windower_for(kernel).sends_elements for kernel in kernels):
        return False
    return all(kernel.folds is not None and not kernel.has_user_trigger for kernel in kernels)


def has_few_keys(pipeline: Pipeline, splits: Sequence[Split]) -> bool:
    """Whether the first rows of the input have few different keys: a guess, where no epoch has sent anything yet.

    Only a local Parquet file is looked at, which takes a millisecond.
    """
    source, grouping = pipeline.source, pipeline.groupings[0]
    path = local_path(splits[0].path) if splits else None
    if path is None or grouping.par_dos or not isinstance(source, Files) or not isinstance(source.format, Parquet):
        return False
    first = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(grouping.key).head(_LOOKED_AT)
    try:
        keys = first.collect()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False  # the map task that reads it says what is wrong
    return keys.n_unique() <= len(keys) * _FEW


def if_little(sent: Iterable[Shuffled], most: int) -> Iterator[Shuffled]:
    """The blobs of a map task, if they are no more than so many bytes; else one that says that they are more."""
    kept, size = list["Shuffled"](), 0
    for partition, (origin, blob) in sent:
        kept.append((partition, (origin, blob)))
        size += len(blob)
        if size > most:
            yield _TOO_MUCH, ("", b"")
            return
    yield from kept


def collected(mapped: RDD[Shuffled], partitions: int) -> DriverSide | None:
    """The driver's reduce side with the blobs of all map tasks; None if they are too large."""
    if mapped.getNumPartitions() > _MOST_TASKS:
        return None
    sent = mapped.collect()
    return None if any(partition == _TOO_MUCH for partition, _ in sent) else DriverSide(partitions, sent)


class DriverSide:
    """One epoch's reduce side, one partition after the other in this process.

    Args:
        partitions: the number of state partitions.
        sent: what the map side has sent.
    """

    def __init__(self, partitions: int, sent: Iterable[Shuffled] = ()) -> None:
        self._partitions = partitions
        self._sent: list[tuple[int, Any]] = list(sent)

    def run_stage(self, side: ReduceSide) -> list[PartitionResult]:
        """Run one grouping on what was sent to its partitions; what it sends itself is for the next one."""
        sent, self._sent = self._sent, []
        reduced: list[PartitionResult] = []
        for partition in range(self._partitions):
            mine = [blob for blob in sent if blob[0] == partition]
            if side.is_last:
                reduced += side.reduce(partition, mine)
                continue
            for to, passed in side.pass_on(partition, mine):
                if to == ANSWER:
                    reduced.append(passed)
                else:
                    self._sent.append((to, passed))
        return reduced
