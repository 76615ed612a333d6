"""Who is next: processes and their strands take turns, one at a time, as a seed decides.

A strand is a greenlet. It runs until it makes a *call* (to the store, to the source, to sleep); there the scheduler may
hand the turn to another. So what a world does depends on nothing but its script.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from greenlet import getcurrent, greenlet

from airflow_dataflow_provider.model.time import Micros
from tests.simulate.disk import Disk, Stored
from tests.simulate.faults import AT_A_READ, AT_A_WRITE, AT_ANY_CALL, Faults, SimulatedFailure, SimulatedKill
from tests.simulate.script import Fault

HOUR: Micros = 3_600_000_000
LATEST_WRITE: Micros = 90_000_000
"""How long after its writer has heard that it failed a write may still arrive."""
MOST_CALLS = 60_000
"""Of a world. One that makes more hangs."""


class Hangs(AssertionError):  # noqa: N818 - as above
    """A world that makes more calls than any should."""


@dataclass(eq=False)
class Process:
    """A process of a world: its strands share a clock, a memory and a fate.

    Attributes:
        name: for people.
        host: its machine.
        number: unique on it.
        skew: by how much its clock is wrong, in microseconds.
        faults: what happens to it, by the number of a call.
        memory: what it keeps, by name.
        read: the version of each file of the source that it has read last.
        listings: what it has listed, and keeps.
        saw_stale: whether it was given a listing of the past.
    """

    name: str
    host: str
    number: int
    skew: Micros = 0
    faults: list[Fault] = field(default_factory=list)
    alive: bool = True
    calls: int = 0
    sleeps_until: Micros = 0
    memory: dict[Any, Any] = field(default_factory=dict)
    read: dict[str, Stored] = field(default_factory=dict)
    listings: dict[str, list[Any]] = field(default_factory=dict)
    saw_stale: bool = False
    result: Any = None
    error: BaseException | None = None

    def due(self, what: str, kinds: tuple[str, ...]) -> str | None:
        """The fault of these kinds that happens at the present call; each happens once."""
        for fault in self.faults:
            at, kind = fault
            if kind in kinds and (at in what if isinstance(at, str) else at <= self.calls):
                self.faults.remove(fault)
                return kind
        return None


@dataclass(eq=False)
class Strand:
    """A thread of a process."""

    process: Process
    run: greenlet
    wakes: Micros = 0
    waits_for: Callable[[], bool] | None = None

    def may_run(self, now: Micros) -> bool:
        """Whether it has something to do."""
        if not self.process.alive:
            return True  # to unwind
        if self.process.sleeps_until > now:
            return False
        return self.wakes <= now or (self.waits_for is not None and self.waits_for())


class Scheduler:
    """The time of a world, its processes, and what they call.

    Args:
        seed: decides everything.
        start: the time at its begin.
    """

    def __init__(self, seed: int, start: Micros) -> None:
        self.chance = random.Random(seed)
        self.now = start
        self.faults = Faults()
        self.calls = 0
        self.strands: list[Strand] = []
        self.state = Disk()
        self.source = Disk()
        self.powerless_disk = True
        self.trace: list[str] = []
        self._late: list[tuple[Micros, int, Callable[[], None]]] = []
        self._numbers = 0
        self._hub = getcurrent()

    # Processes

    def process(self, name: str, host: str = "east", skew: Micros = 0, faults: tuple[Fault, ...] = ()) -> Process:
        """A new process; nothing of it runs yet."""
        self._numbers += 1
        return Process(name, host, self._numbers, skew, list(faults))

    def spawn(self, process: Process, run: Callable[[], Any], *, is_main: bool = False) -> Strand:
        """A new strand of a process; the process ends with its main strand."""

        def body() -> None:
            try:
                result = run()
                if is_main:
                    process.result = result
            except SimulatedKill:
                pass
            except BaseException as error:  # noqa: BLE001 - the world looks at it
                if is_main:
                    process.error = error
            finally:
                if is_main:
                    process.alive = False

        strand = Strand(process, greenlet(body, parent=self._hub))
        self.strands.append(strand)
        return strand

    @property
    def current(self) -> Strand | None:
        """The strand that runs; None while the world itself looks around."""
        me = getcurrent()
        return next((strand for strand in self.strands if strand.run is me), None)

    def kill(self, process: Process) -> None:
        """End a process where it stands."""
        process.alive = False

    def power_cut(self, *, at_its_worst: bool = False) -> None:
        """End all processes, and lose what was not synced."""
        self.faults.happened("power cut")
        for strand in self.strands:
            strand.process.alive = False
        for _ in range(self.state.lose_unsynced(self.chance, 1.0 if at_its_worst else 0.5)):
            self.faults.happened("unsynced lost")

    # The world's side

    def go(self, until: Callable[[], bool], *, calls: int = MOST_CALLS, latest: Micros | None = None) -> None:
        """Let strands run until something is so, for so many calls, up to a time, or until all have ended."""
        for _ in range(calls):
            self.strands = [strand for strand in self.strands if not strand.run.dead]
            if until() or not self.strands or (latest is not None and self.now >= latest):
                break
            ready = [strand for strand in self.strands if strand.may_run(self.now)]
            if not ready:
                self._leap(latest)
                continue
            strand = ready[0] if len(ready) == 1 else self.chance.choice(ready)
            self.calls += 1
            if self.calls > MOST_CALLS:
                raise Hangs(f"more than {MOST_CALLS} calls: {', '.join(sorted({s.process.name for s in ready}))}")
            if strand.process.alive:
                strand.run.switch()
            else:
                self._end(strand)
        if latest is not None and self.now < latest and not self.strands:
            self.pass_time(latest - self.now)

    def end(self) -> None:
        """End all that runs."""
        for strand in self.strands:
            strand.process.alive = False
            self._end(strand)
        self.strands = []

    def _end(self, strand: Strand) -> None:
        for _ in range(1_000):
            if strand.run.dead:
                return
            if not strand.run:  # never started
                strand.run = greenlet(lambda: None, parent=self._hub)
                strand.run.switch()
                return
            strand.run.throw(SimulatedKill())
        raise Hangs(f"{strand.process.name} was killed, and goes on")

    def _leap(self, latest: Micros | None) -> None:
        """To when the next strand wakes."""
        waking = min(max(strand.wakes, strand.process.sleeps_until) for strand in self.strands)
        self.pass_time(max(1, (waking if latest is None else min(waking, latest)) - self.now))

    def pass_time(self, micros: Micros) -> None:
        """Time passes, and late writes arrive."""
        self.now += micros
        due = [late for late in self._late if late[0] <= self.now]
        self._late = [late for late in self._late if late[0] > self.now]
        for _, _, effect in sorted(due, key=lambda late: late[:2]):
            effect()

    # The strands' side

    def call(self, what: str, *, writes: bool = False) -> None:
        """Begin a call: others may have their turn, and the process may meet its fate.

        Raises:
            SimulatedKill: the process has died.
            SimulatedFailure: a read that fails.
        """
        strand = self.current
        if strand is None:
            return
        process = strand.process
        self._alive(process)
        process.calls += 1
        self.trace.append(f"{self.now} {process.name} {process.calls} {what}")
        self.pass_time(self.chance.randrange(200, 20_000))
        self._hub.switch()
        self._alive(process)
        kind = process.due(what, AT_ANY_CALL)
        if kind == "kill":
            self.faults.happened(kind)
            process.alive = False
        elif kind == "power cut" and self.powerless_disk:
            self.power_cut()
        elif kind == "pause":
            self.faults.happened(kind)
            process.sleeps_until = self.now + HOUR + self.chance.randrange(HOUR)
            self._hub.switch()
        self._alive(process)
        if not writes and process.due(what, AT_A_READ):
            self.faults.happened("read fails")
            raise SimulatedFailure(f"simulated: {what} cannot be answered")

    def write(self, what: str, effect: Callable[[], None]) -> None:
        """A call that changes something.

        Raises:
            SimulatedKill, SimulatedFailure: before, instead of, or after it.
        """
        strand = self.current
        if strand is None:
            effect()
            return
        self.call(what, writes=True)
        process = strand.process
        kind = process.due(what, AT_A_WRITE)
        if kind is None:
            effect()
            return
        if kind in ("answer lost", "write late") and self.powerless_disk:
            kind = "write fails"
        self.faults.happened(kind)
        match kind:
            case "kill after write":
                effect()
                process.alive = False
                raise SimulatedKill
            case "answer lost":
                effect()
            case "write late":
                at = self.now + self.chance.choice((20_000, 1_000_000, LATEST_WRITE))
                self._late.append((at, self.calls, lambda: _if_possible(effect)))
        raise SimulatedFailure(f"simulated: {what} has failed ({kind})")

    def sleep(self, seconds: float | None, until: Callable[[], bool]) -> bool:
        """Let a strand wait for a time, or until something is so; whether it is."""
        strand = self.current
        if strand is None:
            raise RuntimeError("only a strand can sleep")
        self._alive(strand.process)
        strand.wakes = self.now + (10**15 if seconds is None else max(1, int(seconds * 1_000_000)))
        strand.waits_for = until
        self._hub.switch()
        strand.wakes, strand.waits_for = 0, None
        self._alive(strand.process)
        return until()

    def _alive(self, process: Process) -> None:
        if not process.alive:
            raise SimulatedKill


def _if_possible(effect: Callable[[], None]) -> None:
    """What arrives late arrives nowhere if it was to create what is there by now."""
    try:
        effect()
    except FileExistsError:
        return
