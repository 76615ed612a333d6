"""Draws the script of a world from its number: the same number, the same script."""

from __future__ import annotations

import random
from collections.abc import Iterator

from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtEpoch
from tests.simulate import faults
from tests.simulate.pipelines import draw_pipeline, ending_of, written
from tests.simulate.script import (
    Ask,
    Backup,
    Change,
    ClockBack,
    Fault,
    Go,
    Kill,
    Look,
    Offer,
    Pass,
    PowerCut,
    Restore,
    Return,
    Row,
    Script,
    Signal,
    Start,
    Step,
    StoreKind,
    Vanish,
    Wait,
)

MODES = ("micro-batch", "micro-batch", "streaming", "batch")
_CALLS = ((1, 30), (28, 75), (40, 75), (1, 160))
"""Where in a run faults happen: most of its calls that change something are in the middle."""
PARTS = ("epochs", "keyed", "owners", "panes")
"""Folders of a state that somebody may restore alone."""


def draw(number: int) -> Script:
    """The script of a world."""
    chance = random.Random(f"world {number}")
    pipeline = draw_pipeline(number)
    store: StoreKind = chance.choice(("disk", "disk", "objects"))
    signals = sorted(frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings)))
    author = _Author(
        chance, store, signals, pipeline.percentiles(), ending_of(pipeline), intervals=_same_in_one_epoch(pipeline)
    )  # fmt: skip
    steps = tuple(author.steps())
    return Script(written(pipeline), steps, store, chance.randrange(10**6))


def _same_in_one_epoch(pipeline: Pipeline) -> bool:
    """Whether an interval, which is one epoch, publishes what a batch does, which the reference knows."""
    return not any(isinstance(node, AtEpoch) for each in pipeline.groupings for node in each.trigger.walk())


