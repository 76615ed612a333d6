"""Keyed state: immutable Arrow files, a base and the deltas since, one chain a state partition.

Which files stand is said by the epoch log alone, so a file that a crashed or repeated task left behind means nothing.
A window that has expired needs no tombstone: whoever reads a chain drops what the committed horizon has passed.

Between epochs the live frame of a partition stays in the worker process that made it, under the names of the files it
is equal to. Spark may run the partition elsewhere next time: another process finds itself a few deltas behind and
catches up, or starts from the base. Files never change under their name, so nothing here can be stale, only behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from airflow_dataflow_provider.model.windows.window import expired_until
from airflow_dataflow_provider.progress.log.state_files import KEYED
from airflow_dataflow_provider.progress.store.numbered import EpochFolders, epoch_name
from airflow_dataflow_provider.progress.store.written_file import WrittenFile, damaged
from airflow_dataflow_provider.spark.kernel.columns import END
from airflow_dataflow_provider.spark.kernel.epoch import Outcome
from airflow_dataflow_provider.spark.kernel.kernel import Kernel
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.windowers import windower_for
from airflow_dataflow_provider.spark.values.frames import read_arrow, write_arrow

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.progress.store.store import Store

_LONGEST_CHAIN = 16
_SMALL = 1_000
"""Rows that are not worth rewriting a base for."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The files of one state partition: the base, then deltas, with their numbers of rows.

    ``live`` is the number of open windows that they add up to; ``next_due`` says when an epoch without elements has
    something to do.
    """

    files: tuple[WrittenFile, ...] = ()
    rows: tuple[int, ...] = ()
    live: int = 0
    next_due: NextDue = field(default_factory=NextDue)

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        return {
            "files": [file.to_json() for file in self.files],
            "rows": self.rows,
            "live": self.live,
            **self.next_due.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Chain:
        """Read back :meth:`to_json`."""
        return cls(
            tuple(map(WrittenFile.from_json, document["files"])),
            tuple(document["rows"]),
            document["live"],
            NextDue.from_json(document),
        )


_LIVE: dict[tuple[str, int, int], tuple[tuple[WrittenFile, ...], pl.DataFrame]] = {}
"""This process's live frames: by state URL, grouping and partition, the files each one is equal to, and the frame."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The keyed state of one partition.

    Args:
        store: the state.
        stage: which of the pipeline's groupings.
        number: which part of it.
    """

    store: Store
    stage: int
    number: int

    def load(self, kernel: Kernel, chain: Chain, horizon: Micros) -> pl.DataFrame:
        """The open windows as a chain says.

        Args:
            kernel: whose state it is.
            chain: the files that it is equal to.
            horizon: the ordinary watermark by which windows had expired when the chain was committed.
        """
        files, frame = _LIVE.get((self.store.url, self.stage, self.number), ((), kernel.empty_state()))
        if chain.files[: len(files)] != files:
            files, frame = (), kernel.empty_state()
        missing = chain.files[len(files) :]
        if missing:
            parts = [frame, *(self._read(file, frame) for file in missing)]
            frame = pl.concat(parts, rechunk=True)
            if len(missing) > 1 or len(parts[0]):
                frame = windower_for(kernel).newest(frame)
        # Also where no file is missing: windows may have expired, and published, in another process, without a new one.
        expired = frame[END] <= expired_until(horizon, kernel.grouping.allowed_lateness)
        if expired.any():
            frame = frame.filter(~expired)
        _LIVE[self.store.url, self.stage, self.number] = (chain.files, frame)
        return frame

    def _read(self, file: WrittenFile, like: pl.DataFrame) -> pl.DataFrame:
        where = self.store.child(f"{KEYED}/{file.name}")
        found = read_arrow(self.store, KEYED, file)
        if {name: found.schema.get(name) for name in like.columns} != dict(like.schema):
            raise damaged(f"the columns of {where} are {dict(found.schema)}, not {dict(like.schema)}")
        return found.select(like.columns)

    def save(self, epoch: int, chain: Chain, outcome: Outcome) -> tuple[Chain, int]:
        """Write what an epoch changed; the answer is the new chain and the bytes written.

        A delta holds the changed windows whole. When the deltas outweigh the live windows a new base is written
        instead, so that over time each row is written a bounded number of times and a cold start reads at most about
        twice what lives.
        """
        live, changed = len(outcome.state), len(outcome.changed)
        if not live:
            return Chain((), (), 0, outcome.next_due), 0
        if not changed:
            # Files alone can shrink, by expiry; the frame in memory is then behind them by nothing that matters.
            _LIVE[self.store.url, self.stage, self.number] = (chain.files, outcome.state)
            return Chain(chain.files, chain.rows, live, outcome.next_due), 0
        rebase = (
            not chain.files or len(chain.files) >= _LONGEST_CHAIN or sum(chain.rows[1:]) + changed > max(live, _SMALL)
        )
        name = f"{epoch_name(epoch)}/{self.stage}-{self.number:04d}-{uuid.uuid4().hex[:8]}.arrow"
        file = write_arrow(self.store, KEYED, name, outcome.state if rebase else outcome.changed)
        files = (file,) if rebase else (*chain.files, file)
        rows = (live,) if rebase else (*chain.rows, changed)
        _LIVE[self.store.url, self.stage, self.number] = (files, outcome.state)
        return Chain(files, rows, live, outcome.next_due), file.size


def sweep(store: Store, files: Iterable[WrittenFile], *, before: int) -> None:
    """Remove what no chain holds: leftovers of crashed tasks, and files that a new base replaced.

    Args:
        store: the state.
        files: those of all chains.
        before: only files of epochs below this number; tasks of later ones may still be writing.
    """
    kept, folders = {file.name for file in files}, EpochFolders(store, KEYED)
    for epoch in folders.epochs():
        if epoch < before:
            folders.remove_all_but(epoch, kept, ".arrow")
