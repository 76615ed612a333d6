"""How the watermark that a grouping sees is held back by the grouping before it.

A watermark waits for the earliest result that an open window can still have: one that it has not completed, or that has
something unpublished. Windows of the next grouping do not expire while any window before is open, or could still open
for an element that is not too late. So nothing is late or expired only because of the grouping before.
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
    """The time that a grouping has let through to the next one so far; neither part ever goes back.

    Attributes:
        curve: the watermarks.
        horizon: the ordinary watermark by which its windows expire.
    """

    curve: WatermarkCurve = NOTHING_KNOWN
    horizon: Micros = MIN_TIME

    def arriving(self, clock: Clock) -> EpochTime:
        """The next grouping's time while an epoch's results come in: its watermark still waits for them."""
        return EpochTime(replace(clock, watermarks=self.curve), min(self.horizon, self.curve.at(100)))

    def after(self, before: EpochTime, *, waiting: Mapping[float, Micros], earliest: Micros) -> tuple[Hold, EpochTime]:
        """Move on once an epoch's results are in.

        Args:
            before: the time of the grouping before.
            waiting: by percentile of the clock, the earliest output time of a window that its watermark waits for;
                nothing where there is none.
            earliest: the least output time that any window open, or still to open, can have.

        Returns:
            The hold from then on, and the next grouping's time.
        """
        clock = before.clock
        held = tuple((percentile, min(mark, waiting.get(percentile, mark))) for percentile, mark in clock.watermarks)
        curve = WatermarkCurve(held).raised_to(self.curve)
        border = max(self.horizon, earliest)
        # At the end of a batch's input the clock is ahead of what a later run will see, and must not be kept.
        kept = Hold(curve if before.horizon == clock.watermark else self.curve, border)
        return kept, EpochTime(replace(clock, watermarks=curve), min(border, curve.at(100)))

    def to_json(self) -> dict[str, Any]:
        return {"curve": self.curve.to_json(), "horizon": iso(self.horizon)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Hold:
        return cls(WatermarkCurve.from_json(document["curve"]), from_iso(document["horizon"]))
