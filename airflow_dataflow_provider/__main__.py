"""The command line: ``python -m airflow_dataflow_provider run | status | explain | plot | signal | stop``.

The same file is what the Airflow operators hand to ``spark-submit``, so it also copes with being run as a script.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
if sys.path and sys.path[0] and Path(sys.path[0]).resolve() == _HERE:
    # Run as a script: this folder's modules must not be taken for top-level ones; the package must be found as a whole.
    sys.path[0] = str(Path.cwd())
    sys.path.append(str(_HERE.parent))

from airflow_dataflow_provider.model.errors import DataflowError  # noqa: E402 - after the path is right


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0, or the :attr:`~airflow_dataflow_provider.model.errors.DataflowError.exit_code` of what went
        wrong.
    """
    from airflow_dataflow_provider.cli import explain, plot, run, signal, status, stop

    parser = argparse.ArgumentParser(prog="airflow_dataflow_provider", description="The Dataflow Model on Spark.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (run, status, explain, plot, signal, stop):
        command.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.call(options))
    except DataflowError as error:
        if getattr(options, "json", False):
            print(json.dumps({"error": error.code, "what": error.what, "why": error.why, "todo": error.todo}))
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
