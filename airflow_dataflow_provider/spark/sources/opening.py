"""Opening one file of a source by its name: no character in it is a pattern, an escape or the end of a path."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files


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
