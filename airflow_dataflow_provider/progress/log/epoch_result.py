"""The result of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS, RowCounts
from airflow_dataflow_provider.progress.log.waiting import NOTHING_OPEN, Waiting
from airflow_dataflow_provider.progress.store.store import Json
from airflow_dataflow_provider.progress.store.written_file import WrittenFile

_FILES = ("expired_files", "rejected_files", "pane_files")


@dataclass(frozen=True, slots=True)
class EpochResult:
    """The result of an epoch, fixed before any sink commits it.

    Attributes:
        rows: the rows of the epoch.
        files: the paths of the files that were read.
        expired_files: the data files of expired rows, within their folder.
        rejected_files: the data files of rejected rows, within their folder.
        panes: the number of panes.
        pane_files: the data files of panes, in the order of publication.
        workers: by state partition, the host and process that reduced it.
        frontier: the newest arrival up to this epoch; ``MIN_TIME`` where there was none.
        left_out: what was planned up to this epoch and is not read yet.
        waiting: the windows that are open after the epoch.
        checkpoint: the engine's state after the epoch, as JSON (``spark.running.checkpoint.Checkpoint``).
    """

    rows: RowCounts = NO_ROWS
    files: tuple[str, ...] = ()
    expired_files: tuple[WrittenFile, ...] = ()
    rejected_files: tuple[WrittenFile, ...] = ()
    panes: int = 0
    pane_files: tuple[WrittenFile, ...] = ()
    workers: Mapping[int, str] = field(default_factory=dict)
    frontier: Micros = MIN_TIME
    left_out: LeftOut | None = None
    waiting: Waiting = NOTHING_OPEN
    checkpoint: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> Json:
        """The result, with the keys of the checkpoint beside its own."""
        rows = self.rows.to_json()
        return {
            "files": list(self.files),
            "read": rows.pop("in"),
            **rows,
            **{name: [file.to_json() for file in getattr(self, name)] for name in _FILES},
            "panes": self.panes,
            "workers": {str(partition): worker for partition, worker in sorted(self.workers.items())},
            "frontier": iso(self.frontier),
            "left_out": None if self.left_out is None else self.left_out.to_json(),
            "waiting": self.waiting.to_json(),
            **self.checkpoint,
        }

    @classmethod
    def from_json(cls, document: Json) -> EpochResult:
        """Read back :meth:`to_json`, also of a release that did not tell what is open."""
        own = {"files", "read", "panes", "workers", "frontier", "left_out", "waiting", *NO_ROWS.to_json(), *_FILES}
        expired, rejected, panes = (tuple(map(WrittenFile.from_json, document[name])) for name in _FILES)
        left_out = document.get("left_out")
        return cls(
            rows=RowCounts.from_json({**document, "in": document["read"]}),
            files=tuple(document["files"]),
            expired_files=expired,
            rejected_files=rejected,
            panes=document["panes"],
            pane_files=panes,
            workers={int(partition): worker for partition, worker in document["workers"].items()},
            frontier=from_iso(document["frontier"]),
            left_out=None if left_out is None else LeftOut.from_json(left_out),
            waiting=Waiting.from_json(document.get("waiting", {})),
            checkpoint={name: value for name, value in document.items() if name not in own},
        )
