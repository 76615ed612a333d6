"""One epoch of one grouping in one state partition, for all its keys and windows at once.

Two steps, each a handful of column operations: bring what has arrived into the open windows (the kernel's
:class:`~airflow_dataflow_provider.spark.kernel.windower.Windower`), then, at the epoch's boundary, publish what is due
and drop what has expired (:mod:`publishing`). The reference interpreter does the same one window at a time; the two are
compared pane for pane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel import publishing
from airflow_dataflow_provider.spark.kernel.columns import FINISHED
from airflow_dataflow_provider.spark.kernel.epoch import Arrived, Outcome, RunningEpoch
from airflow_dataflow_provider.spark.kernel.touched import tombstones
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.windowers import windower_for

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


def advance(
    kernel: Kernel,
    state: pl.DataFrame,
    arrived: Arrived | None,
    time: EpochTime,
    *,
    arriving: EpochTime | None = None,
) -> Outcome:
    """Run one epoch.

    Args:
        kernel: the grouping's.
        state: the open windows before, in ``kernel.state_schema``.
        arrived: the epoch's elements, or None.
        time: fires panes, and expires windows.
        arriving: the time while the elements come in, where it is another: the results of the grouping before are taken
            while its watermark still waits for them.
    """
    before = time if arriving is None else arriving
    now = RunningEpoch(state, np.zeros(len(state), dtype=np.bool_), before.clock, before.horizon, [])
    if kernel.merges:
        now.new_ids(0)
    came = arrived is not None and arrived.elements is not None and len(arrived.elements) > 0
    # After another grouping that is another clock: each window is asked, whether its partition has elements or not.
    if kernel.grouping.trigger.looks_at_elements and (came or arriving is not None):
        publishing.at_boundary(kernel, now)
    if arrived is not None:
        windower_for(kernel).add(now, arrived)
    now.clock, now.horizon = time.clock, time.horizon
    publishing.at_boundary(kernel, now)
    changed = now.state.filter(now.changed)
    removed = tombstones(now, expired_until(time.horizon, kernel.grouping.allowed_lateness))
    if removed is not None:
        changed = pl.concat([changed, removed])
    panes = pl.concat(now.panes) if now.panes else kernel.no_panes
    return Outcome(now.state, changed, panes, _next_due(kernel, now), now.expired, now.late)


def _next_due(kernel: Kernel, now: RunningEpoch) -> NextDue:
    state = now.state
    if not len(state):
        return NextDue()
    windows, going = kernel.windows(state, now.clock), ~state[FINISHED].to_numpy()
    return kernel.trigger.next_due(kernel.states(state), windows, going).or_expiry_of(int(windows.end.min()))
