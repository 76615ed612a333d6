"""A world: one state, one source, and all who have to do with them, as a script says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.status.answer import Answer
from airflow_dataflow_provider.testing.strategies import SECOND
from tests.simulate import users
from tests.simulate.disk import Stored
from tests.simulate.disk_store import SCHEME
from tests.simulate.driver import Driver, drive
from tests.simulate.filesystem import PROTOCOL, SOURCE, STATE
from tests.simulate.oracle import Oracle, Wrong
from tests.simulate.pipelines import ending_of, read_pipeline
from tests.simulate.rows import as_file, moment
from tests.simulate.scheduler import LATEST_WRITE, Process, Scheduler
from tests.simulate.script import (
    Ask,
    Backup,
    Change,
    ClockBack,
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
    Vanish,
    Wait,
)
from tests.simulate.stage import staged

PATIENCE = 20_000
"""Calls after which a run that has not ended hangs."""

ENDS_WITHIN: Micros = 120 * SECOND
"""How long a stream that was stopped may take to end, while it is awake."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a world.

    Attributes:
        steps: how many were played.
        calls: how many calls were made.
        faults: what was injected, by kind.
        codes: the codes of the errors that runs ended with, and how often.
        failure: what was wrong; None: nothing.
        trace: every call, for who looks for the cause.
    """

    steps: int
    calls: int
    faults: dict[str, int]
    codes: dict[str, int]
    failure: str | None = None
    trace: tuple[str, ...] = ()


def play(script: Script) -> Outcome:
    """Play a script to its end, or to the first thing that is wrong."""
    if any(isinstance(step, Ask) for step in script.steps):
        users.operators()
    scheduler = Scheduler(script.schedule, moment(0))
    scheduler.powerless_disk = script.store == "disk"
    with staged(scheduler):
        world = World(script, scheduler)
        steps, failure = 0, None
        try:
            for step in script.steps:
                world.play(step)
                steps += 1
                world.oracle.check()
            world.settle()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            failure = f"{type(error).__name__}: {error}"
        finally:
            scheduler.end()
    return Outcome(
        steps, scheduler.calls, dict(scheduler.faults.counts), dict(world.codes), failure, tuple(scheduler.trace)
    )


class World:
    """What a script is played in.

    Args:
        script: what happens.
        scheduler: its time and its processes.
    """

    def __init__(self, script: Script, scheduler: Scheduler) -> None:
        self.script, self.scheduler = script, scheduler
        pipeline = read_pipeline(script.pipeline)
        if not isinstance(pipeline.source, Files):
            raise TypeError(pipeline.source)
        self.ending = ending_of(pipeline)
        source = replace(pipeline.source, path=f"{PROTOCOL}://{SOURCE}/*{self.ending}")
        self.pipeline = replace(pipeline, source=source)
        self.url = f"{SCHEME}{STATE}" if script.store == "disk" else f"{PROTOCOL}://{STATE}/of"
        self.root = STATE if script.store == "disk" else f"{STATE}/of"
        self.drivers: list[Driver] = []
        self.codes: dict[str, int] = {}
        self._away: dict[str, Stored] = {}
        self._backup: dict[str, Stored] | None = None
        self.oracle = Oracle(self)

    # Steps

    def play(self, step: Step) -> None:  # noqa: C901, PLR0912 - one case a kind of step
        """Let a step happen."""
        scheduler = self.scheduler
        match step:
            case Offer(name, rows, modified):
                self._offer(name, rows, modified)
            case Vanish(name):
                self._vanish(name)
            case Return(name, touched):
                self._return(name, touched=touched)
            case Change(name, rows):
                self._change(name, rows)
            case Start():
                self._start(step)
            case Wait():
                self.wait()
            case Go(calls):
                scheduler.go(lambda: False, calls=calls)
            case Pass(seconds):
                self._go(scheduler.now + round(seconds * SECOND))
            case ClockBack(driver, seconds):
                for each in self.living(driver):
                    each.process.skew -= round(seconds * SECOND)
                    scheduler.faults.happened("clock back")
            case Kill(driver):
                for each in self.living(driver):
                    scheduler.kill(each.process)
                    scheduler.faults.happened("kill")
                self._go(scheduler.now + 1)
            case PowerCut(at_its_worst):
                if scheduler.powerless_disk:
                    scheduler.power_cut(at_its_worst=at_its_worst)
                    self._go(scheduler.now + 1)
            case Ask(what):
                users.ask(self, what)
            case Signal(name, as_file):
                users.signal(self, name, as_file=as_file)
            case Look(target, percentile, skew):
                answer = users.look(self, moment(target), percentile, round(skew * SECOND))
                if isinstance(answer, Answer):
                    self.oracle.check_gate(answer, moment(target), percentile)
            case Backup():
                if not self.living():
                    self._backup = {path: scheduler.state.files[path] for path in scheduler.state.below(self.root)}
                    self.oracle.backed_up()
            case Restore(part):
                self._restore(part)
        self.reap()

    def settle(self) -> None:
        """No more faults: what was told to stop stops, all files are back, and one more run reads what is left."""
        scheduler = self.scheduler
        for driver in self.drivers:
            driver.process.faults.clear()
        self._return("*", touched=False)
        for driver in self.living():
            if driver.process.sleeps_until <= scheduler.now:
                scheduler.kill(driver.process)
        # Whoever sleeps wakes, and must do no harm.
        asleep = [driver.process.sleeps_until for driver in self.living()]
        self._go(max(asleep, default=scheduler.now) + ENDS_WITHIN)
        for driver in self.living():
            scheduler.kill(driver.process)
        self._go(scheduler.now + 1)
        self._start(Start("last", RuntimeMode.MICRO_BATCH.value, take_over=True, host="west"))
        self.wait()
        self.oracle.check()
        self.oracle.check_end(self.drivers[-1])

    def wait(self) -> None:
        """Until no finite run goes on.

        Raises:
            Wrong: one hangs.
        """

        def finite() -> list[Driver]:
            return [driver for driver in self.living() if driver.start.mode != RuntimeMode.STREAMING.value]

        before = self.scheduler.calls
        self.scheduler.go(lambda: not finite(), calls=PATIENCE)
        if finite() and self.scheduler.calls - before >= PATIENCE:
            names = ", ".join(driver.start.driver for driver in finite())
            raise Wrong(f"it hangs: {names} made {PATIENCE} calls and has not ended")
        self.reap()

    def call(self, name: str, what: Callable[[], Any], skew: Micros = 0, *, may_fail: bool = False) -> Process:
        """Let a user do something, while everything else goes on.

        Args:
            name: who.
            what: what.
            skew: by how much the user's clock is wrong.
            may_fail: with errors that are not ours.

        Raises:
            Wrong: it hangs, or fails without a code.
        """
        process = self.scheduler.process(name, host="airflow", skew=skew)
        self.scheduler.spawn(process, what, is_main=True)
        self.scheduler.go(lambda: not process.alive, calls=PATIENCE)
        if process.alive:
            raise Wrong(f"it hangs: {name} made {PATIENCE} calls and has no answer")
        if process.error is not None and not may_fail and not isinstance(process.error, DataflowError):
            raise Wrong(f"{name} failed without a code: {process.error!r}") from process.error
        return process

    def living(self, name: str | None = None) -> list[Driver]:
        """The drivers that run."""
        return [each for each in self.drivers if each.process.alive and name in (None, each.start.driver)]

    def reap(self) -> None:
        """Look at the runs that have ended.

        Raises:
            Wrong: one ended with an error that has no code.
        """
        for driver in self.drivers:
            if driver.process.alive and driver.must_end is not None:
                awake_since = max(driver.must_end, driver.process.sleeps_until)
                if self.scheduler.now - awake_since > ENDS_WITHIN:
                    raise Wrong(f"a stop reported success, and {driver.start.driver} goes on")
            if driver.process.alive or driver.reaped:
                continue
            driver.reaped = True
            error = driver.process.error
            if isinstance(error, DataflowError):
                self.codes[error.code] = self.codes.get(error.code, 0) + 1
                if error.code == "OWNER_FENCED":
                    self.scheduler.faults.happened("driver fenced")
            elif error is not None:
                raise Wrong(f"{driver.start.driver} failed without a code: {error!r}") from error
            elif driver.process.result is not None:
                self.codes["ended well"] = self.codes.get("ended well", 0) + 1
                self.oracle.check_run(driver)

    def _start(self, start: Start) -> None:
        faults = self.scheduler.faults
        if start.skew:
            faults.happened("clock skewed")
        if self.living():
            faults.happened("second driver")
        drive(self, start)

    def _go(self, until: Micros) -> None:
        self.scheduler.go(lambda: self.scheduler.now >= until, latest=until)
        self.reap()

    # The source

    def _offer(self, name: str, rows: tuple[Row, ...], modified: float) -> None:
        if modified:
            self.scheduler.faults.happened("file from the future")
        self._put(name, rows, self.scheduler.now + round(modified * SECOND))

    def _put(self, name: str, rows: tuple[Row, ...], modified: Micros) -> None:
        if any(row[0] is None for row in rows):
            self.scheduler.faults.happened("malformed rows")
        path = f"{SOURCE}/{name}"
        self._away.pop(path, None)
        self.scheduler.source.note(path, self.scheduler.now)
        self.scheduler.source.put(path, as_file(rows, self.ending), modified)
        self.oracle.offered(path, self.scheduler.source.files[path], rows)

    def _vanish(self, name: str) -> None:
        disk = self.scheduler.source
        for path in list(disk.files) if name == "*" else [f"{SOURCE}/{name}"]:
            if path in disk.files:
                self._away[path] = disk.files[path]
                disk.note(path, self.scheduler.now)
                disk.remove(path)
                self.scheduler.faults.happened("file vanishes")

    def _return(self, name: str, *, touched: bool) -> None:
        disk = self.scheduler.source
        for path in sorted(self._away) if name == "*" else [f"{SOURCE}/{name}"]:
            stored = self._away.pop(path, None)
            if stored is not None:
                disk.note(path, self.scheduler.now)
                disk.put(path, stored.data, self.scheduler.now if touched else stored.modified)
                self.oracle.returned(path, disk.files[path])
                self.scheduler.faults.happened("file returns")

    def _change(self, name: str, rows: tuple[Row, ...]) -> None:
        if f"{SOURCE}/{name}" in self.scheduler.source.files:
            self._put(name, rows, self.scheduler.now)
            self.scheduler.faults.happened("file changes")

    # The state

    def _restore(self, part: str) -> None:
        if self._backup is None:
            return
        for driver in self.living():
            self.scheduler.kill(driver.process)
        self._go(self.scheduler.now + LATEST_WRITE)  # who restores a backup waits until no write is on its way
        root = f"{self.root}/{part}" if part else self.root
        disk = self.scheduler.state
        disk.remove(root, recursive=True)
        within = f"{root}/"
        for path, stored in self._backup.items():
            if path.startswith(within):
                disk.put(path, stored.data, stored.modified)
        self.scheduler.faults.happened("part of a backup restored" if part else "backup restored")
        self.oracle.restored(part)
