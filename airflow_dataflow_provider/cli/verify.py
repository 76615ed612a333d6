"""``verify``: what a state and its pane log name and is missing or damaged, and what of it can be made anew."""

from __future__ import annotations

import argparse
import json
from typing import Any

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep.verification import Finding, Verification, rebuild, verify


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("verify", help="what of a state is missing or damaged", description=__doc__)
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument("--rebuild", action="store_true", help="make anew what can be made anew")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Look at everything, and print what is wrong."""
    store = Store.open(options.state)
    found, rebuilt = verify(store), list[Finding]()
    if options.rebuild:
        rebuilt = rebuild(found.findings)
        found = verify(store) if rebuilt else found
    if options.json:
        document = {**found.to_json(), "rebuilt": [finding.where for finding in rebuilt]}
        print(json.dumps(document, indent=2))  # noqa: T201 - what the command is for
    else:
        print(_text(found, rebuilt))  # noqa: T201
    return StateError.exit_code if found.findings else 0


def _text(found: Verification, rebuilt: list[Finding]) -> str:
    lines = [f"{finding.where} was made anew" for finding in rebuilt]
    for finding in found.findings:
        lines += [f"{finding.where} {finding.problem}", f"    What to do: {finding.remedy}"]
    looked_at = f"{found.epochs:,} epochs, {found.files:,} data files, {found.size / 1e6:,.1f} MB"
    wrong = f"{len(found.findings)} missing or damaged" if found.findings else "nothing missing, nothing damaged"
    return "\n".join([*lines, f"{looked_at}: {wrong}"])
