"""``plot``: the skew picture of a pipeline, event time against processing time, from its epoch log."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from airflow_dataflow_provider.progress.status.skew import read_skew


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("plot", help="draw how far the watermarks are behind", description=__doc__)
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.add_argument("--out", required=True, metavar="FILE.svg", type=Path, help="where the picture is written")
    parser.add_argument("--title", help="the picture's title; by default it names the pipeline")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Read the epoch log, draw it, write the picture."""
    from airflow_dataflow_provider.cli.pictures.saving import save  # noqa: PLC0415 - other commands draw nothing
    from airflow_dataflow_provider.cli.pictures.skew_picture import draw  # noqa: PLC0415

    skew = read_skew(options.state)
    save(draw(skew, options.title), options.out)
    print(f"{options.out}: {skew.epochs:,} epochs, {skew.rows:,} rows")  # noqa: T201 - what the command has done
    return 0
