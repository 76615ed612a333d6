"""The order of a benchmark: rehearse, then rounds of warming up, timing and checking, engine after engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from tests.benchmarks.check import Answer, WrongAnswerError, compare, write_truth
from tests.benchmarks.engines import Engine
from tests.benchmarks.generate import Events, Workload, generate
from tests.benchmarks.measure import Cost
from tests.benchmarks.places import Place
from tests.benchmarks.queries import Query

_WARM_UP = Workload(rows=100_000, keys=1_000, files=4)


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table; the fields are those of ``bench.json``.

    Attributes:
        query, keys, rows, mode, engine: what ran.
        seconds: wall time of the best run.
        rows_per_s: input rows a second in that run.
        cpu_s: CPU seconds of its process tree.
        peak_mb: peak memory of its process tree, in 10^6 bytes.
        ratio: for ours, the best baseline's seconds of the same mode by ours; for the others None.
    """

    query: str
    keys: int
    rows: int
    mode: str
    engine: str
    seconds: float
    rows_per_s: float
    cpu_s: float
    peak_mb: float
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark in a scratch folder.

    Args:
        root: events are kept here; what runs write is removed once it is checked.
        engines: who runs.
        repeats: timed runs of each.
        place_of: the process in which an engine's calls are made.
        tell: is told what comes next.
        note: is told what is worth reading afterwards.
    """

    root: Path
    engines: Sequence[Engine]
    repeats: int
    place_of: Callable[[str], Place]
    tell: Callable[[str], None]
    note: Callable[[str], None]
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def steps(self) -> int:
        """How often :meth:`measure` says what comes next."""
        return 1 + len(self.engines) * (1 + self.repeats)

    def measure(self, query: Query, workload: Workload) -> list[Result]:
        """Each engine's best run, every run checked.

        Raises:
            WrongAnswerError: an engine's answer is not DuckDB's, or it has shown none.
        """
        what = f"{query.name}, {workload.rows:,} rows, {workload.keys:,} keys"
        self.tell(f"{what}: events and truth")
        truth = self.root / f"{query.name}-{workload.name}-truth.parquet"
        case = _Case(query, generate(workload, self.root), generate(_WARM_UP, self.root), truth)
        groups = write_truth(query, case.events, truth)
        self.note(f"{what}: {groups:,} keys and windows")
        for engine in self.engines:
            self.tell(f"{what}: {engine.name}, rehearsal")
            self._rehearse(engine, case)
        costs: dict[str, list[Cost]] = {engine.name: [] for engine in self.engines}
        for repeat in range(self.repeats):
            turn = repeat % len(self.engines)
            for engine in (*self.engines[turn:], *self.engines[:turn]):
                self.tell(f"{what}: {engine.name}, run {repeat + 1} of {self.repeats}")
                costs[engine.name].append(self._timed(engine, case))
        unchecked = sorted(costs.keys() - case.checked)
        if unchecked:
            raise WrongAnswerError(f"no answer of {', '.join(unchecked)} was checked, so its time means nothing")
        return _with_ratios([self._result(engine, query, workload, costs[engine.name]) for engine in self.engines])

    def _rehearse(self, engine: Engine, case: _Case) -> None:
        with self.folder(engine.name) as folder:
            answer = self.place_of(engine.place).call(engine.rehearse, case.query, case.events, folder)
            unpublished = case.check(engine, answer)
        if answer is not None and answer.remark:
            self.note(f"  {engine.name}: {answer.remark}")
        if unpublished:
            self.note(f"  {engine.name}: ends without having published {unpublished:,} of them, which are still open")

    def _timed(self, engine: Engine, case: _Case) -> Cost:
        place = self.place_of(engine.place)
        # Right before: Spark ends Python workers that were idle for a minute.
        with self.folder(f"{engine.name}-warm-up") as folder:
            place.call(engine.run, case.query, case.small, folder)
        with self.folder(engine.name) as folder:
            cost = place.measured(engine.run, case.query, case.events, folder)
            answer = place.call(engine.answer, case.query, case.events, folder)
            case.check(engine, answer)
        published = answer and answer.published
        self.note(
            f"  {engine.name}: {cost.seconds:.2f} s"
            + (f", {published:,} panes published in this time" if published else "")
        )
        return cost

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """A fresh folder for one run; it stays only where something went wrong."""
        path = self.root / "runs" / f"{next(self._numbers):03d}-{name}"
        path.mkdir(parents=True)
        yield path
        shutil.rmtree(path)

    def _result(self, engine: Engine, query: Query, workload: Workload, costs: list[Cost]) -> Result:
        best = min(costs, key=lambda cost: cost.seconds)
        return Result(
            query.name,
            workload.keys,
            workload.rows,
            engine.mode,
            engine.name,
            round(best.seconds, 3),
            round(workload.rows / best.seconds, 1),
            round(best.cpu_s, 2),
            round(best.peak_mb, 1),
        )


@dataclass(frozen=True, slots=True)
class _Case:
    """What all engines are asked, and who has answered it rightly."""

    query: Query
    events: Events
    small: Events
    truth: Path
    checked: set[str] = field(default_factory=set)

    def check(self, engine: Engine, answer: Answer | None) -> int:
        """How many groups an answer need not have; an engine that shows none stays unchecked."""
        if answer is None:
            return 0
        unpublished = compare(self.query, engine.name, answer, self.truth)
        self.checked.add(engine.name)
        return unpublished


def _with_ratios(results: list[Result]) -> list[Result]:
    def ratio(mine: Result) -> float | None:
        baselines = [other.seconds for other in results if other.engine != "ours" and other.mode == mine.mode]
        return round(min(baselines) / mine.seconds, 2) if mine.engine == "ours" and baselines else None

    return [replace(result, ratio=ratio(result)) for result in results]
