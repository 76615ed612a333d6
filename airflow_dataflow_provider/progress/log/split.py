"""A split: the smallest part of a source that is read, or left out, as a whole."""

from __future__ import annotations

from typing import NamedTuple

from airflow_dataflow_provider.model.time import Micros


class Split(NamedTuple):
    """One version of a file.

    Attributes:
        path: an absolute path, or a URL.
        size: in bytes.
        modified: when the file was last modified, by its file system's clock; 0 where that is not known.
    """

    path: str
    size: int
    modified: Micros = 0
