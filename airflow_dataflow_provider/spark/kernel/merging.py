"""Windows that merge: what arrives joins the open windows of its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.kernel import by_element, direct_addressing
from airflow_dataflow_provider.spark.kernel.codes import key_codes, occurrence, order_by
from airflow_dataflow_provider.spark.kernel.columns import END, START
from airflow_dataflow_provider.spark.kernel.merge_windows import merge_windows, not_expired
from airflow_dataflow_provider.spark.kernel.touched import Touched
from airflow_dataflow_provider.spark.kernel.windower import Windower
from airflow_dataflow_provider.spark.kernel.windows import components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_dataflow_provider.spark.kernel.epoch import Arrived, RunningEpoch
    from airflow_dataflow_provider.spark.kernel.late_check import LateCheck


class SessionMerging(Windower):
    """Sessions under triggers of clocks: a map task sends the sessions that its elements make among themselves.

    All sessions that arrive in an epoch merge with the open ones at once. An element that may be too late is sent
    alone: it may join a session that is still open, which only the state partition knows.
    """

    @override
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        rows = self.assign(rows)
        check.windowed += len(rows)
        over = rows[END].to_numpy() <= check.horizon
        if over.any():
            yield self.elements(rows.filter(over))
            rows = rows.filter(~over)
        yield self._sessions(rows, combining=combining)

    def _sessions(self, rows: pl.DataFrame, *, combining: bool) -> pl.DataFrame:
        kernel, key = self.kernel, list(self.kernel.grouping.key)
        if not len(rows) or not combining:
            return rows.select(*key, START, END, *kernel.lift())
        codes, at = key_codes(rows.select(key)), rows[START].to_numpy()
        order = order_by(codes, at)
        part_of, starts, ends = components(
            kernel.grouping.window, codes[order], at[order], rows[END].to_numpy()[order]
        )  # fmt: skip
        first = np.flatnonzero(np.diff(part_of, prepend=-1))
        bounds = pl.Series(START, starts), pl.Series(END, ends)
        sums = direct_addressing.combine_runs(kernel, rows.select(*key, *kernel.lift()), order, first)
        if sums is not None:
            values = (pl.Series(name, column) for name, column in sums.items())
            sessions = rows.select(key)[order[first]].with_columns(*bounds, *values)
        else:
            grouped = rows[order].with_columns(pl.Series("_session", part_of).set_sorted())
            folded = grouped.group_by("_session", maintain_order=True)
            sessions = folded.agg(*(pl.col(name).first() for name in key), *kernel.make()).with_columns(*bounds)
        return sessions.select(*kernel.partial_schema)

    @override
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        kernel, elements = self.kernel, arrived.elements
        came = [part.select(*kernel.partial_schema) for part in arrived.partials if len(part)]
        frames = came if elements is None else [*came, elements]
        if not frames:
            return
        touched = Touched.of(kernel, now, frames)
        codes = touched.arrived
        if elements is not None and len(elements):
            taken = not_expired(kernel, now, (touched.sub, touched.codes), frames, codes)
            kept = np.ones(len(codes), dtype=np.bool_)
            kept[len(codes) - len(elements) :] = taken
            codes = codes[kept]
            lifted = elements.filter(taken).select(*kernel.grouping.key, START, END, *kernel.lift())
            came.append(lifted.select(*kernel.partial_schema))
        before = touched.sub, now.changed[touched.mask], touched.codes
        (state, changed, _), _ = merge_windows(kernel, now, before, pl.concat(came), codes)
        touched.put_back(kernel, now, state, changed)


class OneByOneMerging(Windower):
    """Merging windows of the user's own, and sessions whose elements can be taken back.

    Such a merge may depend on the order of the elements, so they are taken one by one: the first element of every key,
    then the second of every key, and so on.
    """

    sends_elements = True

    @override
    def to_send(self, rows: pl.DataFrame, check: LateCheck, *, combining: bool) -> Iterator[pl.DataFrame]:
        rows = self.assign(rows)
        check.windowed += len(rows)
        yield self.elements(rows)

    @override
    def add(self, now: RunningEpoch, arrived: Arrived) -> None:
        kernel, elements = self.kernel, arrived.elements
        if elements is None or not len(elements):
            return
        touched = Touched.of(kernel, now, [elements])
        codes, key_of = touched.arrived, touched.codes
        # Under a trigger that looks at elements each is judged when its turn comes, for a window may publish something
        # before it merges with one that is not too late.
        in_turn = kernel.grouping.trigger.looks_at_elements
        if not in_turn:
            taken = not_expired(kernel, now, (touched.sub, key_of), [elements], codes)
            elements, codes = elements.filter(taken), codes[taken]
        whole = now.state, now.changed
        now.state, now.changed = touched.sub, now.changed[touched.mask]
        turns = occurrence(codes)
        for turn in range(int(turns.max(initial=-1)) + 1):
            mine = turns == turn
            of_turn, its_codes = elements.filter(mine), codes[mine]
            if in_turn:
                taken = not_expired(kernel, now, (now.state, key_of), [of_turn], its_codes)
                of_turn, its_codes = of_turn.filter(taken), its_codes[taken]
            if not len(of_turn):
                continue
            windows = of_turn.select(*kernel.grouping.key, START, END).with_columns(kernel.nothing())
            windows, before = windows.select(*kernel.partial_schema), (now.state, now.changed, key_of)
            merged, rows = merge_windows(kernel, now, before, windows, its_codes, fresh=False)
            now.state, now.changed, key_of = merged
            key_of = by_element.add_elements(kernel, now, of_turn, rows, beside=key_of)
        after, changed = now.state, now.changed
        now.state, now.changed = whole
        touched.put_back(kernel, now, after, changed)
