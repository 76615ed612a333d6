"""The clock of one epoch: everything about time that a trigger may look at."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve


@dataclass(frozen=True, slots=True)
class Clock:
    """Processing time and watermarks, fixed before an epoch's elements are looked at.

    A replayed epoch reads the clock it had the first time, so every pane is the same again. ``signals`` are the names
    of those that were raised since the epoch before.
    """

    processing_time: Micros
    watermarks: WatermarkCurve
    signals: frozenset[str] = frozenset()

    @property
    def watermark(self) -> Micros:
        """The ordinary watermark, ``W_100``."""
        return self.watermarks.at(100)
