"""Opening one file of a source by its name: no character in it is a pattern, an escape or the end of a path."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa

from airflow_dataflow_provider.model.file_formats import COMPRESSIONS, compression_of

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files

_MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
"""What compressed files begin with; no UTF-8 does."""
_NO_UTF_8 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""The byte order marks of other encodings."""


def local_path(file: str) -> str | None:
    """The path of a local file, or None for one elsewhere.

    Args:
        file: a path, or ``file:/a/b`` or ``file:///a/b`` with nothing escaped.
    """
    if file.startswith("file:"):
        return "/" + file.removeprefix("file:").lstrip("/")
    return None if "://" in file else file


def contents(source: Files, file: str) -> bytes:
    """All bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    path = local_path(file)
    if path is not None:
        return Path(path).read_bytes()
    # The file system is the source's own: looked up by the file's URL, a "::" in a name would be taken for a chain.
    filesystem, _ = fsspec.core.url_to_fs(source.path)
    with filesystem.open(file, "rb") as stream:
        return bytes(stream.read())


def path_or_contents(source: Files, file: str) -> str | io.BytesIO:
    """What polars reads, with ``glob=False``: the path where it is local, so that unread columns cost nothing.

    Raises:
        OSError: it cannot be read.
    """
    return local_path(file) or io.BytesIO(contents(source, file))


def text_of(source: Files, file: str) -> bytes:
    """The text of a file, decompressed where its name says that it is compressed.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not compressed as its name says, or is cut off, or is no UTF-8.
    """
    data, codec = contents(source, file), compression_of(file)
    if codec:
        if not data:
            raise ValueError(f"it is empty, and no {codec} file is")
        try:
            data = pa.CompressedInputStream(pa.BufferReader(data), codec).read()
        except OSError as error:
            raise ValueError(f"it is not a whole {codec} file: {error}") from error
    for ending, magic in _MAGIC.items():
        if data.startswith(magic):
            raise ValueError(f"it is compressed with {COMPRESSIONS[ending]}, and its name does not end in .{ending}")
    if data.startswith(_NO_UTF_8):
        raise ValueError("it is UTF-16 or UTF-32, not UTF-8")
    return bytes(data)
