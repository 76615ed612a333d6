"""Durations for people: as exact as one reads them."""

from __future__ import annotations

from typing import Final

from airflow_dataflow_provider.model.time import Micros, duration, duration_text

_GRAINS: Final = tuple(
    (duration(least), duration(grain))
    for least, grain in (("1d", "1h"), ("1h", "1m"), ("1m", "1s"), ("1s", "100ms"), ("1ms", "1ms"))
)


def coarse(span: Micros) -> str:
    """A duration in its two largest units, rounded: ``"21h41m"``, ``"3d"``, ``"-2m"``."""
    for least, grain in _GRAINS:
        if abs(span) >= least:
            return duration_text(round(span / grain) * grain)
    return duration_text(span)
