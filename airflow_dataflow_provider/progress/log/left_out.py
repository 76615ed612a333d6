"""Splits that were planned and are not read: a batch did not wait for them, or they were missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.documents import bad_record
from airflow_dataflow_provider.progress.store.store import Json


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that were planned and are not read yet; a later epoch reads them once they exist.

    An empty file counts as one byte, so that it is not lost among the others.

    Args:
        files: the files.
        of: the bytes of the whole input.
    """

    files: tuple[Split, ...]
    of: int

    def __post_init__(self) -> None:
        if not self.files or min(split.size for split in self.files) < 0 or self.bytes > self.of:
            raise bad_record(f"{self!r} is no part of an input")

    @property
    def bytes(self) -> int:
        return counted_bytes(self.files)

    @property
    def percent_read(self) -> float:
        """The percentage of the input's bytes that is read, above 0 and below 100."""
        return 100 * (self.of - self.bytes) / self.of

    def describe(self) -> str:
        """The files for messages, e.g. ``1 file, 1.2 MB, 4.9 % of the input``."""
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
        before: the files left out before the epoch.
        planned: the splits of its plan, with the new version of a file that was left out before.
        done: the paths that it has read, and those that are to be forgotten.
    """
    left = tuple(split for path, split in _expected(before, planned).items() if path not in done)
    return LeftOut(left, input_bytes(before, planned)) if left else None


def input_bytes(before: LeftOut | None, planned: Sequence[Split]) -> int:
    """The bytes of an epoch's whole input: the files left out before it, and those of its plan.

    If the plan has no new file, it is the input of the epoch that left files out, so that a repeated run continues the
    first one.
    """
    expected = counted_bytes(_expected(before, planned).values())
    known = set[str]() if before is None else {split.path for split in before.files}
    is_repeated = before is not None and {split.path for split in planned} <= known
    return max(before.of, expected) if before is not None and is_repeated else expected


def _expected(before: LeftOut | None, planned: Sequence[Split]) -> dict[str, Split]:
    old = () if before is None else before.files
    return {split.path: split for split in (*old, *planned)}


def counted_bytes(splits: Iterable[Split]) -> int:
    """The bytes of some splits; an empty one counts as one byte."""
    return sum(max(1, split.size) for split in splits)


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes" if count != 1 else "1 byte"
