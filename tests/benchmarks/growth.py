"""How our cost grows: along the number of rows, and along the number of keys, each set against the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from tests.benchmarks.bench import Bench, Contender, Result
from tests.benchmarks.engines import Engine
from tests.benchmarks.generate import SHORTEST_SPAN, Workload
from tests.benchmarks.listings import SOURCES
from tests.benchmarks.queries import Query

GROWING = ("Q1", "Q3")
"""The queries that are measured so."""
_FILES = 4
"""Of the smallest workload; the files of all have as many rows, so that all epochs are alike."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Three numbers of rows, at the middle number of keys; three numbers of keys, at the middle number of rows.

    And three numbers of epochs that a state has lived (:mod:`tests.benchmarks.long_logs`), and sources of many files,
    each with the folders that they lie in (:mod:`tests.benchmarks.listings`).
    """

    rows: tuple[int, int, int] = (1_000_000, 5_000_000, 20_000_000)
    keys: tuple[int, int, int] = (1_000, 200_000, 2_000_000)
    epochs: tuple[int, int, int] = (100, 10_000, 100_000)
    sources: tuple[tuple[int, int], ...] = SOURCES

    def __post_init__(self) -> None:
        for numbers in (self.rows, self.keys, self.epochs):
            if any(one >= next_ for one, next_ in pairwise(numbers)):
                raise ValueError(f"{self!r} does not grow")

    def workloads(self) -> dict[str, list[Workload]]:
        """The three of each axis. Events of all arrive at one rate, at which those of the smallest last long enough for
        most of its windows to close: with the rows grows the time that they span, not what is open at any moment.
        """

        def workload(rows: int, keys: int) -> Workload:
            return Workload(rows, keys, _FILES * rows // self.rows[0], rate=self.rows[0] / SHORTEST_SPAN)

        return {
            "rows": [workload(rows, self.keys[1]) for rows in self.rows],
            "keys": [workload(self.rows[1], keys) for keys in self.keys],
        }


@dataclass(frozen=True, slots=True)
class Growth(Result):
    """One row of the growth table; the ratios are to the middle of its axis.

    Attributes:
        axis: ``rows`` or ``keys``: what grows.
        us_per_row: microseconds of wall time a row.
        time_ratio: of these.
        memory_ratio: of ``workers_mb``.
        open_ratio: of ``open_windows``.
        state_ratio: of ``state_bytes``.
    """

    axis: str = ""
    us_per_row: float = 0
    time_ratio: float = 1
    memory_ratio: float = 1
    open_ratio: float = 1
    state_ratio: float = 1


def growth_steps(bench: Bench, axes: Axes) -> int:
    """How often :func:`measure_growth` says what comes next."""
    distinct = len({workload for three in axes.workloads().values() for workload in three})
    return bench.steps(distinct, distinct)


def measure_growth(bench: Bench, query: Query, axes: Axes, ours: Engine) -> list[Growth]:
    """Both axes; their common middle is measured once.

    Raises:
        WrongAnswerError: an answer is not DuckDB's.
    """
    by_axis = axes.workloads()
    contenders: dict[Workload, Contender] = {}
    for workload in dict.fromkeys(workload for three in by_axis.values() for workload in three):
        contenders[workload] = Contender(ours, bench.case(query, workload))
    bench.compete(list(contenders.values()))
    return [
        row
        for axis, three in by_axis.items()
        for row in _along(axis, [contenders[workload].result() for workload in three])
    ]


def _along(axis: str, results: Sequence[Result]) -> list[Growth]:
    middle = results[1]
    return [
        Growth(
            # Named apart from the engine that is set against others, on another workload.
            **asdict(one) | {"engine": f"{one.engine}-growth"},
            axis=axis,
            us_per_row=round(one.seconds / one.rows * 1e6, 3),
            time_ratio=_ratio(one.seconds / one.rows, middle.seconds / middle.rows),
            memory_ratio=_ratio(one.workers_mb, middle.workers_mb),
            open_ratio=_ratio(one.open_windows or 0, middle.open_windows or 0),
            state_ratio=_ratio(one.state_bytes or 0, middle.state_bytes or 0),
        )
        for one in results
    ]


def _ratio(one: float, middle: float) -> float:
    return round(one / middle, 2) if middle else 0
