"""The kernel: one epoch of one state partition, for all its keys and windows at once.

Steps, each a handful of column operations: fold the epoch's partial accumulators into the open windows, ask the trigger
tree where panes are due, read the panes off, take note of them, drop what has expired. The reference interpreter does
the same one window at a time; the two are compared pane for pane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import PaneTiming
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.refinement import ACCUMULATING_AND_RETRACTING, DISCARDING
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.model.windows import FixedWindows, GlobalWindows, WindowStrategy, expired_until
from airflow_dataflow_provider.spark.aggregates import Aggregates
from airflow_dataflow_provider.spark.kernel.triggers import Mask, Percentiles, Times, Wake, Windows, compile_trigger

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping
    from airflow_dataflow_provider.model.time import Micros

START, END = "_start", "_end"
_FRESH, _INDEX, _PASSED, _FINISHED = "_fresh", "_index", "_passed", "_finished"
_STANDING, _STANDS = "_standing.", "_stands"
_RIGHT = "_right"
_NO_CLOCK = Clock(0, NOTHING_KNOWN)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one epoch did to a partition.

    Attributes:
        state: every window still open.
        changed: the rows of ``state`` that differ from before (new, updated, or fired).
        panes: what was fired, in the pane log's columns.
        wake: when the partition next has something to do.
    """

    state: pl.DataFrame
    changed: pl.DataFrame
    panes: pl.DataFrame
    wake: Wake


