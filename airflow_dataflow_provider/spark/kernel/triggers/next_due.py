"""When a partition next has something to do, so that epochs with nothing to say can be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.time import MAX_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows import expired_until
from airflow_dataflow_provider.spark.kernel.triggers.node import Node, Percentiles, States, Windows

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import Clock

_NO_WINDOW = 2**63 - 1


@dataclass(frozen=True, slots=True)
class NextDue:
    """When a partition next has something to do.

    Attributes:
        unreached: for each percentile that the trigger looks at, the least window end that it has not reached.
        first_end: the least window end of all; beyond ``MAX_TIME`` where no window is open.
        next_time: the next processing time at which a trigger becomes due, or ``MAX_TIME``.
        signals: those that would be heard.
        always: a user's own trigger is asked at every boundary.
        left_over: something has come that a trigger on elements publishes when the input ends.
    """

    unreached: dict[float, Micros]
    first_end: Micros = _NO_WINDOW
    next_time: Micros = MAX_TIME
    signals: frozenset[str] = frozenset()
    always: bool = False
    left_over: bool = False

    @classmethod
    def of(
        cls,
        node: Node,
        percentiles: Percentiles,
        signals: frozenset[str],
        states: States,
        now: Windows,
        *,
        always: bool,
        by_element: bool,
    ) -> NextDue:
        """Read it off the open windows, after an epoch."""
        if not len(now):
            return cls({})
        unreached = {}
        for percentile in percentiles.looked_at:
            beyond = now.end[now.end > now.clock.watermarks.at(percentile)]
            if len(beyond):
                unreached[percentile] = int(beyond.min())
        return cls(
            unreached,
            int(now.end.min()),
            int(node.next_timer(states, now).min()),
            signals if signals and now.fresh.any() else frozenset(),
            always,
            by_element and bool(now.fresh.any()),
        )

    def is_due(self, clock: Clock, horizon: Micros, lateness: Micros) -> bool:
        """Whether an epoch without elements could fire or expire anything here."""
        return (
            any(clock.watermarks.at(percentile) >= end for percentile, end in self.unreached.items())
            or self.first_end <= expired_until(horizon, lateness)
            or self.next_time <= clock.timers
            or bool(self.signals & clock.signals)
            or (self.always and self.first_end != _NO_WINDOW)
            or (self.left_over and clock.watermark == MAX_TIME)
        )

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        return {
            "unreached": {percentile_text(percentile): iso(end) for percentile, end in self.unreached.items()},
            "first_end": None if self.first_end == _NO_WINDOW else iso(self.first_end),
            "next_time": None if self.next_time == MAX_TIME else iso(self.next_time),
            "signals": sorted(self.signals),
            "always": self.always,
            "left_over": self.left_over,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> NextDue:
        """Read back :meth:`to_json`."""
        return cls(
            {float(percentile): from_iso(end) for percentile, end in document["unreached"].items()},
            _NO_WINDOW if document["first_end"] is None else from_iso(document["first_end"]),
            MAX_TIME if document.get("next_time") is None else from_iso(document["next_time"]),
            frozenset(document.get("signals", ())),
            document.get("always", False),
            document.get("left_over", False),
        )
