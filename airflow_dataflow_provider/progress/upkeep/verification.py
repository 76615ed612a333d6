"""Checks that every file that a state names exists and is unchanged, and rebuilds files where this is possible.

It reads every document and every data file once. :func:`verify` changes nothing, and a driver may run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.log.state_files import KEYED, READ, StateFiles
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain
from airflow_dataflow_provider.progress.panes.pane_commits import (
    DATA,
    HEADER,
    POINTER,
    PaneCommit,
    pane_log_of,
    read_header,
)
from airflow_dataflow_provider.progress.panes.pane_snapshots import PaneSnapshot
from airflow_dataflow_provider.progress.requests.requests import require_pipeline
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.progress.upkeep.set_aside import FOLDERS, files_of, kept_from

T = TypeVar("T")

RESTORE: Final = "restore it from a backup"


@dataclass(frozen=True, slots=True)
class Finding:
    """A missing or damaged file.

    Args:
        where: its URL.
        problem: the problem.
        remedy: what can be done.
        rebuild: rebuilds it; None where this is not possible.
    """

    where: str
    problem: str
    remedy: str
    rebuild: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> Json:
        return {
            "where": self.where, "problem": self.problem, "remedy": self.remedy,
            "can_be_rebuilt": self.rebuild is not None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verification:
    """The extent of a verification, and its findings.

    Attributes:
        state_url: the URL of the state.
        epochs: the number of committed epochs.
        files: the number of data files that were compared with their digests.
        size: their size in bytes.
        findings: the missing and damaged files, in the order of the epochs.
    """

    state_url: str
    epochs: int
    files: int
    size: int
    findings: tuple[Finding, ...]

    def to_json(self) -> Json:
        return {
            "state_url": self.state_url, "epochs": self.epochs, "files": self.files, "bytes": self.size,
            "findings": [finding.to_json() for finding in self.findings],
        }  # fmt: skip


def verify(store: Store) -> Verification:
    """Check all files that a state and its pane log name.

    Raises:
        StateError: ``STATE_ABSENT`` where there is no pipeline; ``STATE_UNREADABLE`` for its ``pipeline.json``.
    """
    require_pipeline(store)
    while True:
        verifier = _Verifier(store)
        found = verifier.run()
        # A running driver deletes files that it has replaced, so missing files are checked again after a new epoch.
        if not found.findings or verifier.newest_epoch() == verifier.checked_epoch:
            return found


def rebuild(findings: Iterable[Finding]) -> list[Finding]:
    """Rebuild the files that can be rebuilt, and return their findings."""
    rebuilt = []
    for finding in findings:
        if finding.rebuild is not None:
            finding.rebuild()
            rebuilt.append(finding)
    return rebuilt


class _Verifier:
    """One pass over a state."""

    def __init__(self, state: Store) -> None:
        self._state, self._log = state, EpochLog(state)
        self._findings: list[Finding] = []
        self._kept_from: dict[str, int] = {}
        self._epochs = self._files = self._bytes = 0
        self.checked_epoch: int | None = None

    def newest_epoch(self) -> int | None:
        """The newest committed epoch; None where it cannot be read."""
        try:
            last = self._log.last_record()
        except StateError:
            return None
        return None if last is None else last.epoch

    def run(self) -> Verification:
        self.checked_epoch = self.newest_epoch()
        self._kept_from = {folder: self._read(partial(kept_from, self._state, folder)) or 0 for folder in FOLDERS}
        panes = pane_log_of(self._state)
        snapshot = None if panes is None else self._read(PaneChain(panes).snapshot)
        keyed, uncompacted = self._epoch_log(-1 if snapshot is None else snapshot.through)
        if keyed is not None:
            self._keyed(keyed)
        if panes is not None:
            self._pane_log(panes, snapshot, uncompacted)
        elif any(record.panes_until is not None for record in uncompacted):
            self._add(self._state.child(POINTER), "is missing: it says where the pane log is", RESTORE)
        return Verification(self._state.url, self._epochs, self._files, self._bytes, tuple(self._findings))

    def _epoch_log(self, through: int) -> tuple[EpochRecord | None, list[EpochRecord]]:
        """Check every epoch; return the newest that has changed open windows, and those that are in no snapshot."""
        newest, uncompacted = None, []
        for epoch in range(0 if self.checked_epoch is None else self.checked_epoch + 1):
            known = len(self._findings)
            record = self._read(partial(self._log.record, epoch))
            if record is None:
                if len(self._findings) == known:
                    self._add(f"{self._state.url}, epoch {epoch}", "has no commit in the epoch log", RESTORE)
                continue
            self._epochs += 1
            self._set_aside(record)
            newest = record if record.takes_part else newest
            if epoch > through:
                uncompacted.append(record)
        return newest, uncompacted

    def _set_aside(self, record: EpochRecord) -> None:
        known = len(self._findings)
        prepared = self._read(partial(self._log.prepared, record.epoch))
        if prepared is None:
            if len(self._findings) == known:
                remedy = f"{RESTORE}; only the side outputs and an audit of that epoch need it"
                self._add(f"{self._state.url}, epoch {record.epoch}", "has no result in the epoch log", remedy)
            return
        for folder in FOLDERS:
            kept = record.epoch >= self._kept_from[folder]
            for file in files_of(prepared.result, folder) if kept else ():
                remedy = f"{RESTORE}; panes and open windows do not depend on it"
                self._check(self._state, folder, file, remedy)

    def _keyed(self, record: EpochRecord) -> None:
        files = StateFiles.of(record.checkpoint)
        for file in files.keyed:
            remedy = f"{RESTORE}; else run the pipeline at another state URL, which reads its source anew"
            self._check(self._state, KEYED, file, remedy)
        for file in files.read:
            remedy = "nothing: the next driver takes what was read from the epoch log"
            self._check(self._state, READ, file, remedy)

    def _pane_log(self, store: Store, snapshot: PaneSnapshot | None, records: list[EpochRecord]) -> None:
        chain = PaneChain(store)
        if store.exists(HEADER):
            self._read(partial(read_header, store))
        else:
            self._add(store.child(HEADER), "is missing: the columns and combiners of the pane log", RESTORE)
        if snapshot is not None:
            if (table := snapshot.table) is not None:
                anew = partial(chain.replace, replace(snapshot, table=None)) if snapshot.kept_since == 0 else None
                how = "; `verify --rebuild` lets readers add up the panes that it was made of" if anew else ""
                self._check(store, DATA, table.file, RESTORE + how, anew)
            for part in snapshot.panes:
                self._check(store, DATA, part.file, _recompute(part.first, part.last))
        for commit in self._commits(chain, snapshot, records):
            for file in commit.files:
                self._check(store, DATA, file, _recompute(commit.epoch, commit.epoch))

    def _commits(
        self, chain: PaneChain, snapshot: PaneSnapshot | None, records: list[EpochRecord]
    ) -> Iterator[PaneCommit]:
        """The commits that should exist. A missing one can be rebuilt from the result of its epoch."""
        through = -1 if snapshot is None else snapshot.through
        named = (record.panes_until for record in records)
        wanted = {*chain.epochs(since=through + 1), *(int(epoch) for epoch in named if epoch is not None)}
        before = None if snapshot is None else snapshot.through
        finished = {record.epoch: record.finished_at for record in records}
        for epoch in sorted(epoch for epoch in wanted if epoch > through):
            problem, commit = "is missing", None
            try:
                commit = chain.commit(epoch)
            except StateError as error:
                problem = error.what.removeprefix(chain.url(epoch)).strip()
            if commit is None:
                commit = self._made_anew(epoch, before, finished.get(epoch))
                anew = None if commit is None else partial(chain.replace, commit)
                how = "" if anew is None else ", or `verify --rebuild` makes it from the result of its epoch"
                self._add(chain.url(epoch), problem, RESTORE + how, anew)
            if commit is not None:
                yield commit
            before = epoch

    def _made_anew(self, epoch: int, before: int | None, finished_at: Micros | None) -> PaneCommit | None:
        try:
            plan, prepared = self._log.planned(epoch), self._log.prepared(epoch)
        except StateError:
            return None  # the check of the epoch has already added a finding
        if plan is None or prepared is None or finished_at is None:
            return None
        return PaneCommit.of(plan, prepared, before, finished_at)

    def _check(
        self, store: Store, folder: str, file: WrittenFile, remedy: str, anew: Callable[[], None] | None = None
    ) -> None:
        self._files += 1
        try:
            self._bytes += len(file.read(store, folder))
        except StateError as error:
            where = store.child(f"{folder}/{file.name}")
            self._add(where, error.what.removeprefix(where).strip(), remedy, anew)

    def _read(self, read: Callable[[], T]) -> T | None:
        """The value of a document; None where there is none, or it cannot be read, which is a finding."""
        try:
            return read()
        except StateError as error:
            where, _, problem = error.what.partition(" ")
            self._add(where, problem, RESTORE)
            return None

    def _add(self, where: str, problem: str, remedy: str, anew: Callable[[], None] | None = None) -> None:
        self._findings.append(Finding(where, problem, remedy, anew))


def _recompute(first: int, last: int) -> str:
    epochs = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    return (
        f"{RESTORE}; the panes of {epochs} cannot be made anew, but a batch over --from and --to computes their "
        "windows from the source again"
    )
