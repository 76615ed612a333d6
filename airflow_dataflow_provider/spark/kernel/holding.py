"""What the open windows of one grouping keep the next one's watermark waiting for (:mod:`model.hold`), column-wise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.grouping import EARLIEST
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros
from airflow_dataflow_provider.spark.kernel.columns import END, START

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
        held = times[fresh if kernel.book.forgets_times else fresh | (mark < end)]
        if len(held):
            found[percentile] = int(held.min())
    return found


def earliest_output_time(kernel: Kernel, state: pl.DataFrame, clock: Clock) -> Micros:
    """The least output time that an open window can come to have; ``MAX_TIME`` where none is open."""
    if not len(state):
        return MAX_TIME
    window, forgets = kernel.grouping.window, kernel.book.forgets_times
    if window.merges and (forgets or kernel.grouping.output_time is EARLIEST):
        # An element that joins the window, and alone would come too late, can be earlier than all that are in it.
        return MIN_TIME if window.longest is None else int(state[START].to_numpy().min()) - window.longest
    times = kernel.panes.timestamp(state).to_numpy()
    if forgets:
        times = times[kernel.windows(state, clock).fresh]
    return int(times.min(initial=MAX_TIME))
