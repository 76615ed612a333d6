"""``stop``: ask a running stream to end after the epoch at hand; its state stays."""

from __future__ import annotations

import argparse
from typing import Any

from airflow_dataflow_provider.progress.requests.requests import request_stop
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("stop", help="ask a running stream to end", description=__doc__)
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.add_argument("--drain", action="store_true", help="read what is there first, then fire every open window")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Leave the request where the driver looks for it."""
    request_stop(Store.open(options.state), wall_clock(), drain=options.drain)
    status = read_status(options.state)
    if status.live and status.owner is not None:
        what = "drain and end" if options.drain else "end after its epoch"
        print(f"asked the driver of run {status.owner.run_id!r} to {what}; status shows when it has")  # noqa: T201
    else:
        print(f"nothing to stop: no driver runs on {status.state_url} ({status.state})")  # noqa: T201
    return 0
