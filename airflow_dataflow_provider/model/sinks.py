"""Sinks: where panes go, and which changelog each one takes."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import DefinitionError


class Sink(ABC):  # noqa: B024 - what it does is an engine's; the model only says what it takes
    """Takes the panes of an epoch as one idempotent commit, so that a replayed epoch changes nothing."""

    __slots__ = ()

    takes_retractions: bool = False
    """Whether it understands a retraction followed by its replacement (a redo + undo changelog)."""


@dataclass(frozen=True, slots=True, repr=False)
class PaneLog(Sink):
    """Every pane, appended as Parquet and committed by epoch.

    :mod:`airflow_dataflow_provider.tables.pane_log` reads it.

    Args:
        path: a folder of its own. A relative one lies under the state URL, and so by default does ``panes``.
    """

    path: str = "panes"
    takes_retractions = True

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise DefinitionError(f"PaneLog needs a path, got {self.path!r}", code="DEFINITION_SINK")

    def __repr__(self) -> str:
        return "PaneLog()" if self.path == "panes" else f"PaneLog({self.path!r})"
