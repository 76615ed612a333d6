"""File sources on Spark: which files there are is Spark's to say, what is in them is read by the map side.

Spark lists a source as ``binaryFile`` with the content pruned away, so a row is a path and its length. In a stream that
gives Spark's own file log: every file once, the same files for the same batch id, limits a batch.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import fsspec

from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_dataflow_provider.model.sources import Files

_LISTING = "path string, modificationTime timestamp, length long, content binary"
_GLOB = re.compile(r"[*?\[{]")


def first_file(source: Files, *, needed: bool) -> str | None:
    """The first file of a source in the order of names, or None where there is none yet.

    Args:
        source: the source.
        needed: whether having none is an error, as it is for a batch.

    Raises:
        SubmissionError: ``SOURCE_NOT_FOUND`` where the folder does not exist, ``SOURCE_EMPTY``.
    """
    filesystem, path = fsspec.core.url_to_fs(source.path)
    folder = path
    while _GLOB.search(folder):
        folder = str(PurePosixPath(folder).parent)
    if not filesystem.exists(folder):
        raise SubmissionError(
            f"the source path {source.path!r} does not exist ({folder} is not there)",
            why="a mistyped path would look like a source without data",
            todo="correct the path, or create the folder before the pipeline starts",
            code="SOURCE_NOT_FOUND",
        )
    if _GLOB.search(path):
        found = filesystem.glob(path)
    elif filesystem.isdir(path):
        found = filesystem.glob(f"{path.rstrip('/')}/**/*.{source.format}")
    else:
        found = [path]
    found = sorted(name for name in found if not PurePosixPath(name).name.startswith(("_", ".")))
    if not found and needed:
        raise SubmissionError(
            f"the source {source.path!r} has no files",
            why="a batch over nothing would replace what stands with nothing",
            todo="check the path, and that the files' names match it",
            code="SOURCE_EMPTY",
        )
    return str(filesystem.unstrip_protocol(found[0])) if found else None


def paths_now(spark: SparkSession, source: Files) -> DataFrame:
    """The files that are there now: ``path``, ``length``."""
    reader = spark.read.format("binaryFile").schema(_LISTING).options(**_options(source))
    return reader.load(source.path).select("path", "length")


def paths_as_they_come(spark: SparkSession, source: Files, limit: int | None) -> DataFrame:
    """The files as they appear, oldest first, at most ``limit`` an epoch."""
    options = _options(source)
    # Spark would pass over files much older than the newest one it has seen. That would be losing them.
    options["maxFileAge"] = "36500d"
    if limit is not None:
        options["maxFilesPerTrigger"] = str(limit)
    reader = spark.readStream.format("binaryFile").schema(_LISTING).options(**options)
    return reader.load(source.path).select("path", "length")


def _options(source: Files) -> dict[str, str]:
    if _GLOB.search(source.path) or PurePosixPath(source.path).suffix == f".{source.format}":
        return {}
    return {"pathGlobFilter": f"*.{source.format}", "recursiveFileLookup": "true"}
