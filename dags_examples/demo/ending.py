"""The end of the demo: checks and shows the results."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import redirect_stdout
from functools import partial
from typing import Any

import polars as pl
from rich.markup import escape

from airflow_dataflow_provider.__main__ import main as command_line
from dags_examples.data import archive, load_flights
from dags_examples.demo import checks, report
from dags_examples.demo.checks import Check
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.places import Places
from dags_examples.demo.screen import Screen
from dags_examples.demo.story import BATCH_DAY, REPORT_DAY, moment
from dags_examples.departures import departures


def tell(screen: Screen, places: Places, gated: list[dict[str, Any]]) -> bool:
    """Check, write the report, draw the picture, show the table.

    Args:
        screen: where it is shown.
        places: where everything is.
        gated: what the gated DAG has reported.

    Returns:
        Whether every check held.

    Raises:
        DemoError: the picture could not be drawn.
    """
    start, end = map(moment, REPORT_DAY)
    with screen.step("Report: what was published, what it claimed, what was true"):
        panes = report.panes_with_truth(places.state("stream"), places.flights, load_flights())
        rows = report.as_rows(report.between(panes, start, end))
        places.report.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        with redirect_stdout(io.StringIO()) as said:
            failed = command_line(["plot", "--state", places.state("stream"), "--out", str(places.picture)])
        if failed:
            raise DemoError("the picture could not be drawn", said.getvalue())
    with screen.step("Checks: the reference interpreter and DuckDB"):
        results = _checks(places, panes, gated)
    screen.show(report.as_table(rows, f"What the stream published about the day from {start:%b %d %H:%M} UTC"))
    screen.show(report.calibration(panes))
    for result in results:
        screen.say(f"[red]✗[/red] {result.what}" if result.problem else f"[green]✓[/green] {result.what}")
        if result.problem:
            screen.say(escape(result.problem))
    screen.say(f"\nThe table    {places.report}\nThe picture  {places.picture}")
    return not any(result.problem for result in results)


def _checks(places: Places, panes: pl.DataFrame, gated: list[dict[str, Any]]) -> list[Check]:
    with zipfile.ZipFile(archive()) as zipped:
        original = zipped.extract("flights.csv", places.out)
    batch = places.state("batch")
    return [
        Check.of(
            "batch: the panes are the reference's",
            partial(checks.interval_equals_reference, batch, departures, places.flights),
        ),
        Check.of(
            "batch: the table is what DuckDB makes of the original file",
            partial(checks.table_equals_duckdb, batch, BATCH_DAY, original),
        ),
        *(
            Check.of(
                f"{way}: the panes are the reference's",
                partial(checks.equals_reference, places.state(way), departures),
            )
            for way in ("micro-batch", "stream")
        ),
        Check.of("gate: it reported what the stream had published", partial(checks.were_published, gated, panes)),
    ]
