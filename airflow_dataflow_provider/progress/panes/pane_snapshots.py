"""A snapshot of a pane log: its table and all panes that are kept, up to some epoch, in few files.

It replaces the commits up to its epoch. They, and the files that only they name, are deleted one snapshot later, so
that a reader that has begun with them can finish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import Micros, from_iso, iso
from airflow_dataflow_provider.progress.store.store import Json
from airflow_dataflow_provider.progress.store.written_file import WrittenFile

SNAPSHOTS: Final = "snapshots"


@dataclass(frozen=True, slots=True)
class MergedPanes:
    """The panes of some epochs that follow one another, as one file.

    Attributes:
        file: the file; it has a column ``epoch`` if it has several epochs.
        first: the first epoch.
        last: the last epoch.
        rows: the number of panes; an estimate where an epoch has several files.
        committed_at: the time of the last epoch's commit.
    """

    file: WrittenFile
    first: int
    last: int
    rows: int
    committed_at: Micros

    def to_json(self) -> Json:
        """As it stands in a snapshot."""
        return {
            "file": self.file.to_json(), "first": self.first, "last": self.last, "rows": self.rows,
            "committed_at": iso(self.committed_at),
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Json) -> MergedPanes:
        return cls(
            WrittenFile.from_json(document["file"]), document["first"], document["last"], document["rows"],
            from_iso(document["committed_at"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PaneSnapshot:
    """A pane log up to an epoch.

    Attributes:
        through: the epoch of the newest commit that it replaces.
        table: the panes that make the current table up to ``table.last``; None where a table would save nothing.
        panes: all panes that are kept, oldest first.
        kept_since: the first epoch whose panes are kept.
        intervals: by epoch, the intervals that were replaced.
    """

    through: int
    table: MergedPanes | None
    panes: tuple[MergedPanes, ...]
    kept_since: int
    intervals: tuple[tuple[int, Interval], ...]

    @property
    def files(self) -> frozenset[str]:
        """The names of its data files."""
        table = () if self.table is None else (self.table,)
        return frozenset(part.file.name for part in (*table, *self.panes))

    def to_json(self) -> Json:
        return {
            "through": self.through,
            "table": None if self.table is None else self.table.to_json(),
            "panes": [part.to_json() for part in self.panes],
            "kept_since": self.kept_since,
            "intervals": [{"epoch": epoch, "replaces": interval.to_json()} for epoch, interval in self.intervals],
        }

    @classmethod
    def from_json(cls, document: Json) -> PaneSnapshot:
        intervals = ((each["epoch"], Interval.from_json(each["replaces"])) for each in document["intervals"])
        return cls(
            document["through"],
            None if document["table"] is None else MergedPanes.from_json(document["table"]),
            tuple(map(MergedPanes.from_json, document["panes"])),
            document["kept_since"],
            tuple(intervals),
        )
