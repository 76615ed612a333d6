"""The last published panes of sessions in an epoch with many firings: each firing retracts those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.spark.kernel.columns import END, INDEX, LAST_PUBLISHED, START, TIMESTAMP
from airflow_dataflow_provider.spark.kernel.session_groups import GROUP

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.session_groups import Groups
    from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask


@dataclass(slots=True)
class SessionLastPublished:
    """Published panes: those of the open windows, then those of the firings.

    Attributes:
        kernel: the grouping's.
        items: the columns that :class:`LastPublishedPanes` keeps.
        owner: for each pane the group that retracts it, or that keeps it.
    """

    kernel: Kernel
    items: pl.DataFrame
    owner: Indices

    @classmethod
    def of(
        cls, kernel: Kernel, sub: pl.DataFrame, rows: pl.DataFrame, values: pl.DataFrame, groups: Groups
    ) -> SessionLastPublished:
        listed = sub.select(pl.Series(GROUP, groups.of_window), LAST_PUBLISHED)
        listed = listed.filter((pl.col(GROUP) >= 0) & (pl.col(LAST_PUBLISHED).list.len() > 0)).explode(LAST_PUBLISHED)
        stood = listed.unnest(LAST_PUBLISHED)
        timestamp = kernel.panes.timestamp(rows).alias(TIMESTAMP)
        made = rows.select(START, END, pl.lit(0, dtype=pl.Int32).alias(INDEX)).with_columns(timestamp).hstack(values)
        items = pl.concat([stood.drop(GROUP), made.select(stood.drop(GROUP).columns)])
        return cls(kernel, items, np.concatenate([stood[GROUP].to_numpy(), groups.follows[: len(rows)]]))

    def unchanged(self, rows: pl.DataFrame, values: pl.DataFrame) -> Mask:
        """Which firings would repeat the last published pane: one of the same bounds and values."""
        firings = len(rows)
        count = np.bincount(self.owner, minlength=firings)[:firings]
        only = np.zeros(max(firings, int(self.owner.max(initial=0)) + 1), np.int64)
        only[self.owner] = np.arange(len(self.owner))
        alone = np.flatnonzero(count == 1)
        before, again = self.items[only[alone]], self.items[len(self.items) - firings :][alone]
        compared = [START, END, *values.columns, *([TIMESTAMP] if self.kernel.last_published.timed else [])]
        same = np.ones(len(alone), np.bool_)
        for name in compared:
            same &= before[name].eq_missing(again[name]).to_numpy()
        unchanged = np.zeros(firings, np.bool_)
        unchanged[alone[same]] = True
        return unchanged

    def number(self, index: Indices) -> None:
        """Set the index of the pane of each firing; an unchanged one has that of the last published pane."""
        numbers = self.items[INDEX].to_numpy().copy()
        numbers[len(numbers) - len(index) :] = index
        self.items = self.items.with_columns(pl.Series(INDEX, numbers, dtype=pl.Int32))

    def retracted(self, rows: pl.DataFrame, unchanged: Mask) -> tuple[pl.DataFrame, Indices]:
        """The panes that the firings retract, in their order; and for each the firing."""
        found = self._of(np.append(~unchanged, False)[np.minimum(self.owner, len(rows))])
        by = self.owner[found]
        return rows[by].select(*self.kernel.grouping.key).hstack(self.items[found]), by

    def left(self, firings: int, sessions: int) -> pl.Series:
        """For each remaining session the list of its last published panes."""
        found = self._of(self.owner >= firings)
        listed = pl.DataFrame({GROUP: self.owner[found] - firings}).hstack(
            [self.items[found].to_struct(LAST_PUBLISHED)]
        ).group_by(GROUP, maintain_order=True).agg(LAST_PUBLISHED)  # fmt: skip
        numbered = pl.DataFrame({GROUP: np.arange(sessions)})
        return numbered.join(listed, on=GROUP, how="left", maintain_order="left")[LAST_PUBLISHED]

    def _of(self, mask: Mask) -> Indices:
        """Some items by owner, and in the order of their windows."""
        found = np.flatnonzero(mask)
        return found[np.lexsort((self.items[START].to_numpy()[found], self.owner[found]))]
