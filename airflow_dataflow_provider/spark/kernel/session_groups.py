"""Which firing publishes which elements, where sessions merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.session_runs import Runs
    from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask

GROUP = "_group"


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of elements: one a firing, and behind them one for the unpublished rest of each session.

    Attributes:
        left: the runs that sessions end the epoch with.
        run: for each firing its run.
        is_first: whether it is the first one there.
        of_window: for each open window the group that publishes what was unpublished; -1 where nothing came for it.
        of_element: for each element the group that publishes it.
        follows: for each group the one that publishes what it says anew; -1 for what is left.
    """

    left: Indices
    run: Indices
    is_first: Mask
    of_window: Indices
    of_element: Indices
    follows: Indices

    @classmethod
    def of(cls, runs: Runs, open_windows: int, borders: Indices, fires: Indices) -> Groups:
        """Read them off the firings; the first runs are those of so many open windows."""
        many, number = len(fires), np.arange(len(runs))
        has_elements = borders[1:] > borders[:-1]
        left = np.flatnonzero((runs.parent < 0) & has_elements)
        left_of = np.full(len(runs), -1)
        left_of[left] = many + np.arange(len(left))
        run = np.searchsorted(borders, fires, side="right") - 1
        is_first = np.ones(many, np.bool_)
        is_first[1:] = run[1:] != run[:-1]
        first = np.full(len(runs), -1)
        first[run[is_first]] = np.flatnonzero(is_first)
        # Where a run does not fire, what it has goes to the run that it merges into.
        goes_to = np.where((first >= 0) | (runs.parent < 0), number, runs.parent)
        while not np.array_equal(goes_to, further := goes_to[goes_to]):
            goes_to = further
        begin = np.where(first[goes_to] >= 0, first[goes_to], left_of[goes_to])
        rest = np.where(runs.parent >= 0, begin[runs.parent], left_of)
        position = np.arange(int(borders[-1]))
        of_position = np.repeat(number, borders[1:] - borders[:-1])
        following = np.searchsorted(fires, position)
        inside = np.append(fires, np.iinfo(np.int64).max)[following] < borders[1:][of_position]
        of_element = np.where(inside, following, rest[of_position])
        follows = np.full(many + len(left), -1)
        follows[:many] = rest[run]
        same = np.flatnonzero(run[1:] == run[:-1])
        follows[same] = same + 1
        return cls(left, run, is_first, begin[:open_windows], of_element, follows)
