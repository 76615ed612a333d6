"""Watermark hold from open windows (:mod:`model.hold`), column-wise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.time import MAX_TIME, Micros
from airflow_dataflow_provider.spark.kernel.columns import END

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


def waiting_for(kernel: Kernel, state: pl.DataFrame, clock: Clock) -> dict[float, Micros]:
    """By percentile, the earliest output time of a window not completed, or with something unpublished."""
    if not len(state):
        return {}
    fresh, end = kernel.windows(state, clock).fresh, state[END].to_numpy()
    times = kernel.panes.timestamp(state).to_numpy()
    found: dict[float, Micros] = {}
    for percentile, mark in clock.watermarks:
        # The next pane of a window that discards is not older than the watermark, unless it has elements already.
        held = times[fresh if kernel.grouping.forgets_times else fresh | (mark < end)]
        if len(held):
            found[percentile] = int(held.min())
    return found


def earliest_output_time(kernel: Kernel, state: pl.DataFrame, clock: Clock) -> Micros:
    """The least output time that an open window has by itself; ``MAX_TIME`` where none is open."""
    if not len(state):
        return MAX_TIME
    times = kernel.panes.timestamp(state).to_numpy()
    if kernel.grouping.forgets_times:
        times = times[kernel.windows(state, clock).fresh]
    return int(times.min(initial=MAX_TIME))
