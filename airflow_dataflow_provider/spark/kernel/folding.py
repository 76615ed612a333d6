"""Windows that do not merge, under triggers of clocks: partial accumulators are folded into open windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.kernel import direct_addressing
from airflow_dataflow_provider.spark.kernel.columns import END, FRESH, RIGHT, START
from airflow_dataflow_provider.spark.kernel.windower import Windower
from airflow_dataflow_provider.spark.kernel.windows import slices, slide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_dataflow_provider.model.windows import SlidingWindows
    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, RunningEpoch
    from airflow_dataflow_provider.spark.kernel.late_check import LateCheck


class Folding(Windower):
    """A map task sends one row a key and window, which is folded into the open window of that key."""

    @override
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        yield self.combine(check.in_time(self.assign(rows)), combining=combining)

    def combine(self, rows: pl.DataFrame, *, combining: bool) -> pl.DataFrame:
        """Elements to partial accumulators, one row a key and window; without ``combining`` one row an element.

        Rows that can be added up by direct addressing are combined in any case.
        """
        kernel = self.kernel
        if kernel.folds is not None or not combining:
            lifted = rows.select(*kernel.by, *kernel.lift())
            found = direct_addressing.combine(kernel, lifted, sparse=combining)
            if found is not None:
                return found
            if not combining:
                return lifted
        return rows.group_by(kernel.by).agg(kernel.make())

    @override
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        if not arrived.partials:
            return
        kernel, (parts, combined) = self.kernel, self.by_window(arrived)
        if direct_addressing.add(kernel, now, parts[0] if len(parts) == 1 else pl.concat(parts)):
            return
        if len(parts) == 1 and combined:
            partials = parts[0]
        else:
            partials = pl.concat(parts).group_by(kernel.by, maintain_order=False).agg(kernel.merge())
        if kernel.end is not None:
            partials = partials.with_columns(kernel.end.alias(END))
        if len(partials):
            self._join(now, partials)

    def by_window(self, arrived: Arrived) -> tuple[list[pl.DataFrame], bool]:
        """The partial accumulators by window, and whether each frame has at most one row a key and window."""
        return arrived.partials, arrived.combined

    def _join(self, now: RunningEpoch, partials: pl.DataFrame) -> None:
        """Fold partial accumulators, one row a key and window, into the open windows by hashing."""
        kernel, state = self.kernel, now.state
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


class SliceFolding(Folding):
    """Sliding windows: a map task sends one row a key and slice, copied into its windows once combined."""

    @property
    def _window(self) -> SlidingWindows:
        return cast("SlidingWindows", self.kernel.grouping.window)

    @override
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        if START not in rows.columns and check.interval is None:
            in_slices = slices(self._window, rows)
            # A slice is in windows that end at different times. Where one of them may be over, each row is judged.
            ends_later = in_slices[START].to_numpy() + self._window.slice > check.horizon
            sliced = in_slices if ends_later.all() else in_slices.filter(ends_later)
            check.windowed += len(sliced)
            yield self.combine(sliced, combining=combining)
            rows = rows.filter(~ends_later)
            if not len(rows):
                return
        for combined in super().to_send(rows, check, combining=combining):
            # The column tells windows from slices.
            yield combined.with_columns(cast("pl.Expr", self.kernel.end).alias(END))

    @override
    def by_window(self, arrived: Arrived) -> tuple[list[pl.DataFrame], bool]:
        sliced = [frame for frame in arrived.partials if END not in frame.columns]
        parts = [frame.drop(END) for frame in arrived.partials if END in frame.columns]
        if sliced:
            whole = sliced[0] if len(sliced) == 1 else self._merged(pl.concat(sliced))
            parts.append(slide(whole, self._window).drop(END))
        return parts, False

    def _merged(self, partials: pl.DataFrame) -> pl.DataFrame:
        found = direct_addressing.combine(self.kernel, partials)
        return partials.group_by(self.kernel.by).agg(self.kernel.merge()) if found is None else found
