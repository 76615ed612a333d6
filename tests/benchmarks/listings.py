"""What it costs the driver to list a source of many files, all of which are read."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from airflow_dataflow_provider.spark.sources.read_splits import ReadSplits

SOURCES = ((100_000, 1), (1_000_000, 1_000))
"""Files, and the folders that they lie in."""
_LATER = 120.0
"""Seconds, by the listing's clock, after which folders are quiet."""


@dataclass(frozen=True, slots=True)
class Listings:
    """Seconds of each look at a source.

    Attributes:
        files: how many there are, all of them read.
        folders: in how many folders.
        first_s: the first look of a run; compares the versions of what was read.
        next_s: the next one, while the folders may still have changed unseen.
        quiet_s: a look at folders that have been quiet for a minute.
        one_new_s: the same, with one new file in one of them.
    """

    files: int
    folders: int
    first_s: float
    next_s: float
    quiet_s: float
    one_new_s: float


def measure_listings(folder: Path, sources: Sequence[tuple[int, int]] = SOURCES) -> list[Listings]:
    """Make each source, say that all of it is read, and list it.

    Raises:
        AssertionError: where a listing finds what it must not, or misses the new file.
    """
    return [_measure(folder / f"{files}-{folders}", files, folders) for files, folders in sources]


def _measure(root: Path, files: int, folders: int) -> Listings:
    for day in range(folders):
        (root / f"day={day:05d}").mkdir(parents=True)
        for number in range(files // folders):
            os.close(os.open(f"{root}/day={day:05d}/part-{number:07d}.parquet", os.O_CREAT))
    source, now = Files(f"{root}/*/*.parquet", event_time="happened"), [0.0]
    read = ReadSplits()
    read.commit(SourceListing(source).everything())
    listing = SourceListing(source, lambda: now[0])

    def look(new: int) -> float:
        began = time.perf_counter()
        found = listing.unread(read)
        took = time.perf_counter() - began
        assert len(found) == new, found[:3]
        return took

    first, following = look(0), look(0)
    now[0] = _LATER
    quiet = look(0)
    (root / "day=00000" / "new.parquet").touch()
    one_new = look(1)
    shutil.rmtree(root)
    return Listings(files, folders, first, following, quiet, one_new)
