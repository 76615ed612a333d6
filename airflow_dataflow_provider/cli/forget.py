"""``forget``: wait no longer for files that were planned and are away."""

from __future__ import annotations

import argparse
from typing import Any

from airflow_dataflow_provider.progress.requests.requests import request_forget
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("forget", help="wait no longer for files that are left out", description=__doc__)
    parser.add_argument("path", nargs="+", metavar="PATH", help="a file, as status --json names it")
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Leave the requests where the driver looks for them."""
    status = read_status(options.state)
    left_out = {split.path for split in status.left_out.files} if status.left_out is not None else set()
    request_forget(Store.open(options.state), options.path, left_out, wall_clock())
    hears = "next epoch" if status.live else "next run (no driver runs now)"
    print(f"the {hears} gives up on {', '.join(options.path)}")  # noqa: T201
    return 0
