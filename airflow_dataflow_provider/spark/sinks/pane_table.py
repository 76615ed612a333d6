"""The table that panes add up to, as a fold: the panes that still count, and more panes, give those that count then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.spark.aggregates import Aggregates
from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
from airflow_dataflow_provider.spark.values.intervals import contains

EPOCH = "epoch"


@dataclass(frozen=True, slots=True)
class PaneTable:
    """How panes become a table.

    Args:
        key: the key columns.
        discarding: whether a window's panes are added up; else the last one stands.
        has_steps: whether results pass steps after the last grouping. The rows that these have made of a pane stand
            together, and nothing can be added up.
        aggregates: what adds discarding panes up. Without, those of a window are kept side by side.
    """

    key: Sequence[str]
    discarding: bool
    has_steps: bool = False
    aggregates: Aggregates | None = None

    def fold(self, panes: pl.DataFrame, intervals: Iterable[tuple[int, Interval]]) -> pl.DataFrame:
        """The panes that still count for the table.

        Args:
            panes: in the order of publication, with their :data:`EPOCH`; also such as a fold has given.
            intervals: the intervals that were replaced, by the epoch that did it: earlier panes of windows that end in
                one of them count no more.
        """
        end = pl.col("window_end").dt.epoch("us")
        for epoch, interval in intervals:
            panes = panes.filter(~((pl.col(EPOCH) < epoch) & contains(interval, end)))
        by = [*self.key, "window_start", "window_end"]
        if not (self.discarding or self.has_steps):
            last = panes.group_by(by, maintain_order=True).last().select(panes.columns)
            return last.filter(~pl.col("pane_is_retraction"))
        panes = panes.with_columns(_begins_anew().cum_sum().over(by).alias("_generation"))
        panes = panes.filter(pl.col("_generation") == pl.col("_generation").max().over(by)).drop("_generation")
        if self.has_steps:
            return panes if self.discarding else panes.filter(_of_the_last_pane().over(by))
        return panes if self.aggregates is None else self._added_up(panes, by, self.aggregates)

    def _added_up(self, panes: pl.DataFrame, by: list[str], aggregates: Aggregates) -> pl.DataFrame:
        """One row a window: its last pane's, with what all of them say together."""
        hidden = {f"_{name}": name for name in aggregates.names}
        values = [item.name for item in aggregates.items]
        last = [name for name in panes.columns if name not in {*by, *hidden, *values}]
        with sums_that_fit():
            grouped = panes.rename(hidden).group_by(by, maintain_order=True)
            merged = grouped.agg(*aggregates.merge(), pl.col(last).last())
            added = merged.hstack(aggregates.extract(merged))
        return added.rename({name: shown for shown, name in hidden.items()}).select(panes.columns)


def _begins_anew() -> pl.Expr:
    """Within a key and window, in order: a row with which a window begins anew.

    That is the first row of its first pane; or of a later one where a step has dropped the first.
    """
    index, stands = pl.col("pane_index"), ~pl.col("pane_is_retraction")
    same_pane = stands.shift() & (index.shift() == index) & (pl.col(EPOCH).shift() == pl.col(EPOCH))
    first = pl.col("pane_is_first") & ~same_pane.fill_null(value=False)
    return stands & (first | (stands.shift() & (index < index.shift())).fill_null(value=False))


def _of_the_last_pane() -> pl.Expr:
    """Within a key and window, in order: whether a row is of the last pane, if that stands."""
    taken_back = pl.col("pane_is_retraction")
    return ~taken_back & ~taken_back.last() & (pl.col("pane_index") == pl.col("pane_index").last())
