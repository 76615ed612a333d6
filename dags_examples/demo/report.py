"""The report: what was published, what it claimed, and what was true then.

A replay has two clocks. ``published_at`` is processing time, by the clock of the machine that published the pane. What
had *arrived* by then is a matter of the flights' own time, and the epoch log knows it: the flights in the files that
had been read when the pane was fired, those of the pane's own epoch among them.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from rich.table import Table

from airflow_dataflow_provider.model.time import iso, to_micros
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.tables.pane_log import PaneLogReader

_COLOURS = {"EARLY": "yellow", "ON_TIME": "green", "LATE": "red"}


def panes_with_truth(state: str, folder: Path, flights: pl.DataFrame) -> pl.DataFrame:
    """Every pane of a state, in the order of publication, with ``arrived``, ``total`` and ``true_completeness``.

    Args:
        state: the URL of the state.
        folder: the files that it has read.
        flights: all that there are, of which those that never ``departed`` never arrive.
    """
    return with_truth(PaneLogReader(state).panes(), arrivals(files_read(state), folder), flights)


def files_read(state: str) -> dict[str, int]:
    """The names of the files that a state has read, with the epoch that read each."""
    log = EpochLog(Store.open(state))
    prepared = [log.prepared(record.epoch) for record in log.records()]
    return {
        PurePosixPath(file).name: each.epoch for each in prepared if each and each.result for file in each.result.files
    }


def arrivals(files: dict[str, int], folder: Path) -> pl.DataFrame:
    """Every flight in some files: ``origin``, ``scheduled``, and the ``epoch`` that read it."""
    columns = pl.col("origin"), pl.col("scheduled")
    nothing = pl.DataFrame(schema={"origin": pl.String, "scheduled": pl.Datetime("us", "UTC"), "epoch": pl.Int64})
    read = (
        pl.read_parquet(folder / file, columns=["origin", "scheduled"]).select(*columns, epoch=pl.lit(epoch, pl.Int64))
        for file, epoch in files.items()
    )
    return pl.concat([nothing, *read])


def with_truth(panes: pl.DataFrame, arrived: pl.DataFrame, flights: pl.DataFrame) -> pl.DataFrame:
    """The panes beside the truth: how many flights of their hour and airport had come by then, and ever will."""
    hour = pl.col("scheduled").dt.truncate("1h").alias("window_start")
    of_window = ["origin", "window_start"]
    ever = flights.drop_nulls("departed").group_by("origin", hour).agg(total=pl.len())
    panes = panes.with_row_index("_order")
    by_then = (
        panes.join(arrived.select("origin", hour, pl.col("epoch").alias("_read_by")), on=of_window, how="left")
        .filter(pl.col("_read_by") <= pl.col("epoch"))
        .group_by("_order")
        .agg(arrived=pl.len())
    )
    return (
        panes.join(by_then, on="_order", how="left", maintain_order="left")
        .join(ever, on=of_window, how="left", maintain_order="left")
        .with_columns(pl.col("arrived", "total").fill_null(0))
        .with_columns(true_completeness=pl.col("arrived") / pl.col("total"))
        .drop("_order")
    )


def between(panes: pl.DataFrame, start: dt.datetime, end: dt.datetime) -> pl.DataFrame:
    """The panes of the windows in ``[start, end)``, by window and airport, then in the order of publication."""
    of_span = panes.filter(pl.col("window_start") >= start, pl.col("window_end") <= end)
    return of_span.sort("window_start", "origin", "pane_index", maintain_order=True)


def as_rows(panes: pl.DataFrame) -> list[dict[str, Any]]:
    """The report as JSON objects; times are ISO 8601 in UTC, shares are 0 to 1, delays are minutes."""
    return [
        {
            "window_start": iso(to_micros(pane["window_start"])),
            "window_end": iso(to_micros(pane["window_end"])),
            "key": pane["origin"],
            "flights": pane["flights"],
            "mean_delay": pane["mean_delay"],
            "timing": pane["pane_timing"],
            "published_at": iso(to_micros(pane["processing_time"])),
            "claimed": pane["completeness"],
            "true_completeness": pane["true_completeness"],
        }
        for pane in panes.iter_rows(named=True)
    ]


def as_table(rows: list[dict[str, Any]], title: str) -> Table:
    """The same rows for the screen."""
    table = _table(title)
    for name in ("window (UTC)", "airport"):
        table.add_column(name, no_wrap=True)
    for name in ("flights", "mean delay"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("pane", no_wrap=True)
    for name in ("published", "claimed", "in truth"):
        table.add_column(name, justify="right", no_wrap=True)
    window = None
    for row in rows:
        start, end = (dt.datetime.fromisoformat(row[name]) for name in ("window_start", "window_end"))
        if window not in (None, start):
            table.add_section()
        colour = _COLOURS[row["timing"]]
        table.add_row(
            f"{start:%b %d %H:%M}-{end:%H:%M}" if start != window else "",
            row["key"],
            str(row["flights"]),
            f"{row['mean_delay']:.1f} min",
            f"[{colour}]{row['timing']}[/{colour}]",
            f"{dt.datetime.fromisoformat(row['published_at']):%H:%M:%S}",
            f"{row['claimed']:.1%}",
            f"{row['true_completeness']:.1%}",
        )
        window = start
    return table


def calibration(panes: pl.DataFrame) -> Table:
    """What all panes of a timing claimed, flight by flight, against what was true."""
    table = _table("All the stream's panes")
    table.add_column("pane", no_wrap=True)
    for name in ("number", "claimed", "in truth"):
        table.add_column(name, justify="right", no_wrap=True)
    for timing, colour in _COLOURS.items():
        of_timing = panes.filter(pl.col("pane_timing") == timing)
        if len(of_timing):
            claimed, true = of_timing.select(
                (pl.col("completeness") * pl.col("total")).sum() / pl.col("total").sum(),
                pl.col("arrived").sum() / pl.col("total").sum(),
            ).row(0)
            table.add_row(f"[{colour}]{timing}[/{colour}]", f"{len(of_timing):,}", f"{claimed:.2%}", f"{true:.2%}")
    return table


def _table(title: str) -> Table:
    # Narrow enough for a terminal of 80 columns.
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
