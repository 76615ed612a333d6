"""The table that panes add up to, worked out pane by pane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import DISCARDING
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.testing.frames import panes_of

if TYPE_CHECKING:
    import polars as pl

Key = tuple[Any, ...]


class Table:
    """What stands after each pane: the last one of each key and window that was not taken back."""

    def __init__(self) -> None:
        self._stands: dict[Key, Key] = {}

    @staticmethod
    def is_known(pipeline: Pipeline) -> bool:
        """Whether panes can be taken as they are: those of a discarding grouping would have to be added up."""
        return pipeline.grouping.refinement is not DISCARDING

    def add(self, panes: Sequence[Pane], record: EpochRecord) -> None:
        """Take what an epoch has published; an interval's epoch replaces what stood there."""
        if record.interval is not None:
            for place in [place for place in self._stands if record.interval.contains(place[1].end)]:
                del self._stands[place]
        for pane in panes:
            place = (pane.key, pane.window)
            if pane.is_retraction:
                self._stands.pop(place, None)
            else:
                self._stands[place] = tuple(_value(value) for value in pane.values.values())

    def rows(self) -> dict[Key, Key]:
        """By key and window, the values."""
        return self._stands


def table_of(frame: pl.DataFrame, pipeline: Pipeline) -> dict[Key, Key]:
    """What a reader of the pane log shows."""
    return {
        (pane.key, pane.window): tuple(_value(value) for value in pane.values.values())
        for pane in panes_of(frame, pipeline.grouping)
    }


def _value(value: Any) -> Any:
    return tuple(map(_value, value)) if isinstance(value, list | tuple) else value
