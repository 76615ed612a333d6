"""The watermark of a :class:`BoundedDelay`, one element at a time."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.watermark_policies import CLOCK_SKEW, BoundedDelay


@dataclass(slots=True)
class BoundedWatermark:
    """The watermark after some elements; it is the same at every percentile.

    Attributes:
        policy: the policy with the bound.
        latest: the greatest event time so far.
    """

    policy: BoundedDelay
    latest: Micros = MIN_TIME

    def see(self, element: Element, now: Micros) -> None:
        """Add an element; one with a wrong clock does not move the watermark."""
        lead = element.event_time - element.arrival_time
        if lead <= self.policy.longest_lead and element.arrival_time <= now + CLOCK_SKEW:
            self.latest = max(self.latest, element.event_time)

    def at(self, *, idle_for: Micros = 0) -> Micros:
        """The watermark.

        Args:
            idle_for: how long the source has been idle, if it is idle by its ``idle_after``.
        """
        return MIN_TIME if self.latest == MIN_TIME else self.latest + idle_for - self.policy.bound
