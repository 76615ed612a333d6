"""The windows that are open after an epoch, and what their next panes wait for."""

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
    """Open windows, and what makes the first of them fire.

    Args:
        windows: how many are open.
        watermarks: for each percentile that a trigger looks at, the earliest end of a window that it has not reached.
        processing_time: when the first trigger on processing time is due; None if none is.
        signals: those that would make a window fire.
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
        """Read back :meth:`to_json`; an empty document is of a release that did not tell."""
        return cls(
            document.get("windows", 0),
            tuple(sorted((float(share), from_iso(end)) for share, end in document.get("watermarks", {}).items())),
            from_optional_iso(document.get("processing_time")),
            tuple(document.get("signals", ())),
        )


NOTHING_OPEN: Final = Waiting()
