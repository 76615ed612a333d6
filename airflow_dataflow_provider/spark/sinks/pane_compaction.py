"""Keeping a pane log small: the panes of many epochs as few files, and the table so that nobody has to add up again.

Everything new is written under new names. Then one document, the snapshot, makes it count. What it takes the place of
is removed by the compaction after, so that readers which had begun with it can end.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain, Published
from airflow_dataflow_provider.progress.panes.pane_commits import DATA, PaneCommit
from airflow_dataflow_provider.progress.panes.pane_snapshots import MergedPanes, PaneSnapshot
from airflow_dataflow_provider.progress.store.numbered import epoch_name
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles
from airflow_dataflow_provider.spark.values.frames import write_parquet

COMMITS = 64
"""So many commits are worth a compaction."""
LARGEST_FILE = 32 * 2**20
"""In bytes: merged files grow no larger, and what is larger by itself stays as it is."""
LARGEST_TABLE = 5_000_000
"""In rows: the driver writes no larger table. Readers of one add its panes up, from merged files."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Compacts one pane log. Calls must not overlap, and only its driver makes them.

    Args:
        store: the pane log.
        chain: its documents.
        files: its data files.
        retention: panes that were published longer ago than this are not kept, once the table has them; None: all are.
        commits: so many commits are worth it.
        largest_file: in bytes.
        largest_table: in rows.
    """

    store: Store
    chain: PaneChain
    files: PaneFiles
    retention: Micros | None = None
    commits: int = COMMITS
    largest_file: int = LARGEST_FILE
    largest_table: int = LARGEST_TABLE

    def run(self, before: int, now: Micros) -> PaneSnapshot | None:
        """Compact, where it is worth it.

        Args:
            before: only commits of epochs below this number, which are committed epochs.
            now: processing time.

        Returns:
            The snapshot that stands then, if there is a new one.

        Raises:
            StateError: ``STATE_DAMAGED`` where the log is not whole: then nothing is merged and nothing removed.
        """
        published = self.chain.read()
        new = [commit for commit in published.commits if commit.epoch < before]
        if len(new) < self.commits:
            return None
        snapshot = self._snapshot(Published(published.snapshot, tuple(new)), now)
        self.store.sync(DATA)
        self.chain.put(snapshot)
        stored = self.chain.snapshot()
        if published.snapshot is not None and stored is not None:
            self._remove(published.snapshot, stored)
        return stored

    def _snapshot(self, published: Published, now: Micros) -> PaneSnapshot:
        old, through = published.snapshot, published.commits[-1].epoch
        parts = self._merged(() if old is None else old.panes, published.commits)
        kept_since = 0 if old is None else old.kept_since
        whole = PaneSnapshot(through, None if old is None else old.table, tuple(parts), kept_since, published.intervals)
        table = self._table(whole, published.commits[-1])
        covered = -1 if table is None else table.last
        kept = [part for part in parts if part.last > covered or not self._is_past(part, now)]
        if len(kept) < len(parts):
            kept_since = kept[0].first if kept else through + 1
        intervals = tuple(each for each in published.intervals if each[0] >= kept_since or each[0] > covered)
        return PaneSnapshot(through, table, tuple(kept), kept_since, intervals)

    def _is_past(self, part: MergedPanes, now: Micros) -> bool:
        return self.retention is not None and part.committed_at < now - self.retention

    # Panes

    def _merged(self, parts: Sequence[MergedPanes], commits: Sequence[PaneCommit]) -> list[MergedPanes]:
        """The parts with those of the commits: small ones together, and with older ones that are no larger.

        So there are few, and a pane is written again only when the file that it is in doubles at least.
        """
        runs = [[part] for part in parts]
        growing = False
        for part in _parts(commits):
            small = part.file.size < self.largest_file // 4
            if growing and small and _size(runs[-1]) + part.file.size <= self.largest_file:
                runs[-1].append(part)
            else:
                runs.append([part])
            growing = small
        while len(runs) > 1 and _size(runs[-2]) <= _size(runs[-1]) <= self.largest_file - _size(runs[-2]):
            newest = runs.pop()
            runs[-1] += newest
        return [self._as_one(run) for run in runs]

    def _as_one(self, parts: list[MergedPanes]) -> MergedPanes:
        if len(parts) == 1:
            return parts[0]
        frame = self.files.concat([self.files.merged(part) for part in parts])
        first, last = parts[0], parts[-1]
        file = self._write(last.last, "panes", frame)
        return MergedPanes(file, first.first, last.last, len(frame), max(part.committed_at for part in parts))

    # The table

    def _table(self, whole: PaneSnapshot, newest: PaneCommit) -> MergedPanes | None:
        """The table as it is now, where as much has come since the last as that holds; else the last one."""
        old = whole.table
        since = sum(part.rows for part in whole.panes if old is None or part.last > old.last)
        rows = 0 if old is None else old.rows
        if since < rows or since + rows > self.largest_table:
            return old
        counting = self.files.counting(Published(whole, ()), self.files.table_of_built_in())
        file = self._write(newest.epoch, "table", counting)
        return MergedPanes(file, 0, newest.epoch, len(counting), newest.committed_at)

    def _write(self, epoch: int, kind: str, frame: pl.DataFrame) -> WrittenFile:
        return write_parquet(self.store, DATA, f"{epoch_name(epoch)}-{kind}-{uuid.uuid4().hex[:8]}.parquet", frame)

    # What is not needed any more

    def _remove(self, before: PaneSnapshot, stored: PaneSnapshot) -> None:
        """Remove what the snapshot before this one has taken the place of, and what no document ever named.

        Names begin with an epoch, so that nothing is touched that a later epoch writes or another driver has merged.
        """
        self.chain.forget(before.through)
        kept = before.files | stored.files
        for name in self.store.list(DATA):
            epoch = name.partition("-")[0]
            if not (epoch.isdecimal() and name.endswith(".parquet")):
                continue  # put there by others
            if int(epoch) <= before.through and name not in kept:
                self.store.delete(f"{DATA}/{name}")


def _parts(commits: Sequence[PaneCommit]) -> Iterator[MergedPanes]:
    """Each file of some commits."""
    for commit in commits:
        for file in commit.files:
            rows = commit.panes // len(commit.files)
            yield MergedPanes(file, commit.epoch, commit.epoch, rows, commit.committed_at)


def _size(run: Sequence[MergedPanes]) -> int:
    return sum(part.file.size for part in run)
