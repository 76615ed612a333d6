"""What an open window says: the panes that are due at an epoch's boundary, what they take back, and what expires.

The trigger tree says where a pane is due. It is read off the accumulators, preceded by the retraction of what stands
for the window, and taken note of; a window that expires publishes what it has not published yet, and goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows import expired_until
from airflow_dataflow_provider.spark.kernel.columns import END, FINISHED, INDEX, PASSED
from airflow_dataflow_provider.spark.kernel.triggers.node import Mask

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel, Progress


def at_boundary(kernel: Kernel, now: Progress) -> None:
    """Publish what is due, in place of nothing new; drop what expires."""
    state, clock = now.state, now.clock
    if not len(state):
        return
    windows, states = kernel.windows(state, clock), kernel.states(state)
    finished = state[FINISHED].to_numpy()
    going = ~finished
    before = {name: column.copy() for name, column in states.items()} if clock.signals or kernel.has_own_trigger else {}
    if before:
        kernel.trigger.on_clock(states, windows)
        for name, column in states.items():
            column[finished] = before[name][finished]
            now.changed = now.changed | (column != before[name])
    fired = kernel.trigger.should_fire(states, windows) & going
    expired: Mask = windows.end <= expired_until(now.horizon, kernel.grouping.allowed_lateness)
    # A window never takes what it has not published into its grave, whatever its trigger says.
    due = fired | (expired & windows.fresh)
    if before:
        now.state = state = kernel.with_states(state, states)
    if due.any():
        rows = state.filter(due)
        after = publish(kernel, now, rows, is_last=expired[due])
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


def publish(kernel: Kernel, now: Progress, rows: pl.DataFrame, *, is_last: Mask) -> pl.DataFrame:
    """The panes of some open windows, preceded by what they take back; the rows as they are then.

    The trigger is not told here.
    """
    values = kernel.aggregates.extract(rows)
    empty = kernel.empty(rows)
    if kernel.retracts:
        timestamp = kernel.panes.timestamp(rows)
        silent = kernel.standing.says_nothing_new(rows, values, timestamp, empty)
    elif kernel.discards:
        silent = ~kernel.windows(rows, now.clock).fresh
    else:
        silent = np.zeros(len(rows), dtype=np.bool_)
    speaks = ~silent
    if speaks.any():
        loud = rows if speaks.all() else rows.filter(speaks)
        if kernel.retracts:
            stood, at = kernel.standing.retractions(loud)
            if len(stood):
                now.panes.append(kernel.panes.retractions(stood, loud[at], now.clock))
        full = speaks & ~empty
        if full.any():
            everything = full.all()
            now.panes.append(
                kernel.panes.inserts(
                    rows if everything else rows.filter(full),
                    values if everything else values.filter(full),
                    is_last[full],
                    now.clock,
                )
            )
    reached = kernel.percentiles.reached(now.clock, rows[END].to_numpy())
    published = speaks & ~empty
    after = rows.with_columns(
        kernel.not_fresh(pl.lit(value=True)),
        pl.Series(INDEX, rows[INDEX].to_numpy() + published, dtype=pl.Int32),
        pl.Series(PASSED, reached, dtype=pl.UInt32),
    )
    if kernel.retracts:
        # Where nothing new was said, what stands is equal, and so is its index.
        after = kernel.standing.set(after, values, timestamp, empty)
    if kernel.discards:
        after = after.with_columns(kernel.aggregates.zeros())
    return after.select(rows.columns)