class Kernel:
    """The column-wise form of one grouping over input columns of known types.

    Args:
        grouping: what, where, when and how.
        schema: the types of the input columns that the grouping reads.

    Raises:
        SubmissionError: where the engine does not know a trigger or combiner, or a column's type does not fit.
    """

    def __init__(self, grouping: Grouping, schema: Mapping[str, pl.DataType]) -> None:
        self.grouping = grouping
        self.schema = {name: schema[name] for name in grouping.input_columns()}
        self.aggregates = Aggregates.of(grouping, schema)
        self.percentiles = Percentiles(grouping.trigger)
        self.trigger = compile_trigger(grouping.trigger, self.percentiles)
        self.key_types = {column: schema[column] for column in grouping.key}
        # Of an aligned window the start says it all; what is grouped and joined by should be narrow.
        self.by = [*grouping.key, START]
        self._retracts = grouping.refinement is ACCUMULATING_AND_RETRACTING
        self._discards = grouping.refinement is DISCARDING

    # What the frames look like

    @property
    def partial_schema(self) -> dict[str, pl.DataType]:
        """The columns of partial accumulators: key, start of the window, accumulators."""
        return {**self.key_types, START: pl.Int64(), **{field.name: field.dtype for field in self.aggregates.fields}}

    @property
    def state_schema(self) -> dict[str, pl.DataType]:
        """The columns of an open window: the partial's, then the pane's bookkeeping and the trigger's state."""
        own: dict[str, pl.DataType] = {
            END: pl.Int64(), _FRESH: pl.Boolean(), _INDEX: pl.Int32(), _PASSED: pl.UInt32(), _FINISHED: pl.Boolean(),
        }  # fmt: skip
        own |= dict.fromkeys(self.trigger.columns(), pl.Int16())
        if self._retracts:
            own |= {_STANDS: pl.Boolean()} | {_STANDING + field.name: field.dtype for field in self.aggregates.fields}
        return {**self.partial_schema, **own}

    def empty_state(self) -> pl.DataFrame:
        """No window is open."""
        return pl.DataFrame(schema=self.state_schema)

    def fold(self, partials: list[pl.DataFrame], *, combined: bool) -> pl.DataFrame:
        """Partial accumulators of several map tasks, one row a key and window.

        Args:
            partials: in a fixed order: it decides in which one floating-point sums are added.
            combined: whether each of them has at most one row a key and window already.
        """
        if combined and len(partials) == 1:
            return partials[0]
        return pl.concat(partials).group_by(self.by, maintain_order=False).agg(self.aggregates.merge())

    # One epoch

    def advance(self, state: pl.DataFrame, partials: pl.DataFrame | None, clock: Clock, horizon: Micros) -> Outcome:
        """Run one epoch.

        Args:
            state: the open windows before, in :attr:`state_schema`.
            partials: the epoch's elements, folded to at most one row a key and window, or None.
            clock: what fires panes.
            horizon: the ordinary watermark by which windows expire (see ``reference.interpreter.Epoch``).
        """
        state, changed = self._update(state, partials)
        end = state[END].to_numpy()
        fresh = state[_FRESH].to_numpy().copy()
        finished = state[_FINISHED].to_numpy()
        passed = state[_PASSED].to_numpy()
        nodes = {name: state[name].to_numpy().copy() for name in self.trigger.columns()}
        windows = Windows(clock, end, fresh, passed)
        fired = self.trigger.should_fire(nodes, windows) & ~finished
        expired: Mask = end <= expired_until(horizon, self.grouping.allowed_lateness)
        # No trigger can lose data: what expires unpublished is published now.
        due = fired | (expired & fresh)
        if not due.any() and not expired.any():
            return Outcome(state, state.filter(changed), self.no_panes, self._wake(end, passed))

        silent = self._unchanged(state, due, fresh)
        panes = self._panes(state, due & ~silent, expired, clock)
        now_finished = self.trigger.on_fire(nodes, windows, fired)
        reached = np.where(due, self.percentiles.reached(clock, end), passed)
        published = due & ~silent
        columns = [
            pl.Series(_FRESH, fresh & ~due),
            pl.Series(_INDEX, state[_INDEX].to_numpy() + published, dtype=pl.Int32),
            pl.Series(_PASSED, reached, dtype=pl.UInt32),
            pl.Series(_FINISHED, finished | now_finished),
            *(pl.Series(name, values, dtype=pl.Int16) for name, values in nodes.items()),
        ]
        after = state.with_columns(columns)
        mask = pl.lit(pl.Series(due))
        if self._retracts:
            after = after.with_columns(
                pl.col(_STANDS) | mask,
                *(
                    pl.when(mask).then(pl.col(name)).otherwise(pl.col(_STANDING + name)).alias(_STANDING + name)
                    for name in self.aggregates.names
                ),
            )
        if self._discards:
            after = after.with_columns(
                pl.when(mask).then(zero).otherwise(pl.col(name)).alias(name)
                for name, zero in zip(self.aggregates.names, self.aggregates.zeros(), strict=True)
            )
        kept = ~expired
        return Outcome(
            after.filter(kept),
            after.filter(kept & (changed | due)),
            panes,
            self._wake(end[kept], reached[kept]),
        )

    def _update(self, state: pl.DataFrame, partials: pl.DataFrame | None) -> tuple[pl.DataFrame, Mask]:
        """Fold partial accumulators into the open windows; the mask says which rows of the result have changed."""
        if partials is None or not len(partials):
            return state, np.zeros(len(state), dtype=np.bool_)
        if not len(state):
            opened = self._opened(partials)
            return opened, np.ones(len(opened), dtype=np.bool_)
        where = state.lazy().select(*self.by, pl.int_range(pl.len(), dtype=pl.UInt32).alias("_row"))
        found = partials.lazy().join(where, on=self.by, how="left", nulls_equal=True).collect()
        known = found.filter(pl.col("_row").is_not_null())
        rows = known["_row"]
        old = state[rows]
        updated = (
            old.hstack([known[name].alias(name + _RIGHT) for name in self.aggregates.names])
            .with_columns(self.aggregates.pair(_RIGHT))
            .with_columns(pl.lit(value=True).alias(_FRESH))
            .select(*self.state_schema)
        )
        opened = self._opened(found.filter(pl.col("_row").is_null()))
        untouched = np.ones(len(state), dtype=np.bool_)
        untouched[rows.to_numpy()] = False
        rest = state.filter(untouched) if len(rows) else state
        changed = np.ones(len(rest) + len(updated) + len(opened), dtype=np.bool_)
        changed[: len(rest)] = False
        return pl.concat([rest, updated, opened], rechunk=True), changed

    def _opened(self, partials: pl.DataFrame) -> pl.DataFrame:
        """State rows for windows that have just opened."""
        defaults: list[pl.Expr] = []
        for name, dtype in self.state_schema.items():
            if name in self.partial_schema:
                continue
            if name == END:
                defaults.append(window_end(self.grouping.window, pl.col(START)).alias(END))
                continue
            value = (
                True if name == _FRESH else False if dtype == pl.Boolean else None if name.startswith(_STANDING) else 0
            )
            defaults.append(pl.lit(value, dtype=dtype).alias(name))
        return partials.select(*self.partial_schema).with_columns(defaults)

    def _unchanged(self, state: pl.DataFrame, due: Mask, fresh: Mask) -> Mask:
        """Where a firing has nothing to say (``figures.md``, notes): it is noted, but no pane is published."""
        if self._discards:
            return due & ~fresh
        if not self._retracts:
            return np.zeros_like(due)
        new = self.aggregates.extract(state)
        old = self._standing_values(state)
        same = state[_STANDS].to_numpy() & due
        for column in new.columns:
            same = same & new[column].eq_missing(old[column]).to_numpy()
        return same

    def _standing_values(self, state: pl.DataFrame) -> pl.DataFrame:
        names = self.aggregates.names
        return self.aggregates.extract(state.select(pl.col(_STANDING + name).alias(name) for name in names))

    # Panes

    def _panes(self, state: pl.DataFrame, published: Mask, expired: Mask, clock: Clock) -> pl.DataFrame:
        rows = state.filter(published)
        end = rows[END].to_numpy()
        on_time = clock.watermark >= end
        was_on_time = (rows[_PASSED].to_numpy() & self.percentiles.bit(100.0)) != 0
        timing = np.where(~on_time, 0, np.where(was_on_time, 2, 1))
        labels = np.array([PaneTiming.EARLY, PaneTiming.ON_TIME, PaneTiming.LATE], dtype=object)
        context = {
            "pane_timing": pl.Series(labels[timing], dtype=pl.String),
            "completeness": pl.Series(_completeness(clock, end), dtype=pl.Float64),
        }
        inserts = self._pane_frame(rows, self.aggregates.extract(rows), clock, context).with_columns(
            pane_index=rows[_INDEX],
            pane_is_first=rows[_INDEX] == 0,
            pane_is_last=pl.Series(expired[published]),
            pane_is_retraction=pl.lit(value=False),
        )
        if not self._retracts:
            return inserts.select(self.pane_columns)
        retractions = (
            self._pane_frame(rows, self._standing_values(rows), clock, context)
            .with_columns(
                pane_index=rows[_INDEX] - 1,
                pane_is_first=pl.lit(value=False),
                pane_is_last=pl.lit(value=False),
                pane_is_retraction=pl.lit(value=True),
            )
            .filter(rows[_STANDS])
        )
        return pl.concat([retractions.select(self.pane_columns), inserts.select(self.pane_columns)])

    def _pane_frame(
        self, rows: pl.DataFrame, values: pl.DataFrame, clock: Clock, context: Mapping[str, pl.Series]
    ) -> pl.DataFrame:
        frame = rows.select(*self.grouping.key, _time(START).alias("window_start"), _time(END).alias("window_end"))
        frame = frame.hstack(values).with_columns(**context)
        if self._discards:
            # A reader adds discarding panes up, and means cannot be added: give it the accumulators too.
            frame = frame.hstack(rows.select(pl.col(name).alias(f"_{name}") for name in self.aggregates.names))
        return frame.with_columns(
            watermark=_time(pl.lit(clock.watermark, dtype=pl.Int64)),
            processing_time=_time(pl.lit(clock.processing_time, dtype=pl.Int64)),
        )

    @property
    def pane_columns(self) -> list[str]:
        """The pane log's columns, in order (the engine adds ``epoch``)."""
        hidden = [f"_{name}" for name in self.aggregates.names] if self._discards else []
        return [
            "window_start", "window_end", *self.grouping.key, *self.grouping.combiners, "pane_timing", "pane_index",
            "pane_is_first", "pane_is_last", "pane_is_retraction", "completeness", "watermark", "processing_time",
            *hidden,
        ]  # fmt: skip

    @cached_property
    def no_panes(self) -> pl.DataFrame:
        """No panes, in the pane log's columns."""
        nothing = self.empty_state()
        none = np.zeros(0, dtype=np.bool_)
        return self._panes(nothing, none, none, _NO_CLOCK)

    def _wake(
        self, end: np.ndarray[tuple[int], np.dtype[np.int64]], passed: np.ndarray[tuple[int], np.dtype[np.uint32]]
    ) -> Wake:
        return Wake.of(self.percentiles, end, passed)


