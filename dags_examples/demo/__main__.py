"""``make demo``: real flights, a real Airflow, one pipeline run three ways, and a DAG that waits for its watermark."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from rich.markup import escape

from airflow_dataflow_provider.model.errors import DataflowError
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.ending import tell
from dags_examples.demo.places import Places
from dags_examples.demo.processes import Marked
from dags_examples.demo.screen import Screen
from dags_examples.demo.stage import Stage
from dags_examples.demo.steps import Steps

INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C has ended."""


def main() -> int:
    """Run the demo.

    Returns:
        The exit status: 0 if everything worked and every check held, 1 if not, 130 if it was interrupted.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    screen, places, marked = Screen(), Places(), Marked()
    try:
        with places.taken(marked):
            with Stage(screen, places, marked) as stage:
                steps = Steps(screen, stage)
                steps.run()
                gated = steps.gated_report()
            return 0 if tell(screen, places, gated) else 1
    except (DemoError, DataflowError) as error:
        screen.say(f"\n[red bold]The demo failed:[/red bold] {escape(str(error))}")
        if log := getattr(error, "log", ""):
            screen.say(f"\n{escape(log)}")
        screen.say(f"\nEverything it left to look at is in {places.out}")
        return 1
    except KeyboardInterrupt:
        screen.say("\nInterrupted. Nothing is left running.")
        return INTERRUPTED


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
