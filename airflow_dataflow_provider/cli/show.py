"""``show``: the results of a pipeline: its current table, and what is published while one looks on."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.time import Micros, to_micros

if TYPE_CHECKING:
    import polars as pl

    from airflow_dataflow_provider.model.combiners import Combiner
    from airflow_dataflow_provider.tables.pane_log import PaneLogReader

_FORMATS = ("table", "csv", "json")
_ROWS_ON_A_SCREEN = 40
_LOOKS_EVERY = 2.0
"""Seconds between two looks at the pane log."""
_WINDOW = ("window_start", "window_end")
_ABOUT_PANES = ("pane_timing", "completeness")
_OF_CHANGES = ("epoch", "pane_timing", "pane_is_retraction")


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("show", help="the results of a pipeline", description=__doc__)
    parser.add_argument("--state", required=True, metavar="URL", help="the pipeline's state, or its pane log")
    parser.add_argument(
        "--where", action="append", default=[], metavar="COLUMN=VALUE", help="only such rows; repeatable"
    )
    parser.add_argument("--since", metavar="T", help="only windows that end after this time (ISO 8601 with an offset)")
    parser.add_argument("--until", metavar="T", help="only windows that do not end after this time")
    parser.add_argument("--limit", type=int, metavar="N", help="only the N rows of the newest windows; 0: all")
    parser.add_argument("--format", default="table", metavar="FORMAT", help=" | ".join(_FORMATS))
    parser.add_argument("--follow", action="store_true", help="go on with what is published, until Ctrl-C")
    parser.add_argument(
        "--pipeline", metavar="MODULE:ATTRIBUTE", help="where the state does not know combiners of your own"
    )
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Read the table, print it, and go on if asked to."""
    from airflow_dataflow_provider.tables.pane_log import PaneLogReader  # noqa: PLC0415 - other commands need none

    if options.format not in _FORMATS:
        raise SubmissionError(
            f"--format {options.format!r} is not known", hint=f"choose one of {', '.join(_FORMATS)}", code="SUBMIT_SHOW"
        )
    reader = PaneLogReader(options.state, combiners=_combiners(options.pipeline))
    since, until = (None if text is None else to_micros(text) for text in (options.since, options.until))
    table, newest = reader.current_with_epoch()
    found = _matching(table, options.where, since, until)
    limit = options.limit if options.limit is not None else _ROWS_ON_A_SCREEN if options.format == "table" else 0
    rows = found.tail(limit) if limit > 0 else found
    columns = (*_WINDOW, *reader.key, *reader.aggregates)
    if options.format == "table":
        rows = rows.select(*columns, *_ABOUT_PANES)
    _print(rows, options.format, header=True)
    if not len(table):
        print("nothing is published yet; status says why", file=sys.stderr)  # noqa: T201
    elif options.format == "table" and len(rows) < len(found):
        print(f"the newest {len(rows):,} of {len(found):,} rows; --limit 0 shows all")  # noqa: T201
    if options.follow:
        with suppress(KeyboardInterrupt):  # so one stops looking on
            for panes in _published(reader, 0 if newest is None else newest + 1):
                found = _matching(panes, options.where, since, until)
                if options.format == "table":
                    found = found.select(*_OF_CHANGES, *columns)
                if len(found):
                    _print(found, options.format, header=options.format == "table")
    return 0


def _combiners(pipeline: str | None) -> dict[str, Combiner] | None:
    from airflow_dataflow_provider.cli.pipelines import load_pipeline  # noqa: PLC0415 - hardly ever needed

    return None if pipeline is None else load_pipeline(pipeline).grouping.combiners


def _published(reader: PaneLogReader, since: int) -> Iterator[pl.DataFrame]:
    """The panes of the epochs from one on, as they come."""
    while True:
        _wait()
        # Asked before the panes: so these have all epochs that are named here.
        intervals = reader.intervals(since)
        for epoch, interval in intervals:
            print(f"epoch {epoch} replaces all windows that end in {interval}", file=sys.stderr)  # noqa: T201
        panes = reader.panes(since)
        since = 1 + max([since - 1, *(epoch for epoch, _ in intervals), *panes["epoch"]])
        yield panes


def _wait() -> None:
    time.sleep(_LOOKS_EVERY)


def _matching(frame: pl.DataFrame, wanted: list[str], since: Micros | None, until: Micros | None) -> pl.DataFrame:
    """The rows that were asked for."""
    import polars as pl  # noqa: PLC0415 - other commands need none

    conditions = [pl.col(column).eq_missing(value) for column, value in (_condition(frame, text) for text in wanted)]
    end = pl.col("window_end").to_physical()
    if since is not None:
        conditions.append((end > since).fill_null(value=True))
    if until is not None:
        conditions.append(end <= until)
    return frame.filter(*conditions)


def _condition(frame: pl.DataFrame, text: str) -> tuple[str, pl.Expr]:
    """A column, and the value that it is to have."""
    import polars as pl  # noqa: PLC0415

    column, equals, value = text.partition("=")
    if not equals or column not in frame.columns:
        raise SubmissionError(
            f"--where {text!r} does not name a column and a value",
            hint=f"write --where COLUMN=VALUE with one of {', '.join(frame.columns)}",
            code="SUBMIT_SHOW",
        )
    dtype = frame.schema[column]
    try:
        if isinstance(dtype, pl.Datetime):
            return column, pl.lit(to_micros(value)).cast(pl.Datetime("us", dtype.time_zone)).cast(dtype)
        if dtype == pl.Boolean:
            return column, pl.lit({"true": True, "false": False}[value.lower()])
        return column, pl.lit(pl.Series([value]).cast(dtype).item(), dtype=dtype)
    except (KeyError, pl.exceptions.PolarsError) as error:
        raise SubmissionError(
            f"--where {text!r}: {value!r} does not read as {dtype}",
            hint="give a value of the column's type",
            code="SUBMIT_SHOW",
        ) from error


def _print(frame: pl.DataFrame, form: str, *, header: bool) -> None:
    if form == "csv":
        print(_as_texts(frame).write_csv(include_header=header), end="", flush=True)  # noqa: T201 - what it is for
    elif form == "json":
        for row in _with_iso_times(frame).iter_rows(named=True):
            values = {name: None if _has_no_json(value) else value for name, value in row.items()}
            print(json.dumps(values, ensure_ascii=False, default=_plain), flush=True)  # noqa: T201
    else:
        _print_table(frame)


def _print_table(frame: pl.DataFrame) -> None:
    from rich.console import Console  # noqa: PLC0415 - the other formats need none
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name, dtype in frame.schema.items():
        table.add_column(Text(name), justify="right" if dtype.is_numeric() else "left", no_wrap=True)
    for row in _as_texts(frame).rows():
        table.add_row(*("" if value is None else Text(value) for value in row))
    # What is piped elsewhere must not be cut to a terminal that is not there.
    Console(highlight=False, width=None if sys.stdout.isatty() else 1_000).print(table)


def _has_no_json(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _with_iso_times(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415

    columns = []
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Datetime):
            instant = pl.col(name).dt.convert_time_zone("UTC") if dtype.time_zone else pl.col(name)
            columns.append(instant.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{'Z' if dtype.time_zone else ''}"))
    return frame.with_columns(columns)


def _as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    from airflow_dataflow_provider.tables.one_table import as_text  # noqa: PLC0415

    frame = _with_iso_times(frame)
    return frame.select(map(as_text, frame.get_columns()))
