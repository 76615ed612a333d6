"""Sinks: where panes are written, and which changelog each sink takes."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text


class Sink(ABC):  # noqa: B024 - engines implement it; the model only describes it
    """Takes the panes of an epoch as one idempotent commit, so that a replayed epoch changes nothing."""

    __slots__ = ()

    takes_retractions: bool = False
    """Whether it takes a retraction followed by its replacement (a redo + undo changelog)."""


@dataclass(frozen=True, slots=True, repr=False, init=False)
class PaneLog(Sink):
    """Every pane, appended as Parquet and committed by epoch.

    :mod:`airflow_dataflow_provider.tables.pane_log` reads it.

    Args:
        path: a folder for this pane log alone. A relative one lies under the state URL, as the default ``panes`` does.
        retention: how long single panes are kept after they were published. None: for ever. The current table
            (:meth:`~airflow_dataflow_provider.tables.pane_log.PaneLogReader.current`) stays complete.
    """

    path: str = "panes"
    retention: Micros | None = None
    takes_retractions = True

    def __init__(self, path: str = "panes", *, retention: Duration | None = None) -> None:
        if not isinstance(path, str) or not path:
            raise DefinitionError(f"PaneLog needs a path, got {path!r}", code="DEFINITION_SINK")
        object.__setattr__(self, "path", path)
        kept = None if retention is None else duration(retention, what="PaneLog retention")
        if kept is not None and kept <= 0:
            raise DefinitionError(
                f"PaneLog(retention={retention!r}) keeps no pane",
                hint='give a positive duration, such as "30d", or leave it out to keep all',
                code="DEFINITION_SINK",
            )
        object.__setattr__(self, "retention", kept)

    def identity(self) -> PaneLog:
        """The path without the retention, which may change from run to run."""
        return PaneLog(self.path)

    def __repr__(self) -> str:
        parts = [] if self.path == "panes" else [repr(self.path)]
        if self.retention is not None:
            parts.append(f"retention={duration_text(self.retention)!r}")
        return f"PaneLog({', '.join(parts)})"
