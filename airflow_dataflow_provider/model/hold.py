"""How the watermark that a grouping sees is held back by the grouping before it (DESIGN 3.10).

A watermark waits for the earliest result that an open window can still have: one that it has not completed, or that has
something unpublished. Windows of the next grouping do not expire while any window before is open, or could still open
for an element that is not too late. So nothing is late or expired only because of the grouping before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock


@dataclass(frozen=True, slots=True)
class Hold:
    """What a grouping has been told so far; neither part ever goes back.

    Attributes:
        curve: the watermarks that stand.
        horizon: the ordinary watermark by which its windows expire.
    """

    curve: WatermarkCurve = NOTHING_KNOWN
    horizon: Micros = MIN_TIME

    def arriving(self, clock: Clock) -> tuple[Clock, Micros]:
        """Clock and horizon while an epoch's results come in: the watermark still waits for them."""
        return replace(clock, watermarks=self.curve), min(self.horizon, self.curve.at(100))

    def after(
        self, clock: Clock, horizon: Micros, *, waiting: Mapping[float, Micros], earliest: Micros
    ) -> tuple[Hold, Clock, Micros]:
        """Once they are in.

        Args:
            clock: of the grouping before.
            horizon: of the grouping before.
            waiting: by percentile of the clock, the earliest output time of a window that its watermark waits for;
                nothing where there is none.
            earliest: the least output time that any window open, or still to open, can have.

        Returns:
            The hold from then on; the next grouping's clock and horizon.
        """
        held = tuple((percentile, min(mark, waiting.get(percentile, mark))) for percentile, mark in clock.watermarks)
        curve = WatermarkCurve(held).raised_to(self.curve)
        border = max(self.horizon, earliest)
        # At the end of a batch's input the clock is ahead of what a later run will see; it is not what stands.
        stands = Hold(curve if horizon == clock.watermark else self.curve, border)
        return stands, replace(clock, watermarks=curve), min(border, curve.at(100))

    def to_json(self) -> dict[str, Any]:
        return {"curve": self.curve.to_json(), "horizon": iso(self.horizon)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Hold:
        return cls(WatermarkCurve.from_json(document["curve"]), from_iso(document["horizon"]))
