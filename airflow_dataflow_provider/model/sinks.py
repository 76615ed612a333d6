"""Sinks: where panes go, and which changelog each one takes."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text


class Sink(ABC):  # noqa: B024 - what it does is an engine's; the model only says what it takes
    """Takes the panes of an epoch as one idempotent commit, so that a replayed epoch changes nothing."""

    __slots__ = ()

    takes_retractions: bool = False
    """Whether it understands a retraction followed by its replacement (a redo + undo changelog)."""


@dataclass(frozen=True, slots=True, repr=False, init=False)
class PaneLog(Sink):
    """Every pane, appended as Parquet and committed by epoch.

    :mod:`airflow_dataflow_provider.tables.pane_log` reads it.

    Args:
        path: a folder of its own. A relative one lies under the state URL, and so by default does ``panes``.
        retention: how long panes are kept one by one after they were published. The table has them after that, and
            :meth:`~airflow_dataflow_provider.tables.pane_log.PaneLogReader.current` misses nothing. None: for ever.
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
