"""``explain``: a pipeline in words, before anything of it runs."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.cli.pipelines import load_pipeline

_WIDTH = 110


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("explain", help="a pipeline in words", description=__doc__)
    parser.add_argument("pipeline", metavar="MODULE:ATTRIBUTE", help="the pipeline; MODULE may be a path to a .py file")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Put the pipeline into words, and print them."""
    explanation = explain(load_pipeline(options.pipeline))
    if options.json:
        print(json.dumps(explanation.to_json(), indent=2, ensure_ascii=False))  # noqa: T201 - what the command is for
        return 0

    from rich.console import Console  # noqa: PLC0415 - machines need none

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"{explanation.pipeline} (fingerprint {explanation.fingerprint})", style="bold")
    for section in explanation.sections:
        console.print(f"\n{section.title}", style="bold")
        for line in section.lines:
            console.print(_bullet(line))
    return 0


def _bullet(line: str) -> str:
    text = line.lstrip()
    deep = " " * (len(line) - len(text))
    first, others = f"{deep}  - ", f"{deep}    "
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
