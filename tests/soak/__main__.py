"""Random pipelines on the column-wise engine and on the reference, for as long as it takes: ``make soak``."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, islice
from multiprocessing import get_context

# Workers share the cores; before anything imports polars.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from tests.soak.chunks import Chunk, Outcome, run
from tests.spark.comparison import FAMILIES

CHUNK = 200
"""At most so many cases are drawn from one seed."""
CHUNKS_A_PROCESS = 20
"""What processes keep of old cases goes with them."""


def chunks(families: Sequence[str], seed: int, cases: int) -> Iterator[Chunk]:
    """Chunk after chunk, taking turns among the families, until there are so many cases."""
    left, size = cases, min(CHUNK, -(-cases // len(families)))
    for number in count():
        for family in families:
            if left <= 0:
                return
            yield Chunk(family, number, seed, min(size, left))
            left -= size


def soak(families: Sequence[str], *, seed: int, cases: int, minutes: float, jobs: int) -> list[Outcome]:
    """Run chunks on all cores until there are enough cases, or the time is up; a family that failed rests."""
    until = time.monotonic() + 60 * minutes
    outcomes: list[Outcome] = []
    failed: set[str] = set()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=CHUNKS_A_PROCESS) as pool:
        todo = (chunk for chunk in chunks(families, seed, cases) if chunk.family not in failed)
        running: set[Future[Outcome]] = {pool.submit(run, chunk) for chunk in islice(todo, 2 * jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for outcome in (future.result() for future in done):
                outcomes.append(outcome)
                if outcome.complaint is not None and outcome.chunk.family not in failed:
                    failed.add(outcome.chunk.family)
                    print(f"\n{outcome.complaint}", flush=True)
            if time.monotonic() < until:
                running |= {pool.submit(run, chunk) for chunk in islice(todo, len(done))}
            print(f"\r{sum(outcome.agreed for outcome in outcomes):,} cases agree", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 where a case failed."""
    parser = argparse.ArgumentParser("python -m tests.soak", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="over all families together")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, default=None, help="the same cases again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--family", action="append", choices=FAMILIES, metavar="NAME", help=f"of {', '.join(FAMILIES)}")
    asked = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if asked.seed is None else asked.seed
    families = asked.family or list(FAMILIES)
    print(f"seed {seed}: {len(families)} families, {asked.jobs} processes")
    began = time.monotonic()
    outcomes = soak(families, seed=seed, cases=asked.cases, minutes=asked.minutes, jobs=asked.jobs)
    agreed, seconds = sum(outcome.agreed for outcome in outcomes), time.monotonic() - began
    failed = sorted({outcome.chunk.family for outcome in outcomes if outcome.complaint is not None})
    print(f"{agreed:,} cases agree, {agreed / seconds:.0f} a second, {seconds / 60:.1f} minutes, seed {seed}")
    if failed:
        print(f"{len(failed)} families do not: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
