"""Partial accumulators into open windows, where windows do not merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.windows import SlidingWindows
from airflow_dataflow_provider.spark.kernel import dense
from airflow_dataflow_provider.spark.kernel.columns import END, FRESH, RIGHT, START
from airflow_dataflow_provider.spark.kernel.windows import slide

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, Progress
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.triggers.node import Indices


def fold(kernel: Kernel, partials: list[pl.DataFrame], *, combined: bool) -> pl.DataFrame:
    """Partial accumulators of several map tasks, one row a key and window.

    Args:
        kernel: whose they are.
        partials: in a fixed order: it decides in which one floating-point sums are added.
        combined: whether each of them has at most one row a key and window already.
    """
    alone = combined and len(partials) == 1
    folded = partials[0] if alone else pl.concat(partials).group_by(kernel.by, maintain_order=False).agg(kernel.merge())
    return folded if kernel.end is None else folded.with_columns(kernel.end.alias(END))


def newest(kernel: Kernel, windows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each open window."""
    found = dense.newest(kernel, windows)
    return windows.unique(subset=kernel.identity, keep="last", maintain_order=False) if found is None else found


def take(kernel: Kernel, now: Progress, arrived: Arrived) -> None:
    """Bring an epoch's partial accumulators into the open windows."""
    if not arrived.partials:
        return
    windowed = _windowed(kernel, arrived)
    if dense.take(kernel, now, windowed[0] if len(windowed) == 1 else pl.concat(windowed)):
        return
    partials = fold(kernel, windowed, combined=arrived.combined)
    if not len(partials):
        return
    state = now.state
    if not len(state):
        now.state = kernel.opened(partials)
        now.changed = np.ones(len(now.state), dtype=np.bool_)
        return
    where = state.lazy().select(*kernel.by, pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row"))
    found = partials.lazy().join(where, on=kernel.by, how="left", nulls_equal=True).collect()
    known = found.filter(pl.col("_row").is_not_null())
    rows = known["_row"]
    updated = (
        state[rows]
        .hstack([known[name].alias(name + RIGHT) for name in kernel.field_names])
        .with_columns(kernel.pair(RIGHT))
        .with_columns([] if kernel.book.timed else [pl.lit(value=True).alias(FRESH)])
        .select(*kernel.state_schema)
    )
    opened = kernel.opened(found.filter(pl.col("_row").is_null()))
    untouched = np.ones(len(state), dtype=np.bool_)
    untouched[rows.to_numpy()] = False
    rest = state.filter(untouched) if len(rows) else state
    changed = np.ones(len(rest) + len(updated) + len(opened), dtype=np.bool_)
    changed[: len(rest)] = now.changed[untouched] if len(rows) else now.changed
    now.state, now.changed = pl.concat([rest, updated, opened], rechunk=True), changed


def _windowed(kernel: Kernel, arrived: Arrived) -> list[pl.DataFrame]:
    """The partial accumulators by window: those that came by slice are combined, then copied into their windows."""
    window = kernel.grouping.window
    if not isinstance(window, SlidingWindows):
        return arrived.partials
    slices = [frame for frame in arrived.partials if END not in frame.columns]
    windows = [frame.drop(END) for frame in arrived.partials if END in frame.columns]
    if slices:
        whole = slices[0] if len(slices) == 1 else _combined(kernel, pl.concat(slices))
        windows.append(slide(whole, window).drop(END))
    return windows


def _combined(kernel: Kernel, partials: pl.DataFrame) -> pl.DataFrame:
    found = dense.fold(kernel, partials)
    return partials.group_by(kernel.by).agg(kernel.merge()) if found is None else found


def place(kernel: Kernel, now: Progress, elements: pl.DataFrame) -> Indices:
    """Open the windows of some elements where they are not, empty and with nothing fresh.

    Returns:
        For each element the position of its window in the state.
    """
    columns = [*kernel.key_types, START, END]
    found = dense.place(kernel, now.state, elements)
    if found is None:
        found = _place_by_hash(kernel, now.state, elements)
    at, first = found
    if len(first):
        opened = kernel.opened(elements[first].select(columns).with_columns(kernel.nothing()), fresh=False)
        now.state = pl.concat([now.state, opened], rechunk=True)
        now.changed = np.concatenate([now.changed, np.ones(len(opened), dtype=np.bool_)])
    return at


def _place_by_hash(kernel: Kernel, state: pl.DataFrame, elements: pl.DataFrame) -> tuple[Indices, Indices]:
    """For each element the position of its window, new ones behind the known; and an element of each new one."""
    where = state.lazy().select(*kernel.by, pl.int_range(pl.len(), dtype=pl.Int64).alias("_row"))
    placed = elements.lazy().select(kernel.by).with_row_index("_at")
    found = placed.join(where, on=kernel.by, how="left", nulls_equal=True, maintain_order="left").collect()
    rows = found["_row"].fill_null(0).to_numpy().copy()
    missing = found.filter(pl.col("_row").is_null())
    if not len(missing):
        return rows, np.zeros(0, dtype=np.int64)
    fresh = missing.unique(subset=kernel.by, keep="first", maintain_order=True)
    numbered = fresh.lazy().select(kernel.by).with_row_index("_new")
    new = missing.lazy().join(numbered, on=kernel.by, how="left", nulls_equal=True, maintain_order="left").collect()
    rows[missing["_at"].to_numpy()] = new["_new"].to_numpy().astype(np.int64) + len(state)
    return rows, fresh["_at"].to_numpy().astype(np.int64)