@lru_cache(maxsize=16)
def _kernel(grouping: Grouping, schema: tuple[tuple[str, pl.DataType], ...]) -> Kernel:
    return Kernel(grouping, dict(schema))


def kernel_for(grouping: Grouping, schema: Mapping[str, pl.DataType]) -> Kernel:
    """The kernel of a grouping; a worker process makes it once, not once a partition and epoch."""
    return _kernel(grouping, tuple(schema.items()))


def window_start(window: WindowStrategy, event: Times) -> Times:
    """``AssignWindows``, column-wise: the start of the window of each time.

    Raises:
        SubmissionError: ``ENGINE_WINDOW`` for a strategy that the engine does not know.
    """
    match window:
        case FixedWindows(size=size, offset=offset):
            start: Times = event - np.mod(event - offset, size)
            return start
        case GlobalWindows():
            return np.full(len(event), MIN_TIME)
        case _:
            raise SubmissionError(
                f"the Spark engine does not know the windows {window!r}",
                todo="use FixedWindows or GlobalWindows, or run it on the reference interpreter",
                code="ENGINE_WINDOW",
            )


def window_end(window: WindowStrategy, start: pl.Expr) -> pl.Expr:
    """The end of the window that starts there."""
    return start + window.size if isinstance(window, FixedWindows) else pl.lit(MAX_TIME, dtype=pl.Int64)


def _time(column: str | pl.Expr) -> pl.Expr:
    """Microseconds as a UTC timestamp; the infinities, which no calendar has, as null."""
    expr = pl.col(column) if isinstance(column, str) else column
    finite = pl.when((expr > MIN_TIME) & (expr < MAX_TIME)).then(expr)
    return finite.cast(pl.Datetime("us", "UTC"))


def _completeness(
    clock: Clock, end: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """For each window end the greatest share that the watermark curve claims (``WatermarkCurve.completeness``)."""
    claimed = np.zeros(len(end), dtype=np.float64)
    for percentile, mark in clock.watermarks:
        claimed = np.where(mark >= end, percentile / 100, claimed)
    return claimed
