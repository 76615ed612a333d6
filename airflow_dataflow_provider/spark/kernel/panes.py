"""Panes as frames: the pane log's columns, from open windows that fire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import PaneTiming
from airflow_dataflow_provider.model.grouping import EARLIEST as EARLIEST_TIME
from airflow_dataflow_provider.model.grouping import END_OF_WINDOW, Grouping
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.spark.kernel.columns import EARLIEST, END, INDEX, LATEST, PASSED, START, TIMESTAMP
from airflow_dataflow_provider.spark.kernel.triggers.node import Mask, Percentiles, Times

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.aggregates import Aggregates

_TIMINGS = pl.Series([PaneTiming.EARLY.value, PaneTiming.ON_TIME.value, PaneTiming.LATE.value])


class Panes:
    """Makes the panes of one grouping.

    Args:
        grouping: whose panes.
        aggregates: its combiners.
        percentiles: what its trigger looks at.
        hidden: whether panes carry their accumulators, for a reader that adds them up.
        timestamped: whether they carry the event time that they have in the next grouping.
    """

    def __init__(
        self, grouping: Grouping, aggregates: Aggregates, percentiles: Percentiles, *, hidden: bool, timestamped: bool
    ) -> None:
        self.grouping, self.percentiles = grouping, percentiles
        self._hidden = aggregates.names if hidden else []
        self._timestamped = timestamped
        self.columns = [
            "window_start", "window_end", *grouping.key, *grouping.combiners, "pane_timing", "pane_index",
            "pane_is_first", "pane_is_last", "pane_is_retraction", "completeness", "watermark", "processing_time",
            *(f"_{name}" for name in self._hidden), *([TIMESTAMP] if timestamped else []),
        ]  # fmt: skip

    def timestamp(self, rows: pl.DataFrame) -> pl.Series:
        """The event time of these windows' results in the next grouping, in microseconds."""
        policy = self.grouping.output_time
        if policy is END_OF_WINDOW:
            return rows[END] - 1
        return rows[EARLIEST if policy is EARLIEST_TIME else LATEST]

    def inserts(self, rows: pl.DataFrame, values: pl.DataFrame, is_last: Mask, clock: Clock) -> pl.DataFrame:
        """The panes of windows as they stand; their index is still that of the pane to come."""
        timing = self._timing(rows, clock)
        frame = self._frame(rows, values, timing, clock)
        return frame.with_columns(
            pane_index=rows[INDEX],
            pane_is_first=rows[INDEX] == 0,
            pane_is_last=pl.Series(is_last, dtype=pl.Boolean),
            pane_is_retraction=pl.lit(value=False),
            **({TIMESTAMP: self.timestamp(rows)} if self._timestamped else {}),
        ).select(self.columns)

    def retractions(self, stood: pl.DataFrame, by: pl.DataFrame, clock: Clock) -> pl.DataFrame:
        """What takes back these panes, each because of the window beside it."""
        timing = self._timing(by, clock)
        return (
            self._frame(stood, stood.select(*self.grouping.combiners), timing, clock)
            .with_columns(
                pane_index=stood[INDEX],
                pane_is_first=pl.lit(value=False),
                pane_is_last=pl.lit(value=False),
                pane_is_retraction=pl.lit(value=True),
                **({TIMESTAMP: stood[TIMESTAMP]} if self._timestamped else {}),
            )
            .select(self.columns)
        )

    def _timing(self, rows: pl.DataFrame, clock: Clock) -> pl.Series:
        complete = rows[END].to_numpy() <= clock.watermark
        was_complete = (rows[PASSED].to_numpy() & self.percentiles.bit(100.0)) != 0
        return _TIMINGS[np.where(~complete, 0, np.where(was_complete, 2, 1))]

    def _frame(self, rows: pl.DataFrame, values: pl.DataFrame, timing: pl.Series, clock: Clock) -> pl.DataFrame:
        frame = rows.select(*self.grouping.key, _time(START).alias("window_start"), _time(END).alias("window_end"))
        claimed = pl.Series(_completeness(clock, rows[END].to_numpy()), dtype=pl.Float64)
        return frame.hstack(values).with_columns(
            pane_timing=timing,
            completeness=claimed,
            watermark=_time(pl.lit(clock.watermark, dtype=pl.Int64)),
            processing_time=_time(pl.lit(clock.processing_time, dtype=pl.Int64)),
            **{f"_{name}": rows[name] for name in self._hidden},
        )


def _time(column: str | pl.Expr) -> pl.Expr:
    """Microseconds as a UTC timestamp; the infinities, which no calendar has, as null."""
    expr = pl.col(column) if isinstance(column, str) else column
    finite = pl.when((expr > MIN_TIME) & (expr < MAX_TIME)).then(expr)
    return finite.cast(pl.Datetime("us", "UTC"))


def _completeness(clock: Clock, end: Times) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """For each window end the greatest share that the watermark curve claims (``WatermarkCurve.completeness``)."""
    claimed = np.zeros(len(end), dtype=np.float64)
    for percentile, mark in clock.watermarks:
        claimed = np.where(mark >= end, percentile / 100, claimed)
    return claimed
