"""When an epoch without elements next has something to do, so that drivers can leave the others out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.time import MAX_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows.window import expired_until

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime

NEVER = 2**63 - 1
"""Later than any time, ``MAX_TIME`` included."""


@dataclass(frozen=True, slots=True)
class NextDue:
    """What has to happen to the clock before an epoch without elements fires or expires a window.

    Each compiled trigger says it of itself (:meth:`Node.next_due`), from the same thresholds by which it fires; a tree
    is due no earlier than the first of its parts.

    Attributes:
        watermarks: for each percentile the time that its watermark has to reach.
        processing_time: the processing time that has to come.
        signals: those that would be heard.
        every_epoch: a user's own trigger has to be asked at every boundary.
        end_of_input: elements are left over that a trigger on elements publishes when the input ends.
        first_end: the least end of an open window, for its expiry.
    """

    watermarks: Mapping[float, Micros] = field(default_factory=dict)
    processing_time: Micros = NEVER
    signals: frozenset[str] = frozenset()
    every_epoch: bool = False
    end_of_input: bool = False
    first_end: Micros = NEVER

    def or_when(self, other: NextDue) -> NextDue:
        """Due when either is."""
        both = {**self.watermarks}
        for percentile, time in other.watermarks.items():
            both[percentile] = min(time, both.get(percentile, NEVER))
        return NextDue(
            both,
            min(self.processing_time, other.processing_time),
            self.signals | other.signals,
            self.every_epoch or other.every_epoch,
            self.end_of_input or other.end_of_input,
            min(self.first_end, other.first_end),
        )

    def or_expiry_of(self, first_end: Micros) -> NextDue:
        """Due, too, when a window that ends then expires."""
        return replace(self, first_end=min(self.first_end, first_end))

    def is_due(self, time: EpochTime, lateness: Micros) -> bool:
        """Whether an epoch without elements could fire or expire anything."""
        return (
            self.every_epoch
            or any(time.clock.watermarks.at(percentile) >= mark for percentile, mark in self.watermarks.items())
            or self.processing_time <= time.clock.timers
            or bool(self.signals & time.clock.signals)
            or (self.end_of_input and time.clock.watermark == MAX_TIME)
            or self.first_end <= expired_until(time.horizon, lateness)
        )

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        return {
            "unreached": {percentile_text(percentile): iso(time) for percentile, time in self.watermarks.items()},
            "first_end": None if self.first_end == NEVER else iso(self.first_end),
            "next_time": None if self.processing_time == NEVER else iso(self.processing_time),
            "signals": sorted(self.signals),
            "always": self.every_epoch,
            "left_over": self.end_of_input,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> NextDue:
        """Read back :meth:`to_json`."""
        first_end, next_time = document["first_end"], document.get("next_time")
        return cls(
            {float(percentile): from_iso(time) for percentile, time in document["unreached"].items()},
            NEVER if next_time is None else from_iso(next_time),
            frozenset(document.get("signals", ())),
            document.get("always", False),
            document.get("left_over", False),
            NEVER if first_end is None else from_iso(first_end),
        )
