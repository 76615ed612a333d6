"""What is published in a pane log: one small document an epoch, naming the data files that count.

A data file that no commit names does not exist for readers, so they see whole epochs only, and a replayed epoch changes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.time import Micros, from_iso, iso

HEADER = "pane_log.json"
COMMITS = "commits"
DATA = "data"
POINTER = "pane_log.json"
"""Under a state URL: where that state's pane log is."""

PER_FOLDER = 1_000


@dataclass(frozen=True, slots=True)
class PaneCommit:
    """The panes of one epoch.

    Attributes:
        epoch: the epoch's number.
        files: data files, in the order of their panes.
        panes: the number of rows in them.
        replaces: windows whose end lies in ``(from, to]`` are replaced by this epoch's; None: panes add to what stands.
        mode: the runtime mode that published them.
        committed_at: processing time.
    """

    epoch: int
    files: tuple[str, ...]
    panes: int
    replaces: tuple[Micros, Micros] | None
    mode: str
    committed_at: Micros

    def to_json(self) -> dict[str, Any]:
        """The commit document."""
        return {
            "epoch": self.epoch,
            "files": list(self.files),
            "panes": self.panes,
            "replaces": None if self.replaces is None else [iso(self.replaces[0]), iso(self.replaces[1])],
            "mode": self.mode,
            "committed_at": iso(self.committed_at),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> PaneCommit:
        """Read back :meth:`to_json`."""
        replaces = document["replaces"]
        return cls(
            document["epoch"],
            tuple(document["files"]),
            document["panes"],
            None if replaces is None else (from_iso(replaces[0]), from_iso(replaces[1])),
            document["mode"],
            from_iso(document["committed_at"]),
        )

    @staticmethod
    def path(epoch: int) -> str:
        """Where an epoch's commit is; grouped, so that no folder grows without bound."""
        return f"{COMMITS}/{epoch // PER_FOLDER * PER_FOLDER:012d}/{epoch:012d}.json"
