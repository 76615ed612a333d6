"""The hold of a watermark: how a grouping holds back the watermark of the next one.

The watermark of the next grouping waits for the earliest result of an open window: a window that is not complete, or
has unpublished elements. Windows of the next grouping do not expire while a window of this one is open, or may still
open for an element that is not too late. So no element is late or expired only because of the grouping before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve


@dataclass(frozen=True, slots=True)
class Hold:
    """The watermarks that a grouping has passed on to the next one; they never go back.

    Attributes:
        curve: the watermarks.
        horizon: the ordinary watermark by which its windows expire.
    """

    curve: WatermarkCurve = NOTHING_KNOWN
    horizon: Micros = MIN_TIME

    def arriving(self, clock: Clock) -> EpochTime:
        """The next grouping's time while an epoch's results arrive: its watermark still waits for them."""
        return EpochTime(replace(clock, watermarks=self.curve), min(self.horizon, self.curve.at(100)))

    def after(self, before: EpochTime, *, waiting: Mapping[float, Micros], earliest: Micros) -> tuple[Hold, EpochTime]:
        """Advance the hold after an epoch's results have arrived.

        Args:
            before: the time of the grouping before.
            waiting: by percentile, the earliest output time of a window for which the watermark waits; a percentile
                without such a window is absent.
            earliest: the least output time of any window that is open or may still open.

        Returns:
            The new hold, and the next grouping's time.
        """
        clock = before.clock
        held = tuple((percentile, min(mark, waiting.get(percentile, mark))) for percentile, mark in clock.watermarks)
        curve = WatermarkCurve(held).raised_to(self.curve)
        border = max(self.horizon, earliest)
        # At the end of a batch's input the clock is ahead of the clock of a later run, so the hold does not keep it.
        kept = Hold(curve if before.horizon == clock.watermark else self.curve, border)
        return kept, EpochTime(replace(clock, watermarks=curve), min(border, curve.at(100)))

    def to_json(self) -> dict[str, Any]:
        return {"curve": self.curve.to_json(), "horizon": iso(self.horizon)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Hold:
        return cls(WatermarkCurve.from_json(document["curve"]), from_iso(document["horizon"]))
