"""Splits that an epoch was to read and has not read: a batch did not wait for them, or they were away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.documents import bad_record
from airflow_dataflow_provider.progress.store.store import Json


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that were planned and are not read yet; an epoch takes them up once they are there.

    An empty file counts as a byte, so that leaving it out shows.

    Args:
        files: which.
        of: the bytes of the whole input that they are part of.
    """

    files: tuple[Split, ...]
    of: int

    def __post_init__(self) -> None:
        if not self.files or min(split.size for split in self.files) < 0 or self.bytes > self.of:
            raise bad_record(f"{self!r} is no part of an input")

    @property
    def bytes(self) -> int:
        """How much is left out."""
        return counted_bytes(self.files)

    @property
    def percent_read(self) -> float:
        """How much of the input is read, above 0 and below 100."""
        return 100 * (self.of - self.bytes) / self.of

    def describe(self) -> str:
        """For people, e.g. ``1 file, 1.2 MB, 4.9 % of the input``."""
        count = f"{len(self.files):,} file{'s' if len(self.files) > 1 else ''}"
        return f"{count}, {_size(self.bytes)}, {100 - self.percent_read:.3g} % of the input"

    def to_json(self) -> Json:
        """``{"files": [[PATH, BYTES, MODIFIED], ...], "bytes": ..., "of_bytes": ...}``."""
        return {"files": [list(split) for split in self.files], "bytes": self.bytes, "of_bytes": self.of}

    @classmethod
    def from_json(cls, document: Json) -> LeftOut:
        return cls(tuple(Split(*split) for split in document["files"]), document["of_bytes"])


def left_out_after(before: LeftOut | None, planned: Sequence[Split], done: Collection[str]) -> LeftOut | None:
    """The files that are left out after an epoch: those left out before and those planned, less those read or given up.

    Args:
        before: what was left out before it.
        planned: the splits of its plan; of a file that was left out before, the version that counts from now on.
        done: the paths of what it has read, and of what is to be forgotten.
    """
    left = tuple(split for path, split in _expected(before, planned).items() if path not in done)
    return LeftOut(left, input_bytes(before, planned)) if left else None


def input_bytes(before: LeftOut | None, planned: Sequence[Split]) -> int:
    """The bytes of an epoch's whole input: what was left out before it, and what it has planned.

    Where it plans nothing new, it is the input of the epoch that left something out: a run that is repeated goes on
    where the first one stood.
    """
    expected = counted_bytes(_expected(before, planned).values())
    known = set[str]() if before is None else {split.path for split in before.files}
    is_repeated = before is not None and {split.path for split in planned} <= known
    return max(before.of, expected) if before is not None and is_repeated else expected


def _expected(before: LeftOut | None, planned: Sequence[Split]) -> dict[str, Split]:
    old = () if before is None else before.files
    return {split.path: split for split in (*old, *planned)}


def counted_bytes(splits: Iterable[Split]) -> int:
    """The bytes of some splits, of an empty one one."""
    return sum(max(1, split.size) for split in splits)


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes" if count != 1 else "1 byte"
