"""The commits of a pane log: one small document an epoch, naming the data files that count.

Readers ignore a data file that no commit names, so they see whole epochs only, and a replayed epoch changes nothing.
Each commit names the one before it, so that a missing commit is detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import Micros, from_iso, iso
from airflow_dataflow_provider.progress.log.records import EpochPlan, Prepared
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile

FORMAT: Final = 2
"""The format of the folder: 2 has digests, a chain of commits, and snapshots."""
HEADER: Final = "pane_log.json"
COMMITS: Final = "commits"
DATA: Final = "data"
POINTER: Final = "pane_log.json"
"""The document under a state URL that holds the URL of its pane log."""


@dataclass(frozen=True, slots=True)
class PaneCommit:
    """The panes of one epoch.

    Attributes:
        epoch: the epoch's number.
        previous: the epoch of the commit before it; None for the first one.
        files: the data files, in the order of their panes.
        panes: the number of rows in them.
        replaces: the interval whose windows this epoch replaces; None: its panes follow those before.
        mode: the runtime mode that published them.
        committed_at: processing time.
    """

    epoch: int
    previous: int | None
    files: tuple[WrittenFile, ...]
    panes: int
    replaces: Interval | None
    mode: str
    committed_at: Micros

    @classmethod
    def of(cls, plan: EpochPlan, prepared: Prepared, previous: int | None, now: Micros) -> PaneCommit | None:
        """The commit that follows from an epoch's plan and result; None where the epoch changes nothing."""
        result = prepared.result
        if result is None or (not result.pane_files and plan.interval is None):
            return None
        return cls(plan.epoch, previous, result.pane_files, result.panes, plan.interval, plan.mode, now)

    def to_json(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "previous": self.previous,
            "files": [file.to_json() for file in self.files],
            "panes": self.panes,
            "replaces": None if self.replaces is None else self.replaces.to_json(),
            "mode": self.mode,
            "committed_at": iso(self.committed_at),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> PaneCommit:
        replaces = document["replaces"]
        return cls(
            document["epoch"],
            document["previous"],
            tuple(map(WrittenFile.from_json, document["files"])),
            document["panes"],
            None if replaces is None else Interval.from_json(replaces),
            document["mode"],
            from_iso(document["committed_at"]),
        )


def pane_log_of(state: Store) -> Store | None:
    """The pane log of a state; None where no driver has created one, or the URL is that of a pane log.

    A relative path is below the state URL, also after the state was moved or copied.
    """
    if not state.exists(POINTER) or "url" not in (pointer := state.read_json(POINTER)):
        return None
    url = str(pointer["url"])
    return Store.open(url if url.startswith("/") or urlsplit(url).scheme else state.child(url))


def read_header(store: Store) -> Json:
    """The header of a pane log.

    Raises:
        StateError: ``STATE_FORMAT`` where another release wrote it; ``STATE_UNREADABLE``.
    """
    return check_format(store, store.read_json(HEADER))


def check_format(store: Store, header: Json) -> Json:
    """The header, if this release reads its format; raises as :func:`read_header` does."""
    if header.get("format") != FORMAT:
        raise StateError(
            f"the pane log {store.url} has format {header.get('format')}, this release reads format {FORMAT}",
            reason="another release wrote it, and this one does not know its format",
            hint="use that release wherever it is read, or start anew at another state URL",
            code="STATE_FORMAT",
        )
    return header
