"""Random worlds, in which whatever can go wrong does: ``make simulate``."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# Workers share the cores, and strings hash alike in all of them; before anything imports polars.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("PYTHONHASHSEED", "0")

from tests.simulate.search import Found, search

REPORT = Path("build/simulate.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 where a world failed, or a kind of fault was never injected."""
    parser = argparse.ArgumentParser("python -m tests.simulate", description=__doc__)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="the number of the first world: the same worlds again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the report is written")
    asked = parser.parse_args(arguments)
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    print(f"worlds {seed} to {seed + asked.worlds - 1}, {asked.jobs} processes", flush=True)
    began, total = time.monotonic(), Found()
    for found in search(seed, asked.worlds, asked.jobs):
        total.add(found)
        for failure in found.failures:
            print(f"\nworld {failure['seed']}: {failure['failure']}\n\n{failure['script']}\n", flush=True)
        print(f"\r{total.worlds:,} worlds, {len(total.failures)} failed", end="", file=sys.stderr, flush=True)
        total.write(asked.report, seed)
    print(file=sys.stderr)
    seconds = time.monotonic() - began
    print(f"{total.worlds:,} worlds, {total.steps:,} steps, {total.calls:,} calls, {seconds / 60:.1f} minutes")
    print("injected: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(total.faults.items())))
    if total.never_injected and not total.failures:
        print(f"never injected: {', '.join(total.never_injected)}; play more worlds")
    if total.failures:
        print(f"{len(total.failures)} worlds failed: {', '.join(str(each['seed']) for each in total.failures)}")
    return 1 if total.failures or total.never_injected else 0


if __name__ == "__main__":
    sys.exit(main())
