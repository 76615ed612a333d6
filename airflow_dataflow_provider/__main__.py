"""The command line: ``dataflow COMMAND``, or ``python -m airflow_dataflow_provider COMMAND``; ``--help`` lists them.

The same file is what the Airflow operators hand to ``spark-submit``, so it also copes with being run as a script.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
if sys.path and sys.path[0] and Path(sys.path[0]).resolve() == _HERE:
    # Run as a script: this folder's modules must not be taken for top-level ones; the package must be found as a whole.
    # A folder of the user's comes after the standard library: a calendar.py in it is not Python's.
    sys.path[:] = [*sys.path[1:], str(_HERE.parent)]


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0, or the :attr:`~airflow_dataflow_provider.model.errors.DataflowError.exit_code` of what went
        wrong. No exception leaves it but argparse's own exit.
    """
    from airflow_dataflow_provider.cli import explain, forget, plot, run, show, signal, status, stop, verify

    parser = argparse.ArgumentParser(prog="dataflow", description="The Dataflow Model on Spark.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (run, status, show, explain, plot, signal, forget, stop, verify):
        command.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        ended: int = options.call(options)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - nothing leaves the command line without a code
        from airflow_dataflow_provider.cli.failures import tell

        return tell(error, as_json=getattr(options, "json", False), error_file=getattr(options, "error_file", None))
    return ended


if __name__ == "__main__":
    sys.exit(main())
