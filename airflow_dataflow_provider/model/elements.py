"""Elements and panes: the input and the output of a grouping (Dataflow Model, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.windows.window import Key, Window

__all__ = ["Element", "Key", "Pane", "PaneTiming"]


@dataclass(frozen=True, slots=True)
class Element:
    """One row of the input: its columns, its event time, and its arrival time.

    ``window`` is set where windows were assigned before the grouping: it is the window of this copy of the element. A
    retraction takes back an earlier element with the same row and times. Only panes of a retracting grouping become
    such elements.
    """

    row: Mapping[str, Any]
    event_time: Micros
    arrival_time: Micros
    window: Window | None = None
    is_retraction: bool = False


class PaneTiming(StrEnum):
    """Where a pane stands relative to the ordinary watermark and its window's end."""

    EARLY = "EARLY"
    """Fired before ``W_100`` reached the end of the window."""
    ON_TIME = "ON_TIME"
    """The first firing after ``W_100`` reached the end of the window."""
    LATE = "LATE"
    """Every later firing."""
    CORRECTION = "CORRECTION"
    """Written by a batch over an interval, which replaces earlier results."""


@dataclass(frozen=True, slots=True)
class Pane:
    """One result for a key and window.

    ``completeness`` is the share of the window's events, 0 to 1, that the watermark curve claimed at firing;
    ``watermark`` is ``W_100`` then. A retraction takes back exactly ``values``. ``timestamp`` is the event time that
    the result has as an element of a following grouping (see
    :class:`~airflow_dataflow_provider.model.grouping.OutputTime`).
    """

    key: Key
    window: Window
    values: Mapping[str, Any]
    timing: PaneTiming
    index: int
    is_first: bool
    is_last: bool
    is_retraction: bool
    watermark: Micros
    completeness: float
    processing_time: Micros
    timestamp: Micros = field(default=MIN_TIME, compare=False)
