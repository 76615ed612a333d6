"""An archive: the documents of a thousand epochs in one file.

It has JSON lines, one an epoch (``{"epoch": 7, "plan": {...}, "prepared": {...}, "commit": {...}}``), compressed with
gzip, whose checksum detects damage. ``docs/decisions/0015-epoch-archives.md`` has measurements.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping

from airflow_dataflow_provider.progress.store.store import Json


def pack(epochs: Iterable[tuple[int, Mapping[str, Json]]]) -> bytes:
    """An archive of the given epochs: the number of each, and its documents by name. Equal epochs give equal bytes."""
    lines = (
        json.dumps({"epoch": epoch, **documents}, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        for epoch, documents in epochs
    )
    return gzip.compress("".join(lines).encode(), compresslevel=6, mtime=0)


def unpack(archive: bytes) -> list[bytes]:
    """The lines of an archive, one an epoch.

    Raises:
        ValueError: the archive is damaged.
    """
    try:
        return gzip.decompress(archive).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error
