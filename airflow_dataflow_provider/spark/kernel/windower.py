"""How elements get into the open windows of a grouping: one strategy a kernel (:mod:`windowers`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.spark.kernel import direct_addressing
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, END, EVENT, ORDER, SIGN, START
from airflow_dataflow_provider.spark.kernel.windows import assign_windows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.late_check import LateCheck


class Windower(ABC):
    """What depends on the kind of windows and on whether the trigger looks at single elements.

    The verbs are those of Bytewax's ``WindowerLogic``, for all keys of a state partition at once: ``open_for``,
    ``late_for`` and ``merged`` are :meth:`add`; ``close_for`` and ``notify_at`` are the same for every strategy
    (:mod:`publishing`, :mod:`triggers.next_due`); ``snapshot`` is the frame of open windows, and :meth:`newest` reads
    it back from several.

    Attributes:
        sends_elements: the map side sends single elements, in arrival order; otherwise partial accumulators.
    """

    sends_elements: bool = False

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @abstractmethod
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        """Turn rows of the map side into what the state partitions get: with windows, without what has expired.

        Args:
            rows: elements, with windows if a step before has assigned them.
            check: counts late rows, and keeps expired ones.
            combining: whether to combine rows that share a key and window before they are sent.
        """

    @abstractmethod
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        """Bring what has arrived at a state partition into its open windows; open new ones, merge them."""

    def newest(self, windows: pl.DataFrame) -> pl.DataFrame:
        """The last row of each open window, where a state's base and deltas have several."""
        found = direct_addressing.newest(self.kernel, windows)
        if found is not None:
            return found
        return windows.unique(subset=self.kernel.identity, keep="last", maintain_order=False)

    def assign(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with their windows, unless a step before has assigned them."""
        if START in rows.columns:
            return rows
        return assign_windows(self.kernel.grouping.window, rows, self.kernel.grouping.key)

    def elements(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The columns of single elements that state partitions need."""
        hidden = [START, END, EVENT, ARRIVAL, *(name for name in (SIGN, *ORDER) if name in rows.columns)]
        return rows.select(*self.kernel.schema, *hidden)
