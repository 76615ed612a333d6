"""The splits that committed epochs have read, as the epoch log says.

The log names them epoch by epoch. So that a driver that starts need not read all of it, now and then an epoch writes
what the epochs before it have read to a file: a base, then smaller ones, a *chain* that its commit names.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.log.state_files import READ
from airflow_dataflow_provider.progress.store.numbered import epoch_name
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.spark.values.frames import read_arrow, write_arrow

if TYPE_CHECKING:
    from airflow_dataflow_provider.progress.log.log import EpochLog
    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.progress.store.store import Store

_log = logging.getLogger(__name__)
_OWN = re.compile(r"\d{12}-[0-9a-f]{8}\.arrow")
_EPOCHS = 64
"""Epochs after which what they have read is written to a file."""
_SPLITS = 10_000
"""Splits after which it is written, however few epochs have read them."""
_TYPES = {"path": pl.String(), "size": pl.Int64(), "modified": pl.Int64()}


@dataclass(frozen=True, slots=True)
class ReadChain:
    """The files that say what was read, with their numbers of rows, and the last epoch that they know of."""

    files: tuple[WrittenFile, ...] = ()
    rows: tuple[int, ...] = ()
    through: int = -1

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        return {"files": [file.to_json() for file in self.files], "rows": self.rows, "through": self.through}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read back :meth:`to_json`."""
        files = tuple(map(WrittenFile.from_json, document["files"]))
        return cls(files, tuple(document["rows"]), document["through"])


class ReadSplits:
    """The splits that committed epochs have read, by folder and name.

    Costs:
        Some 150 bytes of memory a split, its name included.
    """

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, tuple[int, int]]] = {}
        self._chain = ReadChain()
        self._since_chain: list[Split] = []
        self._epochs_since_chain = 0

    @classmethod
    def restore(cls, store: Store, log: EpochLog, last: EpochRecord | None, chain: ReadChain) -> Self:
        """What the log says was read up to its newest commit.

        The files of a chain are a copy: where one is gone or damaged, the log itself is read from its beginning.

        Args:
            store: the state.
            log: its epoch log.
            last: the newest commit.
            chain: the files that the newest commit of the stream names.

        Raises:
            StateError: ``STATE_LOG_BROKEN`` where a part of the log is gone.
        """
        found = cls()
        try:
            rows = [row for file in chain.files for row in read_arrow(store, READ, file).iter_rows()]
        except StateError as error:
            _log.warning("%s: what was read is taken from the epoch log", error.what)
            chain, rows = ReadChain(), []
        found._chain = chain
        found._remember(Split(*row) for row in rows)
        records = takewhile(lambda record: record.epoch > found._chain.through, log.stream_records(last))
        for record in reversed(list(records)):
            found.commit(splits_read(store, log, record))
        return found

    def __contains__(self, path: object) -> bool:
        folder, _, name = str(path).rpartition("/")
        return name in self._folders.get(folder, ())

    def within(self, folder: str) -> Mapping[str, tuple[int, int]]:
        """Size and modification time of the splits that were read in a folder, by name."""
        return self._folders.get(folder, {})

    def has_version(self, split: Split) -> bool:
        """Whether a split was read in this version."""
        folder, _, name = split.path.rpartition("/")
        return self.within(folder).get(name) == (split.size, split.modified)

    def commit(self, splits: Iterable[Split]) -> None:
        """Remember what one more committed epoch has read."""
        added = list(splits)
        self._remember(added)
        self._since_chain += added
        self._epochs_since_chain += 1

    def save(self, store: Store, epoch: int) -> ReadChain:
        """The chain for the commit of an epoch: with a new file, where it is time for one.

        A new file replaces those before it that are not much larger, so a split is written a few times in all, and the
        chain stays short.

        Args:
            store: the state.
            epoch: the epoch that is about to be prepared; what it reads itself is not part of it.
        """
        if self._epochs_since_chain < _EPOCHS and len(self._since_chain) < _SPLITS:
            return self._chain
        chain, rows = self._chain, len(self._since_chain)
        kept = len(chain.rows)
        while rows and kept and chain.rows[kept - 1] <= 2 * rows:
            kept -= 1
            rows += chain.rows[kept]
        files, counts = chain.files[:kept], chain.rows[:kept]
        if rows:
            parts = [read_arrow(store, READ, file) for file in chain.files[kept:]]
            frame = pl.concat([*parts, pl.DataFrame(self._since_chain, schema=_TYPES, orient="row")])
            name = f"{epoch_name(epoch)}-{uuid.uuid4().hex[:8]}.arrow"
            file = write_arrow(store, READ, name, frame)
            store.sync(READ)
            files, counts = (*files, file), (*counts, len(frame))
        self._chain = ReadChain(files, counts, epoch - 1)
        self._since_chain, self._epochs_since_chain = [], 0
        return self._chain

    def sweep(self, store: Store) -> None:
        """Remove files that the chain does not hold any more, and none that others put there; only between epochs."""
        kept = {file.name for file in self._chain.files}
        for name in store.list(READ):
            if name not in kept and _OWN.fullmatch(name):
                store.delete(f"{READ}/{name}")

    def _remember(self, splits: Iterable[Split]) -> None:
        for path, size, modified in splits:
            folder, _, name = path.rpartition("/")
            self._folders.setdefault(folder, {})[name] = size, modified


def splits_read(store: Store, log: EpochLog, record: EpochRecord) -> list[Split]:
    """The splits that a committed epoch of the stream has read.

    Raises:
        StateError: ``STATE_LOG_BROKEN`` where its plan or its result is gone.
    """
    if record.kind != "data":
        return []
    plan, prepared = log.planned(record.epoch), log.prepared(record.epoch)
    if plan is None or prepared is None:
        raise StateError(
            f"the plan or the result of epoch {record.epoch} is gone from {store.url}",
            reason="they say what was read, and rows would be read twice",
            hint="restore the documents from a backup, or start anew at another state URL",
            code="STATE_LOG_BROKEN",
        )
    read = set() if prepared.result is None else set(prepared.result.files)
    return [split for split in plan.splits or () if split.path in read]
