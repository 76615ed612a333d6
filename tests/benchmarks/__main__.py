"""``make bench``: ours beside hand-written Spark, DuckDB and polars, on the same files.

Exit status: 0; 1 for a wrong answer or a failure; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.benchmarks.bench import Bench, Result
from tests.benchmarks.check import WrongAnswerError
from tests.benchmarks.engines import ENGINES, Engine
from tests.benchmarks.generate import FILES_PER_BATCH, Workload, generate
from tests.benchmarks.growth import GROWING, Axes, Growth, growth_steps, measure_growth
from tests.benchmarks.listings import Listings, measure_listings
from tests.benchmarks.long_logs import LongLog, measure_long_logs
from tests.benchmarks.places import OwnProcess, Place
from tests.benchmarks.queries import QUERIES, Query
from tests.benchmarks.report import (
    epochs_table,
    growth_table,
    listings_table,
    long_logs_table,
    results_table,
    state_table,
    write_json,
)
from tests.benchmarks.small_epochs import SMALL_EPOCHS_OF, SmallEpoch, measure_small_epochs

_ROWS, _QUICK_ROWS = 5_000_000, 500_000
_KEYS = (1_000, 200_000)
_LOG_WIDTH = 120


def main(
    arguments: Sequence[str] | None = None,
    engines: Sequence[Engine] = ENGINES,
    place: Callable[[Path], Place] = OwnProcess,
    axes: Axes = Axes(),  # noqa: B008 - a frozen value
) -> int:
    """Run the benchmark, or with the word ``profile`` first, see :mod:`tests.benchmarks.profiling`; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["profile"]:
        from tests.benchmarks import profiling

        return profiling.main(words[1:])
    options = _options().parse_args(words)
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _LOG_WIDTH)
    out: Path = options.out.absolute()
    files = {name: out / f"{name}.json" for name in ("bench", "bench-epochs", "bench-long", "bench-listings")}
    # Figures of a run before would look like this one's.
    for path in files.values():
        path.unlink(missing_ok=True)
    root = out / "bench"
    shutil.rmtree(root / "runs", ignore_errors=True)
    (root / "runs").mkdir(parents=True)
    try:
        found = _measure(_Plan.of(options, engines, axes), root, place, console)
    except WrongAnswerError as error:
        console.print(f"[bold red]Wrong answer.[/] {error}", highlight=False)
        return 1
    write_json([*found.results, *found.growth], files["bench"])
    write_json(found.epochs, files["bench-epochs"])
    write_json(found.long_logs, files["bench-long"])
    write_json(found.listings, files["bench-listings"])
    for table, rows in (
        (results_table(found.results, options.repeats), found.results),
        (state_table(found.results), [one for one in found.results if one.open_windows is not None]),
        (epochs_table(found.epochs), found.epochs),
        (growth_table(found.growth), found.growth),
        (long_logs_table(found.long_logs), found.long_logs),
        (listings_table(found.listings), found.listings),
    ):
        if rows:
            console.print(table)
    console.print(f"Figures: {', '.join(map(str, files.values()))}", highlight=False, soft_wrap=True)
    return 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is going to be measured."""

    queries: Sequence[Query]
    workloads: Sequence[Workload]
    engines: Sequence[Engine]
    repeats: int
    axes: Axes | None

    @classmethod
    def of(cls, options: argparse.Namespace, engines: Sequence[Engine], axes: Axes) -> _Plan:
        rows = options.rows or (_QUICK_ROWS if options.quick else _ROWS)
        workloads = [Workload(rows, keys, options.files) for keys in options.keys or _KEYS]
        whole = not (options.rows or options.keys or options.quick)
        growing = whole if options.growth is None else options.growth
        queries = [QUERIES[name] for name in options.queries]
        return cls(queries, workloads, engines, options.repeats, axes if growing else None)

    @property
    def ours(self) -> Engine | None:
        return next((engine for engine in self.engines if engine.name == "ours"), None)

    @property
    def growing(self) -> list[Query]:
        return [query for query in self.queries if query.name in GROWING and self.axes and self.ours]

    @property
    def refilled(self) -> Query | None:
        """Of which small epochs are measured."""
        return next((query for query in self.queries if query.name == SMALL_EPOCHS_OF and self.ours), None)

    def asked(self, query: Query) -> list[Engine]:
        return [engine for engine in self.engines if engine.answers(query)]

    def steps(self, bench: Bench) -> int:
        races = sum(bench.steps(len(self.asked(query))) for query in self.queries) * len(self.workloads)
        growth = sum(growth_steps(bench, self.axes) for _ in self.growing) if self.axes else 0
        return races + growth + (self.refilled is not None) + 2 * bool(self.growing)


@dataclass(slots=True)
class _Found:
    results: list[Result] = field(default_factory=list)
    epochs: list[SmallEpoch] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    long_logs: list[LongLog] = field(default_factory=list)
    listings: list[Listings] = field(default_factory=list)


def _measure(plan: _Plan, root: Path, place: Callable[[Path], Place], console: Console) -> _Found:
    found = _Found()
    with ExitStack() as stack:

        @cache
        def place_of(name: str) -> Place:
            opened = place(root / f"{name}.log")
            stack.callback(opened.close)
            return opened

        progress = stack.enter_context(_progress(console))
        task = progress.add_task("", total=None)

        def tell(step: str) -> None:
            progress.update(task, advance=1, description=step)

        bench = Bench(root, plan.repeats, place_of, tell, lambda line: console.print(line, highlight=False))
        progress.update(task, total=plan.steps(bench), completed=-1)
        for query in plan.queries:
            for workload in plan.workloads:
                found.results += bench.measure(query, workload, plan.asked(query))
        if plan.refilled and plan.ours:
            largest = max(plan.workloads, key=lambda workload: workload.keys)
            tell(f"{plan.refilled.name}, {largest.keys:,} keys: small epochs")
            with bench.folder("small-epochs") as folder:
                events = generate(largest, root)
                found.epochs = place_of(plan.ours.place).call(measure_small_epochs, plan.refilled, events, folder)
        for query in plan.growing:
            if plan.axes and plan.ours:
                found.growth += measure_growth(bench, query, plan.axes, plan.ours)
        if plan.growing and plan.axes and plan.ours:
            tell("states that have lived long")
            with bench.folder("long-logs") as folder:
                found.long_logs = place_of(plan.ours.place).call(measure_long_logs, folder, plan.axes.epochs)
            tell("sources of many files")
            with bench.folder("listings") as folder:
                found.listings = place_of(plan.ours.place).call(measure_listings, folder, plan.axes.sources)
    return found


def _progress(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        MofNCompleteColumn(),
        BarColumn(20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--rows", type=_positive, help=f"events (default: {_ROWS:,})")
    parser.add_argument("--keys", type=_positive, nargs="+", help=f"default: {' '.join(map(str, _KEYS))}")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK_ROWS:,} events")
    parser.add_argument("--repeats", type=_positive, default=2, help="timed runs of each engine (default: 2)")
    parser.add_argument("--queries", nargs="+", choices=sorted(QUERIES), default=sorted(QUERIES), help="default: all")
    parser.add_argument(
        "--growth",
        action=argparse.BooleanOptionalAction,
        help=f"how {' and '.join(GROWING)} grow (default: unless rows or keys are said)",
    )
    parser.add_argument(
        "--files",
        type=_positive,
        default=0,
        help=f"files of the input, {FILES_PER_BATCH} a micro-batch (default: 10, or more of 500,000 rows)",
    )
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder of the figures (default: build)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    sys.exit(main())
