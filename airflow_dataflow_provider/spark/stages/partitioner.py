"""From rows of one grouping to its state partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.spark.kernel.columns import SIGN
from airflow_dataflow_provider.spark.kernel.windowers import windower_for
from airflow_dataflow_provider.spark.values.hashing import partition_of

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.late_check import LateCheck


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Assigns windows, sets expired rows aside, combines the rest, and splits it by state partition.

    Args:
        kernel: the grouping's.
        partitions: the number of state partitions.
        check: judges rows by their windows, and counts them.
        combining: combine before sending. Where nearly every row has a key and window of its own it does not pay,
            unless they can be added up by direct addressing.
    """

    kernel: Kernel
    partitions: int
    check: LateCheck
    combining: bool = True

    def split(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """The partial accumulators of some rows, or the rows themselves, by state partition."""
        if self.kernel.input_retracts and SIGN not in rows.columns:
            rows = rows.with_columns(pl.lit(1, dtype=pl.Int8).alias(SIGN))
        for frame in windower_for(self.kernel).to_send(rows, self.check, combining=self.combining):
            yield from self._by_partition(frame)

    def _by_partition(self, frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        if not len(frame):
            return
        home = partition_of([frame[column] for column in self.kernel.grouping.key], self.partitions)
        if self.partitions == 1:
            yield 0, frame
            return
        order = np.argsort(home, kind="stable")
        bounds = np.searchsorted(home[order], np.arange(self.partitions + 1))
        ordered = frame[order]
        for partition in range(self.partitions):
            start, stop = int(bounds[partition]), int(bounds[partition + 1])
            if stop > start:
                yield partition, ordered[start:stop]
