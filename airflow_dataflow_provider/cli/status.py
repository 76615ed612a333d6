"""``status``: what a pipeline has told the world so far. Reads a handful of small documents; starts nothing."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.cli.durations import coarse
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.progress.status.findings import describe_waiting
from airflow_dataflow_provider.progress.status.status import Status, read_status

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS = {"running": "green", "starting": "green", "completed": "green", "failed": "red", "lost": "red"}


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("status", help="how a pipeline stands", description=__doc__)
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Read the state, and print it."""
    status = read_status(options.state)
    if options.json:
        print(json.dumps(status.to_json(), indent=2))  # noqa: T201 - what the command is for
        return 0

    from rich.console import Console  # noqa: PLC0415 - machines need none

    # What is piped elsewhere must not be folded to a terminal that is not there.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    console.print(_facts(status))
    console.print()
    console.print(_watermarks(status))
    return 0


def _facts(status: Status) -> Table:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")

    def add(name: str, value: str, style: str = "") -> None:
        table.add_row(name, Text(value, style=style))  # as text: brackets in a value would be taken for markup

    rows = status.rows
    add("pipeline", status.pipeline, "bold")
    add("mode", status.mode or "never ran")
    add("state", status.state, _COLOURS.get(status.state, "yellow"))
    if status.detail:
        add("", status.detail)
    add("state URL", status.state_url)
    add("owner", _owner(status))
    add("epoch", "none yet" if status.epoch is None else f"{status.epoch}{_last(status)}")
    add("rows", f"{rows.read:,} in, {rows.late:,} late, {rows.expired:,} expired, {rows.rejected:,} rejected")
    add("panes", f"{status.panes:,}")
    add("frontier", "unknown" if status.frontier is None else iso(status.frontier))
    add("backlog", "unknown" if status.backlog is None else f"{status.backlog:,} waiting")
    if status.covered.intervals:
        add("covered", status.covered.describe())
    if status.left_out is not None:
        add("left out", f"{status.left_out.describe()}; the next run without an input share reads it", "yellow")
    if status.signals:
        them = "them" if len(status.signals) > 1 else "it"
        add("signals", f"{', '.join(status.signals)}; the next epoch hears {them}", "yellow")
    add("open", describe_waiting(status.waiting, status.watermarks))
    add("lag", "unknown" if status.lag is None else coarse(status.lag))
    add("updated", iso(status.updated_at))
    for finding in status.findings:
        add("note", f"{finding.what}\nWhat to do: {finding.hint}", "yellow" if finding.is_problem else "")
    return table


def _owner(status: Status) -> str:
    owner = status.owner
    if owner is None:
        return "none yet"
    spark = [text for text in (owner.application_id and f"application {owner.application_id}", owner.ui) if text]
    where = ", ".join([f"process {owner.pid} on {owner.host}", *spark])
    since = f"since {iso(owner.claimed_at)}, last heard of {iso(owner.heartbeat_at)}"
    return f"{where}\nrun {owner.run_id!r} (claim {owner.token}), {since}"


def _last(status: Status) -> str:
    if status.interval is not None:
        return f", an interval from {status.interval}"
    return ", the end of input" if status.end_of_input else ""


def _watermarks(status: Status) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("percentile", justify="right")
    table.add_column("watermark", no_wrap=True)
    table.add_column("lag", justify="right")
    table.add_column("behind the frontier", justify="right")
    told = status.watermarks.at(100)
    # The lag is processing time minus W_100, both at the last epoch: so that time can be told from it.
    clock = None if status.lag is None else told + status.lag
    for share, time in status.watermarks:
        cannot = " (more than the estimator can claim)" if share > status.claimable else ""
        known = "nothing known yet" if time == MIN_TIME else iso(time)
        table.add_row(percentile_text(share), known + cannot, _behind(clock, time), _behind(status.frontier, time))
    return table


def _behind(clock: Micros | None, watermark: Micros) -> str:
    return coarse(clock - watermark) if clock is not None and MIN_TIME < watermark < MAX_TIME else ""