class _Author:
    """Writes one story.

    Args:
        chance: decides.
        store: where the state lives.
        signals: the names that the pipeline listens to.
        percentiles: those that it publishes.
        ending: of its source's files.
        intervals: whether there are batches over intervals.
    """

    def __init__(
        self,
        chance: random.Random,
        store: StoreKind,
        signals: list[str],
        percentiles: tuple[float, ...],
        ending: str,
        *,
        intervals: bool,
    ) -> None:
        self._chance, self._store, self._signals, self._percentiles = chance, store, signals, percentiles
        self._ending, self._intervals = ending, intervals
        self._files: list[str] = []
        self._away: list[str] = []
        self._drivers: list[str] = []
        self._now = 0.0
        self._calm = chance.random() < 0.15
        """In a calm world nothing goes wrong but what users do."""

    def steps(self) -> Iterator[Step]:
        """The whole story: something to read, and a run of it, before all else."""
        yield self._offer()
        yield from self._run()
        for _ in range(self._chance.randrange(2, 9)):
            yield from self._scene()

    def _scene(self) -> Iterator[Step]:
        chance = self._chance
        scene = chance.choices(
            (
                self._input,
                self._run,
                self._trouble_with_files,
                self._users,
                self._time,
                self._end_of_something,
                self._stop_of_a_stream,
                self._backups,
            ),
            weights=(6, 8, 3, 4, 3, 2, 1.5, 1.5),
        )[0]
        yield from scene()

    # Input

    def _input(self) -> Iterator[Step]:
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            yield self._offer()

    def _offer(self) -> Offer:
        name = f"{len(self._files):03d}{self._ending}"
        self._files.append(name)
        far = 0.0 if self._calm or self._chance.random() < 0.95 else self._chance.choice((6e9, -86_400.0))
        return Offer(name, self._rows(), far)

    def _rows(self) -> tuple[Row, ...]:
        return tuple(self._row() for _ in range(self._chance.choice((1, 2, 3, 5, 8))))

    def _row(self) -> Row:
        chance = self._chance
        happened: float | None = max(0.0, self._now - chance.choice((0, 0, 10, 20, 30, 60, 120, 300)))
        happened = happened // 10 * 10 + chance.choice((0, 0, 0, 1, 5))
        if not self._calm and chance.random() < 0.03:
            happened = None
        key, site = chance.choice(("a", "a", "a", "b", None)), chance.choice((1, 1, 1, 2, None))
        whole = chance.choice((0, 1, 2, 3, -1, None, 1_000))
        part = chance.choice((0.0, 0.25, 0.5, -1.5, None, 1_000.75))
        return (happened, key, site, whole, part)

    def _trouble_with_files(self) -> Iterator[Step]:
        chance = self._chance
        if self._calm:
            return
        if self._away and chance.random() < 0.6:
            name = self._away.pop()
            yield Return(name, touched=chance.random() < 0.2)
        elif chance.random() < 0.75:
            name = chance.choice((*self._files, "*"))
            self._away.append(name)
            yield Vanish(name)
        else:
            yield Change(chance.choice(self._files), self._rows())

    # Runs

    def _run(self) -> Iterator[Step]:
        chance = self._chance
        mode = chance.choice(MODES)
        interval = None
        if mode == "batch" and self._intervals and chance.random() < 0.7:
            begin = chance.choice((0.0, 0.0, 60.0, 120.0, 300.0, 600.0))
            interval = (begin, begin + chance.choice((60.0, 120.0, 600.0, 3_600.0)))
        name = f"{mode}-{len(self._drivers)}"
        self._drivers.append(name)
        yield Start(
            name,
            mode,
            interval,
            take_over=chance.random() < 0.15,
            input_share=chance.choice((0.5, 0.9))
            if mode == "batch" and interval is None and chance.random() < 0.3
            else None,
            skew=0.0 if self._calm or chance.random() < 0.7 else chance.choice((-20.0, 20.0, 45.0, -3_600.0, 7_200.0)),
            host=chance.choice(("east", "west")),
            faults=self._faults(),
        )
        if mode == "streaming":
            yield from self._time()
        elif chance.random() < 0.75:
            yield Wait()
            yield from self._look(0.3)
        else:
            yield Go(chance.choice((5, 20, 60)))

    def _stop_of_a_stream(self) -> Iterator[Step]:
        """Somebody stops a stream while it starts, runs or sleeps, and looks later whether it has ended."""
        chance = self._chance
        name = f"streaming-{len(self._drivers)}"
        self._drivers.append(name)
        asleep = ((chance.randrange(1, 75), "pause"),) if not self._calm and chance.random() < 0.5 else ()
        yield Start(name, "streaming", host=chance.choice(("east", "west")), faults=asleep)
        if chance.random() < 0.6:
            yield Pass(chance.choice((1.0, 30.0, 300.0)))
        yield Ask(chance.choice(("stop", "stop", "drain")))
        yield Pass(7_500.0 if asleep else 150.0)
        self._now += 60

    def _faults(self) -> tuple[Fault, ...]:
        chance = self._chance
        if self._calm or chance.random() < 0.35:
            return ()
        kinds = [
            kind
            for kind in (*faults.AT_ANY_CALL, *faults.AT_A_WRITE, *faults.AT_A_READ, *faults.AT_A_LISTING)
            if kind not in (faults.ON_OBJECTS_ONLY if self._store == "disk" else faults.ON_DISK_ONLY)
        ]
        return tuple(self._fault(chance.choice(kinds)) for _ in range(chance.choice((1, 1, 1, 2, 3))))

    def _fault(self, kind: str) -> Fault:
        chance = self._chance
        # Between writing a data file and syncing its folder there are few calls.
        return (
            "sync" if kind == "power cut" and chance.random() < 0.5 else chance.randrange(*chance.choice(_CALLS))
        ), kind

    def _end_of_something(self) -> Iterator[Step]:
        chance = self._chance
        if self._calm or chance.random() < 0.4:
            yield Ask(chance.choice(("stop", "stop", "drain")))
            yield Pass(30.0)
            self._now += 30
        elif self._store == "disk" and chance.random() < 0.4:
            yield PowerCut()
        else:
            yield Kill(chance.choice(self._drivers))

    # Everything else

    def _users(self) -> Iterator[Step]:
        chance = self._chance
        if self._signals and chance.random() < 0.5:
            yield Signal(chance.choice(self._signals), as_file=chance.random() < 0.3)
        else:
            yield from self._look(1.0)

    def _look(self, likely: float) -> Iterator[Step]:
        chance = self._chance
        if chance.random() < likely:
            target = chance.choice((0.0, 60.0, 120.0, 180.0, 300.0, 600.0, 3_600.0, max(0.0, self._now - 60)))
            skew = chance.choice((0.0, 0.0, 30.0, -30.0)) if not self._calm else 0.0
            yield Look(target, chance.choice((100.0, *self._percentiles)), skew)

    def _time(self) -> Iterator[Step]:
        chance = self._chance
        seconds = chance.choice((10.0, 30.0, 60.0, 120.0, 300.0))
        self._now += seconds
        yield Pass(seconds)
        if not self._calm and self._drivers and chance.random() < 0.2:
            yield ClockBack(chance.choice(self._drivers), chance.choice((5.0, 90.0, 3_600.0)))

    def _backups(self) -> Iterator[Step]:
        chance = self._chance
        yield Backup()
        for _ in range(chance.randrange(1, 3)):
            yield self._offer()
            yield from self._run()
        if not self._calm:
            yield Restore(chance.choice(("", "", *PARTS)))
