"""``signal``: raise a named signal for the triggers of a pipeline that wait for it."""

from __future__ import annotations

import argparse
from typing import Any

from airflow_dataflow_provider.progress.requests.requests import request_signal
from airflow_dataflow_provider.progress.requests.signals import listened_to
from airflow_dataflow_provider.progress.status.status import find_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("signal", help="raise a signal that a pipeline waits for", description=__doc__)
    parser.add_argument(
        "pipeline",
        nargs="?",
        metavar="MODULE:ATTRIBUTE",
        help="the pipeline, if it has no state yet; by default the state knows",
    )
    parser.add_argument("name", metavar="NAME", help="the name in AtSignal(NAME)")
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Leave the request where the driver looks for it."""
    known = None
    if options.pipeline is not None:
        from airflow_dataflow_provider.cli.pipelines import load_pipeline  # noqa: PLC0415 - it may import anything

        known = listened_to(load_pipeline(options.pipeline))
    request_signal(Store.open(options.state), options.name, wall_clock(), known)
    status = find_status(options.state)
    hears = "next epoch" if status is not None and status.live else "next run (no driver runs now)"
    print(f"the signal {options.name!r} is raised; the {hears} takes it")  # noqa: T201
    return 0
