"""The last published pane of each window, kept so that it can be retracted.

A window that cannot merge has at most one, kept in flat columns. One that can merge may have several: those of the
windows that became part of it are in a list, with their own bounds. Values are kept as they were published, so that a
retraction carries exactly what was emitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.kernel.columns import END, INDEX, LAST_PUBLISHED, START, TIMESTAMP
from airflow_dataflow_provider.spark.kernel.triggers.node import Mask

_STANDS = f"{LAST_PUBLISHED}.stands"


class LastPublished(ABC):
    """Columns of open windows that hold their last published panes.

    Args:
        values: the types of the output columns.
        timed: compare the event times of panes, too, which the next grouping reads.
    """

    def __init__(self, values: Mapping[str, pl.DataType], *, timed: bool) -> None:
        self.values, self.timed = dict(values), timed

    @abstractmethod
    def columns(self) -> dict[str, pl.DataType]:
        """The state columns; null where no pane was published."""

    @abstractmethod
    def is_unchanged(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> Mask:
        """Where a pane would repeat the last published one; ``empty`` windows publish nothing."""

    @abstractmethod
    def retractions(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """All last published panes of these windows, and for each the position of its window.

        The frame has the rows' columns, with the values, bounds, index and timestamp of the panes.
        """

    @abstractmethod
    def set(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> pl.DataFrame:
        """The rows with these panes as the last published ones; none where ``empty``. ``INDEX`` is that of the next."""


def _value(name: str) -> str:
    return f"{LAST_PUBLISHED}.{name}"


class LastPublishedPane(LastPublished):
    """For windows that do not merge."""

    @override
    def columns(self) -> dict[str, pl.DataType]:
        """Whether a pane stands, and a column for each of its values."""
        values = {_value(name): dtype for name, dtype in self.values.items()}
        return {_STANDS: pl.Boolean(), _value(TIMESTAMP): pl.Int64(), **values}

    @override
    def is_unchanged(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> Mask:
        stands = rows[_STANDS].fill_null(value=False).to_numpy()
        same = stands & ~empty
        if same.any():
            for name in self.values:
                same = same & values[name].eq_missing(rows[_value(name)]).to_numpy()
            if self.timed:
                same = same & timestamp.eq_missing(rows[_value(TIMESTAMP)]).to_numpy()
        unsaid: Mask = same | (empty & ~stands)
        return unsaid

    @override
    def retractions(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        stands = rows[_STANDS].fill_null(value=False)
        found = rows.filter(stands).with_columns(
            pl.col(INDEX) - 1,
            pl.col(_value(TIMESTAMP)).alias(TIMESTAMP),
            *(pl.col(_value(name)).alias(name) for name in self.values),
        )
        return found, np.flatnonzero(stands.to_numpy())

    @override
    def set(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> pl.DataFrame:
        return rows.with_columns(
            pl.Series(_STANDS, ~empty),
            timestamp.alias(_value(TIMESTAMP)),
            *(values[name].alias(_value(name)) for name in self.values),
        )


class LastPublishedPanes(LastPublished):
    """For windows that can merge."""

    @property
    def _item(self) -> dict[str, pl.DataType]:
        return {START: pl.Int64(), END: pl.Int64(), INDEX: pl.Int32(), TIMESTAMP: pl.Int64(), **self.values}

    @override
    def columns(self) -> dict[str, pl.DataType]:
        """A list of panes: of windows that have merged, several stand."""
        return {LAST_PUBLISHED: pl.List(pl.Struct(self._item))}

    @override
    def is_unchanged(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> Mask:
        """Only one pane of the same bounds can be the same."""
        many = rows[LAST_PUBLISHED].list.len().fill_null(0).to_numpy()
        same = (many == 1) & ~empty
        if same.any():
            only = rows.select(pl.col(LAST_PUBLISHED).list.first()).unnest(LAST_PUBLISHED)
            same = same & (only[START] == rows[START]).fill_null(value=False).to_numpy()
            same = same & (only[END] == rows[END]).fill_null(value=False).to_numpy()
            for name in self.values:
                same = same & values[name].eq_missing(only[name]).to_numpy()
            if self.timed:
                same = same & timestamp.eq_missing(only[TIMESTAMP]).to_numpy()
        unsaid: Mask = same | (empty & (many == 0))
        return unsaid

    @override
    def retractions(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        kept = [name for name in rows.columns if name not in self._item]
        found = (
            rows.select(kept)
            .with_row_index("_at")
            .filter(pl.col(LAST_PUBLISHED).list.len() > 0)
            .explode(LAST_PUBLISHED)
            .unnest(LAST_PUBLISHED)
        )
        return found, found["_at"].to_numpy().astype(np.int64)

    @override
    def set(self, rows: pl.DataFrame, values: pl.DataFrame, timestamp: pl.Series, empty: Mask) -> pl.DataFrame:
        """One pane stands, in place of the whole list."""
        items = rows.select(START, END, pl.col(INDEX) - 1).with_columns(timestamp.alias(TIMESTAMP)).hstack(values)
        listed = items.select(pl.concat_list(pl.struct(*self._item)).alias(LAST_PUBLISHED))[LAST_PUBLISHED]
        none = pl.lit(None, dtype=self.columns()[LAST_PUBLISHED])
        return rows.with_columns(listed).with_columns(
            pl.when(pl.lit(pl.Series(~empty))).then(pl.col(LAST_PUBLISHED)).otherwise(none).alias(LAST_PUBLISHED)
        )
