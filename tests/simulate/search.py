"""Many worlds, in several processes, and what came of them."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.simulate.drawing import draw
from tests.simulate.faults import KINDS
from tests.simulate.shrinking import shrink
from tests.simulate.world import Outcome, play

CHUNK = 25
"""Worlds that a process plays at a time."""
CHUNKS_A_PROCESS = 20
"""What processes keep of old worlds goes with them."""


@dataclass(slots=True)
class Found:
    """What some worlds came to.

    Attributes:
        worlds: how many were played.
        steps: of their scripts.
        calls: of their processes.
        faults: what was injected, by kind.
        codes: how runs have ended, and how often.
        failures: the seed of each world that failed, why, and its script, shrunk.
    """

    worlds: int = 0
    steps: int = 0
    calls: int = 0
    faults: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(KINDS, 0)))
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Add what other worlds came to."""
        self.worlds += other.worlds
        self.steps += other.steps
        self.calls += other.calls
        self.faults.update(other.faults)
        self.codes.update(other.codes)
        self.failures += other.failures

    @property
    def never_injected(self) -> list[str]:
        """The kinds of faults that no world had."""
        return [kind for kind in KINDS if not self.faults[kind]]

    def write(self, path: Path, seed: int) -> None:
        """Write the report."""
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "worlds": self.worlds,
            "seed": seed,
            "steps": self.steps,
            "calls": self.calls,
            "faults": {kind: self.faults[kind] for kind in KINDS},
            "runs": dict(sorted(self.codes.items())),
            "failures": self.failures,
        }
        path.write_text(json.dumps(document, indent=2) + "\n")


def play_worlds(numbers: Iterable[int], *, shrinking: bool = True) -> Found:
    """Play worlds, one after the other, in this process."""
    found = Found()
    for number in numbers:
        script = draw(number)
        outcome = play(script)
        found.add(_found(outcome))
        if outcome.failure is not None:
            smaller = shrink(script, outcome.failure) if shrinking else script
            found.failures.append({"seed": number, "failure": outcome.failure, "script": smaller.written()})
    return found


def search(seed: int, worlds: int, jobs: int) -> Iterator[Found]:
    """Play worlds in several processes; what each chunk of them came to."""
    numbers = range(seed, seed + worlds)
    chunks = [numbers[start : start + CHUNK] for start in range(0, worlds, CHUNK)]
    # Not concurrent.futures: on Python 3.11 its pool waits for ever once all its processes have had their share.
    with get_context("spawn").Pool(jobs, be_quiet, maxtasksperchild=CHUNKS_A_PROCESS) as pool:
        yield from pool.imap(play_worlds, chunks)


def be_quiet() -> None:
    """Simulated failures are logged as real ones are; here nobody has to read them."""
    import logging

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ["POLARS_MAX_THREADS"] = "1"


def _found(outcome: Outcome) -> Found:
    return Found(1, outcome.steps, outcome.calls, Counter(outcome.faults), Counter(outcome.codes))
