"""The clock of one epoch: all times that a trigger may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.time import Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import WatermarkCurve


@dataclass(frozen=True, slots=True)
class Clock:
    """Processing time and watermarks, fixed before an epoch's elements are processed.

    A replayed epoch reads the clock of its first try, so its panes are the same. ``signals`` are the names of the
    signals that the epoch takes. ``timers_until`` is the processing time that triggers see, where it is not the real
    one: in a batch no timer is due before the input ends (:mod:`airflow_dataflow_provider.model.batch`).
    """

    processing_time: Micros
    watermarks: WatermarkCurve
    signals: frozenset[str] = frozenset()
    timers_until: Micros | None = None

    @property
    def timers(self) -> Micros:
        """Processing time as triggers see it; panes carry the real one."""
        return self.processing_time if self.timers_until is None else self.timers_until

    @property
    def watermark(self) -> Micros:
        """The ordinary watermark, ``W_100``."""
        return self.watermarks.at(100)

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "processing_time": iso(self.processing_time),
            "watermarks": self.watermarks.to_json(),
        }
        if self.signals:
            document["signals"] = sorted(self.signals)
        if self.timers_until is not None:
            document["timers_until"] = iso(self.timers_until)
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Clock:
        return cls(
            from_iso(document["processing_time"]),
            WatermarkCurve.from_json(document["watermarks"]),
            frozenset(document.get("signals", ())),
            from_iso(document["timers_until"]) if "timers_until" in document else None,
        )


@dataclass(frozen=True, slots=True)
class EpochTime:
    """The time of an epoch as one grouping sees it.

    Attributes:
        clock: fires its panes.
        horizon: the ordinary watermark by which its elements are late or expired and its windows expire. It is the
            clock's own, except at the end of a batch's input: every window fires, and stays open for a later run.
    """

    clock: Clock
    horizon: Micros
