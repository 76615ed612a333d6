"""Which rows come too late for their windows, judged on the map side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.spark.kernel.columns import END
from airflow_dataflow_provider.spark.values.intervals import contains

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.interval import Interval


@dataclass(slots=True)
class LateCheck:
    """Judges rows by the end of their window, and counts them.

    Args:
        horizon: the ordinary watermark by which rows are late or expired.
        allowed_lateness: how long after its end a window still takes rows.
        interval: only windows of this interval; None: all.

    Attributes:
        windowed: how many rows have a window.
        late: how many of them came after their window was complete, but in time.
        expired: those that came after their window had expired; None where there are none.
    """

    horizon: Micros
    allowed_lateness: Micros
    interval: Interval | None = None
    windowed: int = 0
    late: int = 0
    expired: pl.DataFrame | None = None

    def in_time(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows whose window has not expired."""
        if self.interval is not None:
            rows = rows.filter(contains(self.interval, pl.col(END)))
        self.windowed += len(rows)
        if self.horizon == MIN_TIME or not len(rows):
            return rows
        end = rows[END].to_numpy()
        expired = end <= expired_until(self.horizon, self.allowed_lateness)
        self.late += int((end <= self.horizon).sum()) - int(expired.sum())
        if not expired.any():
            return rows
        self.expired = rows.filter(expired)
        return rows.filter(~expired)
