"""What an open window says: the panes that are due at an epoch's boundary, what they take back, and what expires.

The trigger tree says where a pane is due. It is read off the accumulators, preceded by the retraction of what stands
for the window, and taken note of; a window that expires publishes what it has not published yet, and goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel.columns import END, FINISHED, INDEX, PASSED
from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import Progress
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


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
    kernel: Kernel, now: Progress, rows: pl.DataFrame, *, is_last: Mask, in_turn: bool = False
) -> pl.DataFrame:  # fmt: skip
    """The panes of some open windows, preceded by what they take back; the rows as they are then.

    A kernel that only remembers what a pane replaces gives the retraction, too: the steps after decide about it.
    Where they are to come ``in_turn`` a window may be there several times: each time takes back what it said before.
    The trigger is not told here.
    """
    values = kernel.aggregates.extract(rows)
    empty = kernel.empty(rows)
    if kernel.remembers:
        timestamp = kernel.panes.timestamp(rows)
    if kernel.retracts:
        silent = kernel.last_published.says_nothing_new(rows, values, timestamp, empty)
    elif kernel.discards:
        silent = ~kernel.windows(rows, now.clock).fresh
    else:
        silent = np.zeros(len(rows), dtype=np.bool_)
    speaks = ~silent
    full = speaks & ~empty
    panes, places = list[pl.DataFrame](), list[Indices]()
    if kernel.remembers and speaks.any():
        loud = rows if speaks.all() else rows.filter(speaks)
        stood, at = kernel.last_published.retractions(loud)
        if len(stood):
            panes.append(kernel.panes.retractions(stood, loud[at], now.clock))
            places.append(2 * np.flatnonzero(speaks)[at])
    if full.any():
        said = (rows, values) if full.all() else (rows.filter(full), values.filter(full))
        panes.append(kernel.panes.inserts(*said, is_last[full], now.clock))
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
    if kernel.remembers:
        # Where nothing new was said, what stands is equal, and so is its index.
        after = kernel.last_published.set(after, values, timestamp, empty)
    if kernel.discards:
        after = after.with_columns(*kernel.aggregates.zeros(), *kernel.book.discarded())
    return after.select(rows.columns)
