"""Converts published rows to panes of the model, to compare them with the panes of the reference."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.model.pipeline import RESERVED_COLUMNS
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_micros
from airflow_dataflow_provider.model.windows import Window

if TYPE_CHECKING:
    import polars as pl

    from airflow_dataflow_provider.model.grouping import Grouping


def panes_of(frame: pl.DataFrame, grouping: Grouping) -> list[Pane]:
    """The rows of :meth:`~airflow_dataflow_provider.tables.pane_log.PaneLogReader.panes`, in their order."""
    own = {*grouping.key, *RESERVED_COLUMNS}
    values = [name for name in frame.columns if name not in own and not name.startswith("_")]
    return [_pane(row, grouping, values) for row in frame.iter_rows(named=True)]


def _pane(row: dict[str, Any], grouping: Grouping, values: list[str]) -> Pane:
    # Infinite times are null in a frame; the completeness tells which infinity the watermark is.
    everything_claimed = row["completeness"] == 1.0
    return Pane(
        key=tuple(row[column] for column in grouping.key),
        window=Window(micros(row["window_start"], MIN_TIME), micros(row["window_end"], MAX_TIME)),
        values={name: row[name] for name in values},
        timing=PaneTiming(row["pane_timing"]),
        index=row["pane_index"],
        is_first=row["pane_is_first"],
        is_last=row["pane_is_last"],
        is_retraction=row["pane_is_retraction"],
        watermark=micros(row["watermark"], MAX_TIME if everything_claimed else MIN_TIME),
        completeness=row["completeness"],
        processing_time=micros(row["processing_time"], MIN_TIME),
    )


def micros(moment: dt.datetime | None, otherwise: Micros) -> Micros:
    """A time of a row; ``otherwise`` for a null."""
    return otherwise if moment is None else to_micros(moment)
