"""``python -m tests.benchmarks profile Q2``: where the workers of ours spend their time, function by function.

Spark's own profiler runs ``cProfile`` around each task of a Python worker. A function's share is what was spent in it
and in the libraries that it calls, without what it spent in other functions of ours. The profiler makes Python itself
slower and leaves the libraries as they are; nothing of ours runs a row or a key, so the picture is about right.
"""

from __future__ import annotations

import argparse
import cProfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pstats import Stats
from tempfile import TemporaryDirectory
from typing import Any

from pyspark import BasicProfiler, SparkContext
from rich.console import Console
from rich.table import Table

from airflow_dataflow_provider.model.modes import RuntimeMode
from tests.benchmarks.engines.engine import CORES
from tests.benchmarks.engines.ours import drive
from tests.benchmarks.generate import Events, Workload, generate
from tests.benchmarks.measure import Meter
from tests.benchmarks.places import OwnProcess, Place
from tests.benchmarks.queries import QUERIES, Query

Function = tuple[str, int, str]
"""File, line and name, as in ``pstats``."""
_OURS = ("airflow_dataflow_provider", "benchmarks")
LOG_WIDTH = 120
_OTHERS = "PySpark: starting tasks, sockets, pickling"


@dataclass(frozen=True, slots=True)
class Share:
    """One function's.

    Attributes:
        what: where it is.
        seconds: of all workers together.
        share: of the workers' time.
        mostly: the library call below it that takes longest, with its seconds.
    """

    what: str
    seconds: float
    share: float
    mostly: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of one run went.

    Attributes:
        seconds: its wall time, with the profiler running.
        worker_seconds: of all Python workers together.
        shares: the functions, the slowest first.
    """

    seconds: float
    worker_seconds: float
    shares: tuple[Share, ...]


class WholePaths(BasicProfiler):
    """Spark's own, but that says in which folder a file is."""

    def profile(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        profiler = cProfile.Profile()
        result = profiler.runcall(func, *args, **kwargs)
        stats = Stats(profiler)
        # An open stream does not pickle.
        stats.stream = None  # type: ignore[attr-defined]
        self._accumulator.add(stats)
        return result


def main(arguments: list[str], place: Callable[[Path], Place] = OwnProcess) -> int:
    """Profile one query; the exit status."""
    options = _options().parse_args(arguments)
    query: Query = QUERIES[options.query]
    root: Path = options.out.absolute() / "bench"
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, LOG_WIDTH)
    with console.status("events"):
        small, events = (
            generate(Workload(rows, options.keys, bursts=query.bursts), root) for rows in (100_000, options.rows)
        )
    here = place(root / "profile.log")
    try:
        with console.status("run"):
            found = here.call(profile, query, small, events, root / "runs" / "profile")
    finally:
        here.close()
    busy = found.worker_seconds / CORES / found.seconds
    title = (
        f"{query.name}, {options.rows:,} rows, {options.keys:,} keys: {found.seconds:.2f} s, {busy:.0%} of it in the "
        f"{CORES} workers, the rest in Spark and the driver; profiled"
    )
    table = Table("share", "seconds", "function", "most of it", title=title)
    for share in found.shares[: options.top]:
        table.add_row(f"{share.share:.0%}", f"{share.seconds:.2f}", share.what, share.mostly)
    console.print(table)
    return 0


def profile(query: Query, small: Events, events: Events, folder: Path) -> Profile:
    """Run ours in this process under the profiler, once warm. No Spark may be running in it yet."""
    folder.mkdir(parents=True, exist_ok=True)
    conf = {"spark.python.profile": "true"}
    with TemporaryDirectory(dir=folder) as warm, TemporaryDirectory(dir=folder) as timed:
        drive(query.pipeline(small), Path(warm), RuntimeMode.MICRO_BATCH, conf=conf)
        context: Any = SparkContext._active_spark_context
        context.profiler_collector.profilers.clear()
        context.profiler_collector.profiler_cls = WholePaths
        with Meter(context._gateway.proc.pid) as meter:
            drive(query.pipeline(events), Path(timed), RuntimeMode.MICRO_BATCH)
    all_tasks: Stats | None = None
    for _, profiler, _ in context.profiler_collector.profilers:
        stats = profiler.stats()
        if stats is not None:
            all_tasks = stats if all_tasks is None else all_tasks.add(stats)
    assert all_tasks is not None
    functions: Mapping[Function, Any] = all_tasks.stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in functions.values())
    return Profile(meter.cost.seconds, total, _shares(functions, total))


def _shares(functions: Mapping[Function, Any], total: float) -> tuple[Share, ...]:
    spent = {function: entry[3] for function, entry in functions.items() if _is_ours(function)}
    below: dict[Function, tuple[float, Function]] = {}
    for callee, (_, _, _, _, callers) in functions.items():
        for caller in spent.keys() & callers.keys() - {callee}:
            seconds = callers[caller][3]
            if callee in spent:
                spent[caller] -= seconds
            elif seconds > below.get(caller, (0, callee))[0]:
                below[caller] = seconds, callee
    shares = [Share(_OTHERS, total - sum(spent.values()), 1 - sum(spent.values()) / total, "")]
    for function, seconds in spent.items():
        longest, callee = below.get(function, (0, function))
        mostly = f"{callee[2]} {longest:.2f} s" if longest else ""
        shares.append(Share(_where(function), seconds, seconds / total, mostly))
    return tuple(sorted(shares, key=lambda share: -share.seconds))


def _is_ours(function: Function) -> bool:
    """A generator within an expression counts as the library that calls it."""
    return not function[2].startswith("<") and not {*_OURS}.isdisjoint(Path(function[0]).parts)


def _where(function: Function) -> str:
    file, line, name = function
    parts = Path(file).parts
    first = next(number for number, part in enumerate(parts) if part in _OURS)
    return f"{'/'.join(parts[first + 1 :])}:{line} {name}"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks profile", description=__doc__)
    parser.add_argument("query", choices=sorted(QUERIES))
    parser.add_argument("--rows", type=int, default=2_000_000, help="events (default: 2,000,000)")
    parser.add_argument("--keys", type=int, default=200_000, help="default: 200,000")
    parser.add_argument("--top", type=int, default=12, help="how many functions (default: 12)")
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder of the events (default: build)")
    return parser
