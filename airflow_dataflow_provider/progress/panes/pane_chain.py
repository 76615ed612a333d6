"""The chain of a pane log: the newest snapshot and the commits since, with a check that none is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.progress.panes.pane_commits import COMMITS, PaneCommit
from airflow_dataflow_provider.progress.panes.pane_snapshots import SNAPSHOTS, PaneSnapshot
from airflow_dataflow_provider.progress.store.documents import load_document
from airflow_dataflow_provider.progress.store.numbered import NumberedFiles
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import DAMAGED, damaged

_KIND: Final = "json"


@dataclass(frozen=True, slots=True)
class Published:
    """The documents of a pane log that count: a snapshot, and the commits that follow it."""

    snapshot: PaneSnapshot | None
    commits: tuple[PaneCommit, ...]

    @property
    def newest(self) -> int | None:
        """The epoch of the newest commit, None where nothing is published."""
        return self.commits[-1].epoch if self.commits else None if self.snapshot is None else self.snapshot.through

    @property
    def intervals(self) -> tuple[tuple[int, Interval], ...]:
        """By epoch, the intervals that were replaced, as far back as panes are kept."""
        before = () if self.snapshot is None else self.snapshot.intervals
        return (*before, *((each.epoch, each.replaces) for each in self.commits if each.replaces is not None))


class PaneChain:
    """The documents of one pane log.

    Args:
        store: the pane log.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._commits = NumberedFiles(store, COMMITS)
        self._snapshots = NumberedFiles(store, SNAPSHOTS)

    def read(self, until: int | None = None) -> Published:
        """Read the documents that count.

        Args:
            until: the newest commit that the log must have, as the epoch log's newest record says.

        Raises:
            StateError: ``STATE_DAMAGED`` where a commit is missing.
        """
        snapshot = self.snapshot()
        published = Published(snapshot, tuple(self._read_commits(0 if snapshot is None else snapshot.through + 1)))
        before = None if snapshot is None else snapshot.through
        for commit in published.commits:
            if commit.previous != before:
                raise self._missing(commit.previous, f"the commit of epoch {commit.epoch} follows it")
            before = commit.epoch
        if until is not None and (before is None or before < until):
            raise self._missing(until, "the epoch log names it")
        return published

    def snapshot(self) -> PaneSnapshot | None:
        newest = self.newest_snapshot()
        return None if newest is None else load_document(self._store, self._snapshot(newest), PaneSnapshot.from_json)

    def newest_snapshot(self) -> int | None:
        """The number of the newest snapshot."""
        return next((number for number, _ in self._snapshots.newest_first(_KIND)), None)

    def epochs(self, since: int = 0) -> list[int]:
        """The epochs, from ``since`` on, whose commits have documents."""
        return [epoch for epoch, _ in self._commits.oldest_first(_KIND, since=since)]

    def commit(self, epoch: int) -> PaneCommit | None:
        """The commit of an epoch, if it has a document."""
        return load_document(self._store, self._commit(epoch), PaneCommit.from_json)

    def url(self, epoch: int) -> str:
        """The URL of the commit of an epoch."""
        return self._store.child(self._commit(epoch))

    def put(self, document: PaneCommit | PaneSnapshot) -> None:
        """Store a document. The first of its number counts.

        Raises:
            StateError: ``STATE_DAMAGED`` where a commit of this number names other files: the log has another history.
        """
        stored = self._store.put_if_absent(self._path(document), document.to_json())
        if isinstance(document, PaneCommit) and stored["files"] != document.to_json()["files"]:
            raise self.other_history(document.epoch)

    def other_history(self, epoch: int, how: str = " otherwise than the epoch log has it") -> StateError:
        """The error for an epoch that the pane log has and the epoch log does not have, or has with other files."""
        return StateError(
            f"the pane log {self._store.url} has published epoch {epoch}{how}",
            reason="one of the two is from another time, such as an older backup, and together they would be wrong",
            hint="restore the state and its pane log from one backup, or start anew at another state URL",
            code=DAMAGED,
        )

    def replace(self, document: PaneCommit | PaneSnapshot) -> None:
        self._store.write_json(self._path(document), document.to_json())

    def forget(self, before: int) -> None:
        """Delete the snapshots before a snapshot, and the commits that it contains."""
        for number, _ in list(self._snapshots.oldest_first(_KIND)):
            if number < before:
                self._store.delete(self._snapshot(number))
        for epoch, _ in list(self._commits.oldest_first(_KIND)):
            if epoch <= before:
                self._store.delete(self._commit(epoch))

    def _read_commits(self, since: int) -> list[PaneCommit]:
        found = map(self.commit, self.epochs(since))
        return [commit for commit in found if commit is not None]

    def _path(self, document: PaneCommit | PaneSnapshot) -> str:
        return self._commit(document.epoch) if isinstance(document, PaneCommit) else self._snapshot(document.through)

    def _commit(self, epoch: int) -> str:
        return self._commits.path(epoch, _KIND)

    def _snapshot(self, number: int) -> str:
        return self._snapshots.path(number, _KIND)

    def _missing(self, epoch: int | None, reason: str) -> StateError:
        what = "a snapshot" if epoch is None else f"the commit of epoch {epoch}"
        return damaged(f"{what} is missing in the pane log {self._store.url}: {reason}")
