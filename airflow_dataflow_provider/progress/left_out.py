"""What a batch with a percentile did not wait for."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store import Json

Split = tuple[str, int]
"""A file and its bytes. An empty one counts as a byte, so that leaving it out shows."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that were handed out and are not read yet; the next epoch over data takes them up.

    Args:
        files: which.
        of: the bytes of the whole input that they are part of.
    """

    files: tuple[Split, ...]
    of: int

    def __post_init__(self) -> None:
        if not self.files or min(size for _, size in self.files) < 1 or self.bytes > self.of:
            raise StateError(
                f"{self!r} is no part of an input", why="readers rely on it", todo="report it", code="STATE_BAD_RECORD"
            )

    @property
    def bytes(self) -> int:
        """How much is left out."""
        return sum(size for _, size in self.files)

    @property
    def percent_read(self) -> float:
        """How much of the input is read, above 0 and below 100."""
        return 100 * (self.of - self.bytes) / self.of

    def describe(self) -> str:
        """For people, e.g. ``1 file, 1.2 MB, 4.9 % of the input``."""
        count = f"{len(self.files):,} file{'s' if len(self.files) > 1 else ''}"
        return f"{count}, {_size(self.bytes)}, {100 - self.percent_read:.3g} % of the input"

    def to_json(self) -> Json:
        """``{"files": [[PATH, BYTES], ...], "bytes": ..., "of_bytes": ...}``."""
        return {"files": [list(split) for split in self.files], "bytes": self.bytes, "of_bytes": self.of}

    @classmethod
    def from_json(cls, document: Json) -> LeftOut:
        """Read back :meth:`to_json`."""
        return cls(tuple((path, size) for path, size in document["files"]), document["of_bytes"])


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes" if count != 1 else "1 byte"
