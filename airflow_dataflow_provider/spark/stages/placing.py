"""From rows to what is sent to the state partitions: windows assigned, late rows set apart, the rest combined.

The rows of one grouping go one of two ways. Where its trigger, or its way of merging, must see every element, the
elements themselves are sent. Otherwise they are combined first: by key and window, by key and slice where windows
slide, or into the sessions that they make among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.windows import SlidingWindows, expired_until
from airflow_dataflow_provider.spark.kernel import dense
from airflow_dataflow_provider.spark.kernel.codes import key_codes, order_by
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, END, EVENT, SIGN, START
from airflow_dataflow_provider.spark.kernel.windows import assign_windows, components, slices
from airflow_dataflow_provider.spark.values.hashing import partition_of

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel

ORDER = ("_order_start", "_order_key", "_order_index")
"""Where the results of a grouping stand among those of one event time, in the order that the next one takes them in."""


@dataclass(slots=True)
class Judged:
    """What became of some rows before they were sent: how many have windows, and which came too late."""

    placed: int = 0
    late: int = 0
    expired: pl.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Placing:
    """How rows of one grouping get to their state partitions.

    Args:
        kernel: the grouping's.
        partitions: the number of state partitions.
        horizon: the ordinary watermark by which elements are late or expired.
        combining: combine before sending. Where nearly every row has a key and window of its own it does not pay,
            unless they can be added up by position.
        window_ends: only windows whose end lies in ``(from, to]``; None: all. Windows that merge are chosen later.
    """

    kernel: Kernel
    partitions: int
    horizon: Micros = MIN_TIME
    combining: bool = True
    window_ends: tuple[Micros, Micros] | None = None

    def place(self, rows: pl.DataFrame, judged: Judged) -> Iterator[tuple[int, pl.DataFrame]]:
        """The partial accumulators of some rows, or the rows themselves, by state partition."""
        kernel, window = self.kernel, self.kernel.grouping.window
        if kernel.takes_back and SIGN not in rows.columns:
            rows = rows.with_columns(pl.lit(1, dtype=pl.Int8).alias(SIGN))
        if START in rows.columns:  # they were assigned before
            yield from self._send(rows, judged)
        elif isinstance(window, SlidingWindows) and not kernel.takes_elements and self.window_ends is None:
            in_slices = slices(window, rows)
            # A slice is in windows that end at different times: where one of them may be over, each row is judged.
            settled = in_slices[START].to_numpy() + window.slice > self.horizon
            sliced = in_slices if settled.all() else in_slices.filter(settled)
            judged.placed += len(sliced)
            # They are sent as slices: the partition copies them into their windows once they are combined.
            yield from self._split(self._combined(sliced))
            if not settled.all():
                yield from self._send(assign_windows(window, rows.filter(~settled), ()), judged)
        else:
            yield from self._send(assign_windows(window, rows, kernel.grouping.key), judged)

    def _send(self, rows: pl.DataFrame, judged: Judged) -> Iterator[tuple[int, pl.DataFrame]]:
        kernel = self.kernel
        if kernel.merges:
            judged.placed += len(rows)
            over = rows[END].to_numpy() <= self.horizon
            if kernel.takes_elements or over.all():
                yield from self._split(self._elements(rows))
                return
            if over.any():
                # They may join a window that is still open: the partition that knows it decides.
                yield from self._split(self._elements(rows.filter(over)))
                rows = rows.filter(~over)
            yield from self._split(self._sessions(rows))
            return
        rows = self._of_interval(rows)
        judged.placed += len(rows)
        rows = self._without_expired(rows, judged)
        if kernel.takes_elements:
            yield from self._split(self._elements(rows))
        elif isinstance(kernel.grouping.window, SlidingWindows) and kernel.end is not None:
            yield from self._split(self._combined(rows).with_columns(kernel.end.alias(END)))  # windows, not slices
        else:
            yield from self._split(self._combined(rows))

    def _of_interval(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.window_ends is None:
            return rows
        after, until = self.window_ends
        end = rows[END].to_numpy()
        inside = (end > after) & (end <= until)
        return rows if inside.all() else rows.filter(inside)

    def _without_expired(self, rows: pl.DataFrame, judged: Judged) -> pl.DataFrame:
        if self.horizon == MIN_TIME or not len(rows):
            return rows
        end = rows[END].to_numpy()
        expired = end <= expired_until(self.horizon, self.kernel.grouping.allowed_lateness)
        judged.late += int((end <= self.horizon).sum()) - int(expired.sum())
        if not expired.any():
            return rows
        judged.expired = rows.filter(expired)
        return rows.filter(~expired)

    def _elements(self, rows: pl.DataFrame) -> pl.DataFrame:
        hidden = [START, END, EVENT, ARRIVAL, *(name for name in (SIGN, *ORDER) if name in rows.columns)]
        return rows.select(*self.kernel.schema, *hidden)

    def _combined(self, rows: pl.DataFrame) -> pl.DataFrame:
        kernel = self.kernel
        if kernel.folds is not None or not self.combining:
            lifted = rows.select(*kernel.by, *kernel.lift())
            found = dense.fold(kernel, lifted, sparse=self.combining)
            if found is not None:
                return found
            if not self.combining:
                return lifted
        return rows.group_by(kernel.by).agg(kernel.make())

    def _sessions(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The sessions that rows make among themselves."""
        kernel, key = self.kernel, list(self.kernel.grouping.key)
        if not len(rows) or not self.combining:
            return rows.select(*key, START, END, *kernel.lift())
        codes, at = key_codes(rows.select(key)), rows[START].to_numpy()
        order = order_by(codes, at)
        part_of, starts, ends = components(
            kernel.grouping.window, codes[order], at[order], rows[END].to_numpy()[order]
        )  # fmt: skip
        first = np.flatnonzero(np.diff(part_of, prepend=-1))
        sums = dense.reduced(kernel, rows.select(*key, *kernel.lift()), order, first)
        if sums is not None:
            bounds = [pl.Series(START, starts), pl.Series(END, ends)]
            values = [pl.Series(name, column) for name, column in sums.items()]
            return rows.select(key)[order[first]].with_columns(*bounds, *values).select(*kernel.partial_schema)
        grouped = rows[order].with_columns(pl.Series("_session", part_of).set_sorted())
        sessions = grouped.group_by("_session", maintain_order=True).agg(
            *(pl.col(name).first() for name in key), *kernel.make()
        )  # fmt: skip
        return sessions.with_columns(pl.Series(START, starts), pl.Series(END, ends)).select(*kernel.partial_schema)

    def _split(self, frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
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
