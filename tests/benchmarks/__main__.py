"""``make bench``: ours beside hand-written Spark, DuckDB and polars, on the same files.

Exit status: 0; 1 for a wrong answer or a failure; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.benchmarks.bench import Bench, Result
from tests.benchmarks.check import WrongAnswerError
from tests.benchmarks.engines import ENGINES, Engine
from tests.benchmarks.generate import FILES_PER_BATCH, Workload, generate
from tests.benchmarks.places import OwnProcess, Place
from tests.benchmarks.queries import QUERIES
from tests.benchmarks.report import epochs_table, results_table, write_json
from tests.benchmarks.small_epochs import SmallEpoch, measure_small_epochs

_QUICK_ROWS = 500_000
_LOG_WIDTH = 120


def main(
    arguments: Sequence[str] | None = None,
    engines: Sequence[Engine] = ENGINES,
    place: Callable[[Path], Place] = OwnProcess,
) -> int:
    """Run the benchmark; the exit status."""
    options = _options().parse_args(arguments)
    rows = _QUICK_ROWS if options.quick else options.rows
    workloads = [Workload(rows, keys, options.files) for keys in options.keys]
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _LOG_WIDTH)
    out: Path = options.out.absolute()
    figures, epoch_figures = out / "bench.json", out / "bench-epochs.json"
    # Figures of a run before would look like this one's.
    for path in (figures, epoch_figures):
        path.unlink(missing_ok=True)
    root = out / "bench"
    shutil.rmtree(root / "runs", ignore_errors=True)
    (root / "runs").mkdir(parents=True)
    try:
        results, epochs = _measure(options, workloads, root, engines=engines, place=place, console=console)
    except WrongAnswerError as error:
        console.print(f"[bold red]Wrong answer.[/] {error}", highlight=False)
        return 1
    write_json(results, figures)
    write_json(epochs, epoch_figures)
    console.print(results_table(results, options.repeats))
    if epochs:
        console.print(epochs_table(epochs))
    console.print(f"Figures: {figures}, {epoch_figures}", highlight=False, soft_wrap=True)
    return 0


def _measure(
    options: argparse.Namespace,
    workloads: Sequence[Workload],
    root: Path,
    *,
    engines: Sequence[Engine],
    place: Callable[[Path], Place],
    console: Console,
) -> tuple[list[Result], list[SmallEpoch]]:
    results: list[Result] = []
    epochs: list[SmallEpoch] = []
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

        bench = Bench(root, engines, options.repeats, place_of, tell, lambda line: console.print(line, highlight=False))
        progress.update(task, total=len(workloads) * len(options.queries) * bench.steps() + 1, completed=-1)
        for query in map(QUERIES.__getitem__, options.queries):
            for workload in workloads:
                results += bench.measure(query, workload)
        ours = next((engine for engine in engines if engine.name == "ours"), None)
        if ours is not None:
            largest = max(workloads, key=lambda workload: workload.keys)
            query = QUERIES[options.queries[0]]
            tell(f"{query.name}, {largest.keys:,} keys: small epochs")
            with bench.folder("small-epochs") as folder:
                events = generate(largest, root)
                epochs = place_of(ours.place).call(measure_small_epochs, query, events, folder)
    return results, epochs


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
    parser.add_argument("--rows", type=_positive, default=5_000_000, help="events (default: 5,000,000)")
    parser.add_argument("--keys", type=_positive, nargs="+", default=[1_000, 200_000], help="default: 1000 200000")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK_ROWS:,} events")
    parser.add_argument("--repeats", type=_positive, default=2, help="timed runs of each engine (default: 2)")
    parser.add_argument("--queries", nargs="+", choices=sorted(QUERIES), default=sorted(QUERIES), help="default: all")
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
