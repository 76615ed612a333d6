"""How a key's sessions grow and merge while its elements come one by one.

Which sessions there are follows from the elements alone, whatever triggers say, for within an epoch no window expires.
So it is worked out first. Between two merges a session only grows: its elements there are a *run*. Where an element
joins several sessions their runs end, and that of the merged session begins with the element.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.codes import Codes
    from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Times


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of an epoch. The first ones are those of the open windows; a run comes before the one it ends in.

    Attributes:
        of: for each element the number of its run, or -1 where its session has expired.
        start: for each element, where its session starts once it is in.
        end: for each element, where its session ends once it is in.
        parent: for each run the one that begins where its session merges, or -1.
        level: for each run, how many merges deep it is: 0, or one more than the deepest that ends in it.
    """

    of: Indices
    start: Times
    end: Times
    parent: Indices
    level: Indices

    def __len__(self) -> int:
        return len(self.parent)


def runs_of(
    elements: tuple[Codes, Times, Times], open_windows: tuple[Codes, Times, Times], expired_until: Micros
) -> Runs:
    """Take elements one by one.

    Args:
        elements: the number of each one's key, and the bounds of its own window, in arrival order.
        open_windows: the same of the sessions that are open already; those of a key do not overlap.
        expired_until: a session that ends then, or before, takes no element.
    """
    codes, starts, ends = open_windows
    sessions: defaultdict[int, tuple[list[int], list[int], list[int]]] = defaultdict(lambda: ([], [], []))
    for run in np.lexsort((starts, codes)).tolist():
        for column, value in zip(sessions[int(codes[run])], (int(starts[run]), int(ends[run]), run), strict=True):
            column.append(value)
    parent, level = [-1] * len(codes), [0] * len(codes)
    of, lows, highs = list[int](), list[int](), list[int]()
    for code, first, last in zip(*(column.tolist() for column in elements), strict=True):
        start, end, runs = sessions[code]
        # It joins those that end after its start and start before its end; most come behind all others.
        low = len(start) if not end or first >= end[-1] else bisect_right(end, first)
        high = bisect_left(start, last, low)
        if low < high:
            first, last = min(first, start[low]), max(last, end[high - 1])  # noqa: PLW2901 - those of the session
        lows.append(first)
        highs.append(last)
        if last <= expired_until:
            of.append(-1)
            continue
        if high - low == 1:
            run, start[low], end[low] = runs[low], first, last
        else:
            run = len(parent)
            parent.append(-1)
            ended = runs[low:high]
            level.append(1 + max(level[each] for each in ended) if ended else 0)
            for each in ended:
                parent[each] = run
            start[low:high], end[low:high], runs[low:high] = [first], [last], [run]
        of.append(run)
    return Runs(*(np.array(column, dtype=np.int64) for column in (of, lows, highs, parent, level)))


def last_of(parent: Indices) -> Indices:
    """For each run the one that its session ends the epoch with."""
    last = np.where(parent < 0, np.arange(len(parent)), parent)
    while not np.array_equal(last, further := last[last]):
        last = further
    return last
