"""The order of a benchmark: rehearse, then rounds of warming up, timing and checking, one contender after the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from tests.benchmarks.check import Answer, StateSize, WrongAnswerError, compare, write_truth
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
        workers_mb: peak memory of Spark's Python workers in that run; 0 where there are none.
        open_windows: keys and windows in ours' state at the end; None for the others, as all that follow.
        state_bytes: bytes of that state's files.
        state_bytes_per_epoch: bytes of it that an epoch with elements has written, in the mean.
        epochs: how many such epochs there were.
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
    workers_mb: float = 0
    open_windows: int | None = None
    state_bytes: int | None = None
    state_bytes_per_epoch: int | None = None
    epochs: int | None = None


@dataclass(slots=True)
class Case:
    """One question over one workload, and who has answered it rightly."""

    query: Query
    workload: Workload
    events: Events
    small: Events
    truth: Path
    checked: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.query.name}, {self.workload.rows:,} rows, {self.workload.keys:,} keys"

    def check(self, engine: Engine, answer: Answer | None) -> int:
        """How many groups an answer need not have; an engine that shows none stays unchecked."""
        if answer is None:
            return 0
        unpublished = compare(self.query, engine.name, answer, self.truth)
        self.checked.add(engine.name)
        return unpublished


@dataclass(slots=True)
class Contender:
    """An engine with a case, and what its timed runs cost and left."""

    engine: Engine
    case: Case
    costs: list[Cost] = field(default_factory=list)
    state: StateSize | None = None

    def result(self) -> Result:
        """Its best run."""
        best, rows, state = min(self.costs, key=lambda cost: cost.seconds), self.case.workload.rows, self.state
        return Result(
            self.case.query.name,
            self.case.workload.keys,
            rows,
            self.engine.mode,
            self.engine.name,
            round(best.seconds, 3),
            round(rows / best.seconds, 1),
            round(best.cpu_s, 2),
            round(best.peak_mb, 1),
            workers_mb=round(best.workers_mb, 1),
            open_windows=state and state.open_windows,
            state_bytes=state and state.stands,
            state_bytes_per_epoch=state and state.written_per_epoch,
            epochs=state and state.epochs,
        )


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark in a scratch folder.

    Args:
        root: events are kept here; what runs write is removed once it is checked.
        repeats: timed runs of each contender.
        place_of: the process in which an engine's calls are made.
        tell: is told what comes next.
        note: is told what is worth reading afterwards.
    """

    root: Path
    repeats: int
    place_of: Callable[[str], Place]
    tell: Callable[[str], None]
    note: Callable[[str], None]
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def steps(self, contenders: int, cases: int = 1) -> int:
        """How often measuring so many contenders on so many cases says what comes next."""
        return cases + contenders * (1 + self.repeats)

    def measure(self, query: Query, workload: Workload, engines: Sequence[Engine]) -> list[Result]:
        """The best run of each engine that answers the query, every run checked.

        Raises:
            WrongAnswerError: an engine's answer is not DuckDB's, or it has shown none.
        """
        case = self.case(query, workload)
        contenders = [Contender(engine, case) for engine in engines]
        self.compete(contenders)
        sides = {engine.name: engine.side for engine in engines}
        return _with_ratios([contender.result() for contender in contenders], sides)

    def case(self, query: Query, workload: Workload) -> Case:
        """The events, and DuckDB's answer over them."""
        workload = replace(workload, bursts=query.bursts)
        small = generate(replace(_WARM_UP, bursts=query.bursts), self.root)
        truth = self.root / f"{query.name}-{workload.name}-truth.parquet"
        case = Case(query, workload, generate(workload, self.root), small, truth)
        self.tell(f"{case}: truth")
        self.note(f"{case}: {write_truth(query, case.events, truth):,} rows of {query.title}")
        return case

    def compete(self, contenders: Sequence[Contender]) -> None:
        """Let all run, round after round, so that what else the machine does meets all of them.

        Raises:
            WrongAnswerError: see :meth:`measure`.
        """
        for contender in contenders:
            self.tell(f"{contender.case}: {contender.engine.name}, rehearsal")
            self._rehearse(contender)
        for repeat in range(self.repeats):
            turn = repeat % len(contenders)
            for contender in (*contenders[turn:], *contenders[:turn]):
                self.tell(f"{contender.case}: {contender.engine.name}, run {repeat + 1} of {self.repeats}")
                self._time(contender)
        unchecked = sorted({one.engine.name for one in contenders if one.engine.name not in one.case.checked})
        if unchecked:
            raise WrongAnswerError(f"no answer of {', '.join(unchecked)} was checked, so its time means nothing")

    def _rehearse(self, contender: Contender) -> None:
        engine, case = contender.engine, contender.case
        place = self.place_of(engine.place)
        with self.folder(engine.name) as folder:
            remark = place.call(engine.prepare, case.query, case.events, folder)
            unpublished = case.check(engine, place.call(engine.rehearse, case.query, case.events, folder))
        if remark:
            self.note(f"  {engine.name}: {remark}")
        if unpublished:
            self.note(f"  {engine.name}: ends without having published {unpublished:,} of them, which are still open")

    def _time(self, contender: Contender) -> None:
        engine, case = contender.engine, contender.case
        place = self.place_of(engine.place)
        # Right before: Spark ends Python workers that were idle for a minute.
        with self.folder(f"{engine.name}-warm-up") as folder:
            place.call(engine.run, case.query, case.small, folder)
        with self.folder(engine.name) as folder:
            cost = place.measured(engine.run, case.query, case.events, folder)
            answer = place.call(engine.answer, case.query, case.events, folder)
            case.check(engine, answer)
        contender.costs.append(cost)
        published = answer and answer.published
        self.note(
            f"  {engine.name}: {cost.seconds:.2f} s"
            + (f", {published:,} panes published in this time" if published else "")
        )
        contender.state = answer and answer.state

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """A fresh folder for one run; it stays only where something went wrong."""
        path = self.root / "runs" / f"{next(self._numbers):03d}-{name}"
        path.mkdir(parents=True)
        yield path
        shutil.rmtree(path)


def _with_ratios(results: list[Result], sides: dict[str, str]) -> list[Result]:
    def ratio(mine: Result) -> float | None:
        others = [other for other in results if sides[other.engine] == "baseline" and other.mode == mine.mode]
        if sides[mine.engine] != "ours" or not others:
            return None
        return round(min(other.seconds for other in others) / mine.seconds, 2)

    return [replace(result, ratio=ratio(result)) for result in results]
