"""What people and machines read afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from tests.benchmarks.bench import Result
from tests.benchmarks.growth import Growth
from tests.benchmarks.listings import Listings
from tests.benchmarks.long_logs import LongLog
from tests.benchmarks.small_epochs import SmallEpoch


def results_table(results: Sequence[Result], repeats: int) -> Table:
    """One row an engine, query and number of keys."""
    table = Table(title=f"Wall time, best of {repeats}; CPU and memory of the process tree in that run")
    for name in ("query", "keys", "rows", "mode", "engine", "seconds", "rows/s", "CPU s", "peak MB", "ratio"):
        table.add_column(name, justify="left" if name in ("query", "mode", "engine") else "right")
    before: Result | None = None
    for one in results:
        if before is not None and (before.query, before.keys) != (one.query, one.keys):
            table.add_section()
        before = one
        table.add_row(
            one.query, f"{one.keys:,}", f"{one.rows:,}", one.mode, one.engine, f"{one.seconds:.2f}",
            f"{one.rows_per_s:,.0f}", f"{one.cpu_s:.1f}", f"{one.peak_mb:,.0f}",
            "" if one.ratio is None else f"{one.ratio:.2f}x",
            style="bold" if one.state_bytes is not None else None,
        )  # fmt: skip
    return table


def state_table(results: Sequence[Result]) -> Table:
    """One row a query and number of keys: how large our state is."""
    table = Table(title="The state of ours at the end of a run, and what its epochs have written")
    for name in ("query", "keys", "open windows", "bytes", "bytes a window", "epochs", "bytes an epoch"):
        table.add_column(name, justify="left" if name == "query" else "right")
    for one in results:
        if one.mode == "micro-batch" and one.open_windows is not None and one.state_bytes is not None:
            each = f"{one.state_bytes / one.open_windows:.1f}" if one.open_windows else ""
            table.add_row(
                one.query, f"{one.keys:,}", f"{one.open_windows:,}", f"{one.state_bytes:,}", each, f"{one.epochs:,}",
                f"{one.state_bytes_per_epoch:,}",
            )  # fmt: skip
    return table


def growth_table(rows: Sequence[Growth]) -> Table:
    """Three rows an axis and query; beside each figure its ratio to that of the middle one."""
    table = Table(title="How ours grows; ratios to the middle of each axis")
    for name in ("query", "along"):
        table.add_column(name)
    for name in ("rows", "keys", "us a row", "", "workers MB", "", "open windows", "", "state bytes", ""):
        table.add_column(name, justify="right")
    for number, one in enumerate(rows):
        if number and number % 3 == 0:
            table.add_section()
        table.add_row(
            one.query, one.axis, f"{one.rows:,}", f"{one.keys:,}", f"{one.us_per_row:.2f}", f"{one.time_ratio:.2f}x",
            f"{one.workers_mb:,.0f}", f"{one.memory_ratio:.2f}x", f"{one.open_windows:,}", f"{one.open_ratio:.2f}x",
            f"{one.state_bytes:,}", f"{one.state_ratio:.2f}x",
        )  # fmt: skip
    return table


def epochs_table(epochs: Sequence[SmallEpoch]) -> Table:
    """One row a kind of epoch."""
    table = Table(title="Small epochs of ours on a large state; bytes written by one epoch")
    columns = ("keys", "open windows", "epoch", "panes", "seconds", "cycle s", "keyed", "epoch log", "all of the state")
    for name in columns:
        table.add_column(name, justify="left" if name == "epoch" else "right")
    for one in epochs:
        table.add_row(
            f"{one.keys:,}", f"{one.open_windows:,}", one.epoch, f"{one.panes:,}", f"{one.seconds:.3f}",
            "" if one.cycle_s is None else f"{one.cycle_s:.3f}", f"{one.keyed_bytes:,}", f"{one.epochs_bytes:,}",
            f"{one.state_bytes:,}",
        )  # fmt: skip
    return table


def long_logs_table(rows: Sequence[LongLog]) -> Table:
    """One row an age; beside each figure its ratio to that of the youngest."""
    table = Table(title="A look at a state of ours, and a driver's start on it, by the epochs that it has lived")
    for name in ("epochs", "files of the log", "bytes", "status ms", "", "start ms", ""):
        table.add_column(name, justify="right")
    for one in rows:
        table.add_row(
            f"{one.epochs:,}", f"{one.log_files:,}", f"{one.log_bytes:,}", f"{one.status_s * 1e3:.1f}",
            f"{one.status_ratio:.2f}x", f"{one.start_s * 1e3:.0f}", f"{one.start_ratio:.2f}x",
        )  # fmt: skip
    return table


def listings_table(rows: Sequence[Listings]) -> Table:
    """One row a source."""
    table = Table(title="Listing a source of which everything is read")
    for name in ("files", "folders", "first look s", "next s", "quiet s", "one new file s"):
        table.add_column(name, justify="right")
    for one in rows:
        seconds = (one.first_s, one.next_s, one.quiet_s, one.one_new_s)
        table.add_row(f"{one.files:,}", f"{one.folders:,}", *(f"{each:.3f}" for each in seconds))
    return table


def write_json(rows: Sequence[Result | SmallEpoch | LongLog | Listings], path: Path) -> None:
    """A list of objects, one a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
