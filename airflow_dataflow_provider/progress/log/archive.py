"""An archive: the documents of a thousand epochs in one file, which any tool reads.

JSON lines, one an epoch (``{"epoch": 7, "plan": {...}, "prepared": {...}, "commit": {...}}``), compressed with gzip,
whose checksum tells damage. Measured in ``docs/decisions/0015-epoch-archives.md``.
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
        ValueError: it is not what was written.
    """
    try:
        return gzip.decompress(archive).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error
