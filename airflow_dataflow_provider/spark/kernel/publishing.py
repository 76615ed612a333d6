"""Panes of open windows: those due at an epoch's boundary, their retractions, and expiry.

The trigger tree says where a pane is due. The pane has the results of the accumulators, after the retraction of the
window's last published pane. An expiring window publishes any pending result, and is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel.columns import END, FINISHED, INDEX, PASSED
from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


def at_boundary(kernel: Kernel, now: RunningEpoch) -> None:
    """Publish the panes that are due; drop the windows that expire."""
    state, clock = now.state, now.clock
    if not len(state):
        return
    windows, states = kernel.windows(state, clock), kernel.states(state)
    finished = state[FINISHED].to_numpy()
    going = ~finished
    before = (
        {name: column.copy() for name, column in states.items()} if clock.signals or kernel.has_user_trigger else {}
    )
    if before:
        kernel.trigger.on_clock(states, windows)
        for name, column in states.items():
            column[finished] = before[name][finished]
            now.changed = now.changed | (column != before[name])
    fired = kernel.trigger.should_fire(states, windows) & going
    expired: Mask = windows.end <= expired_until(now.horizon, kernel.grouping.allowed_lateness)
    # An expiring window publishes any pending result, whatever its trigger says.
    due = fired | (expired & windows.fresh)
    if before:
        now.state = state = kernel.with_states(state, states)
    if due.any():
        rows = state.filter(due)
        after = publish(kernel, now, rows, is_last=expired[due])
        windows.is_firing = True
        ended = kernel.trigger.on_fire(states, windows, fired)
        at = np.flatnonzero(due)
        after = kernel.with_states(after, {name: column[at] for name, column in states.items()})
        after = after.with_columns(pl.Series(FINISHED, (finished | ended)[at]))
        kept = due & ~expired
        rest = state.filter(~due & ~expired)
        if kept.any():
            after = after.filter(~expired[due])
            now.state = pl.concat([rest, after], rechunk=True)
            now.changed = np.concatenate([now.changed[~due & ~expired], np.ones(len(after), dtype=np.bool_)])
        else:
            now.state, now.changed = rest, now.changed[~due & ~expired]
    elif expired.any():
        now.state, now.changed = state.filter(~expired), now.changed[~expired]


def publish(
    kernel: Kernel, now: RunningEpoch, rows: pl.DataFrame, *, is_last: Mask, in_turn: bool = False
) -> pl.DataFrame:  # fmt: skip
    """Publish a pane of each of these open windows, after the retraction of its last one; return the rows after it.

    Steps after the last grouping get each retraction, and decide whether it is published. With ``in_turn`` a window may
    be there several times, in the order of its firings: each retracts the one before. Trigger states do not change.
    """
    values = kernel.aggregates.extract(rows)
    empty = kernel.empty(rows)
    if kernel.keeps_last_published:
        timestamp = kernel.panes.timestamp(rows)
    if kernel.retracts:
        unchanged = kernel.last_published.is_unchanged(rows, values, timestamp, empty)
    elif kernel.discards:
        unchanged = ~kernel.windows(rows, now.clock).fresh
    else:
        unchanged = np.zeros(len(rows), dtype=np.bool_)
    changed = ~unchanged
    full = changed & ~empty
    panes, places = list[pl.DataFrame](), list[Indices]()
    if kernel.keeps_last_published and changed.any():
        published = rows if changed.all() else rows.filter(changed)
        retracted, at = kernel.last_published.retractions(published)
        if len(retracted):
            panes.append(kernel.panes.retractions(retracted, published[at], now.clock))
            places.append(2 * np.flatnonzero(changed)[at])
    if full.any():
        full_rows = (rows, values) if full.all() else (rows.filter(full), values.filter(full))
        panes.append(kernel.panes.inserts(*full_rows, is_last[full], now.clock))
        places.append(2 * np.flatnonzero(full) + 1)
    if in_turn and len(panes) > 1:
        panes = [pl.concat(panes)[np.argsort(np.concatenate(places), kind="stable")]]
    now.panes += panes
    reached = kernel.percentiles.reached(now.clock, rows[END].to_numpy())
    after = rows.with_columns(
        kernel.not_fresh(pl.lit(value=True)),
        pl.Series(INDEX, rows[INDEX].to_numpy() + full, dtype=pl.Int32),
        pl.Series(PASSED, reached, dtype=pl.UInt32),
    )
    if kernel.keeps_last_published:
        # Where nothing has changed, the last pane is equal, and so is its index.
        after = kernel.last_published.set(after, values, timestamp, empty)
    if kernel.discards:
        after = after.with_columns(*kernel.aggregates.zeros(), *kernel.book.discarded())
    return after.select(rows.columns)
