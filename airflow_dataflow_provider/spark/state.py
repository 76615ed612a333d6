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

from airflow_dataflow_provider.model.time import from_iso, iso
from airflow_dataflow_provider.model.windows import expired_until
from airflow_dataflow_provider.spark.frames import read_arrow, write_arrow
from airflow_dataflow_provider.spark.kernel.kernel import END, Kernel, Outcome
from airflow_dataflow_provider.spark.kernel.triggers import Wake

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.progress.store import Store

FOLDER = "keyed"
_LONGEST_CHAIN = 16
_SMALL = 1_000
"""Rows that are not worth rewriting a base for."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The files of one state partition: the base, then deltas, with their numbers of rows.

    ``live`` is the number of open windows that they add up to; ``wake`` says when the partition next has something to
    do.
    """

    files: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    live: int = 0
    wake: Wake = field(default_factory=lambda: Wake({}, 2**63 - 1))

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        unreached = {f"{percentile:g}": iso(end) for percentile, end in self.wake.unreached.items()}
        first_end = iso(self.wake.first_end) if self.live else None
        return {
            "files": self.files,
            "rows": self.rows,
            "live": self.live,
            "unreached": unreached,
            "first_end": first_end,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Chain:
        """Read back :meth:`to_json`."""
        unreached = {float(percentile): from_iso(end) for percentile, end in document["unreached"].items()}
        first_end = from_iso(document["first_end"]) if document["first_end"] else 2**63 - 1
        return cls(tuple(document["files"]), tuple(document["rows"]), document["live"], Wake(unreached, first_end))


_LIVE: dict[tuple[str, int], tuple[tuple[str, ...], pl.DataFrame]] = {}
"""This process's live frames: by state URL and partition, the files each one is equal to, and the frame."""


def load(store: Store, kernel: Kernel, partition: int, chain: Chain, horizon: Micros) -> pl.DataFrame:
    """The open windows of a partition as its chain says.

    Args:
        store: the state.
        kernel: whose state it is.
        partition: which part of it.
        chain: the files that it is equal to.
        horizon: the ordinary watermark by which windows had expired when the chain was committed.
    """
    files, frame = _LIVE.get((store.url, partition), ((), kernel.empty_state()))
    if chain.files[: len(files)] != files:
        files, frame = (), kernel.empty_state()
    missing = chain.files[len(files) :]
    if not missing:
        return frame
    parts = [frame, *(read_arrow(store, f"{FOLDER}/{name}").select(frame.columns) for name in missing)]
    frame = pl.concat(parts, rechunk=True)
    if len(missing) > 1 or len(parts[0]):
        frame = frame.unique(subset=kernel.by, keep="last", maintain_order=False)
    frame = frame.filter(pl.col(END) > expired_until(horizon, kernel.grouping.allowed_lateness))
    _LIVE[store.url, partition] = (chain.files, frame)
    return frame


def save(store: Store, epoch: int, partition: int, chain: Chain, outcome: Outcome) -> tuple[Chain, int]:
    """Write what an epoch changed; the answer is the new chain and the bytes written.

    A delta holds the changed windows whole. When the deltas outweigh the live windows a new base is written instead, so
    that over time each row is written a bounded number of times and a cold start reads at most about twice what lives.
    """
    live, changed = len(outcome.state), len(outcome.changed)
    if not live:
        return Chain((), (), 0, outcome.wake), 0
    if not changed:
        # Files alone can shrink, by expiry; the frame in memory is then behind them by nothing that matters.
        _LIVE[store.url, partition] = (chain.files, outcome.state)
        return Chain(chain.files, chain.rows, live, outcome.wake), 0
    rebase = not chain.files or len(chain.files) >= _LONGEST_CHAIN or sum(chain.rows[1:]) + changed > max(live, _SMALL)
    name = f"{epoch:012d}/{partition:04d}-{uuid.uuid4().hex[:8]}.arrow"
    size = write_arrow(store, f"{FOLDER}/{name}", outcome.state if rebase else outcome.changed)
    files = (name,) if rebase else (*chain.files, name)
    rows = (live,) if rebase else (*chain.rows, changed)
    _LIVE[store.url, partition] = (files, outcome.state)
    return Chain(files, rows, live, outcome.wake), size


def sweep(store: Store, standing: Iterable[str], *, before: int) -> None:
    """Remove what no chain holds: leftovers of crashed tasks, and files that a new base replaced.

    Args:
        store: the state.
        standing: the files of all chains.
        before: only files of epochs below this number; tasks of later ones may still be writing.
    """
    kept = set(standing)
    for folder in store.list(FOLDER):
        if int(folder) >= before:
            continue
        names = store.list(f"{FOLDER}/{folder}")
        gone = [name for name in names if f"{folder}/{name}" not in kept]
        if len(gone) == len(names):
            store.delete(f"{FOLDER}/{folder}", recursive=True)
            continue
        for name in gone:
            store.delete(f"{FOLDER}/{folder}/{name}")
