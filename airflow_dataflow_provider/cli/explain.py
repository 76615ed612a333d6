"""``explain``: the facts about a pipeline, before anything of it runs."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.cli.explanation import Record, explain
from airflow_dataflow_provider.cli.pipelines import load_pipeline

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 120
"""The width of the tables where the output is no terminal."""
_CALL = re.compile(r"\)\.(?=(?:par_do|assign_windows|group_by_key_and_window|combine|write)\()")


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("explain", help="the facts about a pipeline", description=__doc__)
    parser.add_argument("pipeline", metavar="MODULE:ATTRIBUTE", help="the pipeline; MODULE may be a path to a .py file")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--svg", metavar="FILE.svg", type=Path, help="also draw the panes of a small typical stream")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Print the facts, and draw the picture."""
    pipeline = load_pipeline(options.pipeline)
    facts = explain(pipeline)
    if options.svg is not None:
        from airflow_dataflow_provider.cli.pictures.saving import save  # noqa: PLC0415 - only this draws
        from airflow_dataflow_provider.cli.typical_stream import draw_typical  # noqa: PLC0415

        save(draw_typical(pipeline), options.svg)
    if options.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))  # noqa: T201 - what the command is for
        return 0

    from rich.console import Console  # noqa: PLC0415 - machines need none

    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)
    console.print(f"{facts['pipeline']} (fingerprint {facts['fingerprint']})", style="bold")
    console.print(_CALL.sub(")\n.", facts["definition"]), soft_wrap=True)
    for title, records in facts.items():
        if isinstance(records, list) and records:
            _print(console, title, records)
    return 0


def _print(console: Console, title: str, records: list[Record]) -> None:
    from rich import box  # noqa: PLC0415 - machines need none
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in records[0]:
        if name != "depth":
            table.add_column(name.replace("_", " "), overflow="fold")
    for record in records:
        indent = "  " * record.get("depth", 0)
        texts = {name: _text(name, value) for name, value in record.items() if name != "depth"}
        table.add_row(*(Text(f"{indent if name == 'code' else ''}{text}") for name, text in texts.items()))
    console.print(f"\n{title.replace('_', ' ').capitalize()}", style="bold")
    console.print(table)


def _text(name: str, value: Any) -> str:  # noqa: ANN401 - any value of JSON
    match value:
        case None:
            return "?" if name == "type" else ""
        case {"error": code, "what": what}:
            return f"[{code}] {what}"
        case dict():
            return ", ".join(f"{key} {_text('type', each)}" for key, each in value.items()) or "-"
        case list() | tuple():
            return ", ".join(_text("", each) for each in value)
        case float():
            return f"{value:g}"
    return str(value)
