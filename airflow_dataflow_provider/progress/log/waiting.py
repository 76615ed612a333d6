"""The windows that are open after an epoch, and the conditions of their next panes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_dataflow_provider.model.time import Micros, from_iso
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.progress.store.documents import from_optional_iso, optional_iso
from airflow_dataflow_provider.progress.store.store import Json


@dataclass(frozen=True, slots=True)
class Waiting:
    """Open windows, and the conditions under which the first of them fires.

    Args:
        windows: the number of open windows.
        watermarks: for each percentile of a trigger, the earliest end of a window that the watermark has not reached.
        processing_time: the time at which the first trigger on processing time is due; None if there is none.
        signals: the signals that would fire a window.
    """

    windows: int = 0
    watermarks: tuple[tuple[float, Micros], ...] = ()
    processing_time: Micros | None = None
    signals: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """``{"windows": ..., "watermarks": {"97": ...}, "processing_time": ..., "signals": [...]}``."""
        return {
            "windows": self.windows,
            "watermarks": {percentile_text(share): optional_iso(end) for share, end in self.watermarks},
            "processing_time": optional_iso(self.processing_time),
            "signals": list(self.signals),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Waiting:
        """The value that :meth:`to_json` wrote; an empty document is of a release that did not record it."""
        return cls(
            document.get("windows", 0),
            tuple(sorted((float(share), from_iso(end)) for share, end in document.get("watermarks", {}).items())),
            from_optional_iso(document.get("processing_time")),
            tuple(document.get("signals", ())),
        )


NOTHING_OPEN: Final = Waiting()
