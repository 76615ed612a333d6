"""One epoch of a state partition: its input, its working state, its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from airflow_dataflow_provider.spark.kernel.columns import ID

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
    from airflow_dataflow_provider.spark.kernel.triggers.node import Mask, Times


@dataclass(frozen=True, slots=True)
class Arrived:
    """The input of a partition.

    Attributes:
        partials: partial accumulators, several a key and window; or None.
        elements: single elements in arrival order, with their windows; or None.
        combined: whether each of the partials' frames has at most one row a key and window already.
    """

    partials: list[pl.DataFrame]
    elements: pl.DataFrame | None = None
    combined: bool = True


@dataclass(slots=True)
class RunningEpoch:
    """The working state of an epoch.

    Attributes:
        state: every open window.
        changed: which of its rows differ from before.
        panes: what has been published, in order.
        touched: the windows as they were that may have become part of others.
        expired: elements that no window takes any more.
        late: how many elements came after their window was complete, but were taken.
    """

    state: pl.DataFrame
    changed: Mask
    clock: Clock
    horizon: Micros
    panes: list[pl.DataFrame]
    touched: pl.DataFrame | None = None
    expired: pl.DataFrame | None = None
    late: int = 0
    next_id: int = -1

    def set_aside(self, elements: pl.DataFrame) -> None:
        """Keep elements whose window has expired for the late output."""
        self.expired = elements if self.expired is None else pl.concat([self.expired, elements])

    def new_ids(self, count: int) -> Times:
        """Numbers that no open window has; one that a closed window had may come again, for the newest file wins."""
        if self.next_id < 0:
            highest = cast("int | None", self.state[ID].max())
            self.next_id = 0 if highest is None else highest + 1
        self.next_id += count
        return np.arange(self.next_id - count, self.next_id, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a partition.

    Attributes:
        state: every window still open.
        changed: the rows of ``state`` that differ from before (new, updated, or fired), and tombstones.
        panes: what was fired, in the pane log's columns.
        next_due: when the partition next has something to do.
        expired: elements that no window took; only where windows merge (others are judged on the map side).
        late: elements that came after their window was complete, likewise.
    """

    state: pl.DataFrame
    changed: pl.DataFrame
    panes: pl.DataFrame
    next_due: NextDue
    expired: pl.DataFrame | None = None
    late: int = 0
