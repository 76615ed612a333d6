"""What a map task reads: a list of splits, packed so that tasks are of a size."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TASK_BYTES = 128 * 2**20
"""No task reads more than this, unless one split alone is larger."""


@dataclass(frozen=True, slots=True, order=True)
class Split:
    """A file that is read as a whole, and its length in bytes."""

    path: str
    length: int


def splits_of(listing: DataFrame) -> list[Split]:
    """The files that Spark lists (``path``, ``length``), in the order of their names."""
    return sorted(Split(row["path"], row["length"]) for row in listing.collect())


def packed(splits: Sequence[Split], parallelism: int) -> list[list[Split]]:
    """Splits by task: the longest first, each to the task that has least. The same splits pack the same way."""
    if not splits:
        return []
    whole = sum(split.length for split in splits)
    tasks = min(len(splits), max(parallelism, -(-whole // _TASK_BYTES)))
    heap: list[tuple[int, int]] = [(0, number) for number in range(tasks)]
    filled: list[list[Split]] = [[] for _ in range(tasks)]
    for split in sorted(splits, key=lambda split: (-split.length, split.path)):
        size, number = heap[0]
        filled[number].append(split)
        heapq.heapreplace(heap, (size + split.length, number))
    return [sorted(task) for task in filled]
