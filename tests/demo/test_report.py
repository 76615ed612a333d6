"""The report's figures, on panes and flights that fit on a screen."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from dags_examples.demo import report

TEN, ELEVEN = (dt.datetime(2013, 1, 9, hour, tzinfo=dt.UTC) for hour in (10, 11))
NOON = TEN + dt.timedelta(hours=2)
TIME = pl.Datetime("us", "UTC")


def flights(*lines: tuple[str, dt.datetime, dt.datetime | None]) -> pl.DataFrame:
    return pl.DataFrame(lines, {"origin": pl.String, "scheduled": TIME, "departed": TIME}, orient="row")


def pane(origin: str, start: dt.datetime, epoch: int, count: int, **fields: Any) -> dict[str, Any]:
    return {
        "origin": origin,
        "window_start": start,
        "window_end": start + dt.timedelta(hours=1),
        "flights": count,
        "mean_delay": 1.5,
        "pane_timing": "EARLY",
        "pane_index": 0,
        "processing_time": dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=epoch),
        "completeness": 0.97,
        "epoch": epoch,
        **fields,
    }


def panes(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows).with_columns(pl.col("window_start", "window_end", "processing_time").cast(TIME))


ALL = flights(
    ("EWR", TEN, TEN),
    ("EWR", TEN + dt.timedelta(minutes=59), ELEVEN),
    ("EWR", TEN, TEN + dt.timedelta(days=1)),
    ("EWR", TEN, None),
    ("EWR", ELEVEN, ELEVEN),
    ("JFK", TEN, TEN),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files: what left on time, what left an hour later, what left a day later."""
    departed = ALL.drop_nulls("departed")
    for number, of_file in enumerate((departed["departed"] == TEN, departed["departed"] == ELEVEN)):
        departed.filter(of_file).write_parquet(tmp_path / f"{number}.parquet")
    departed.filter(pl.col("departed") > ELEVEN).write_parquet(tmp_path / "2.parquet")
    return tmp_path


def test_true_completeness_is_what_had_been_read_of_all_that_ever_arrives(folder: Path) -> None:
    arrived = report.arrivals({"0.parquet": 3, "1.parquet": 5, "2.parquet": 9}, folder)
    published = panes(
        pane("EWR", TEN, 4, 1),
        pane("EWR", TEN, 5, 2),
        pane("EWR", TEN, 9, 3),
        pane("JFK", TEN, 4, 1),
        pane("EWR", ELEVEN, 5, 1),
    )
    told = report.with_truth(published, arrived, ALL)
    assert told["true_completeness"].to_list() == [1 / 3, 2 / 3, 1.0, 1.0, 1.0]
    assert told["arrived"].to_list() == told["flights"].to_list(), "an accumulating pane counts what had arrived"


def test_a_pane_that_was_published_before_anything_arrived_is_told_so(folder: Path) -> None:
    arrived = report.arrivals({"0.parquet": 3}, folder)
    told = report.with_truth(panes(pane("EWR", TEN, 2, 0), pane("EWR", ELEVEN, 9, 0)), arrived, ALL)
    assert told["true_completeness"].to_list() == [0.0, 0.0]


def test_the_order_of_publication_is_kept(folder: Path) -> None:
    published = panes(*(pane("EWR", start, 9, 1) for start in (ELEVEN, TEN, ELEVEN, TEN)))
    told = report.with_truth(published, report.arrivals({"0.parquet": 0}, folder), ALL)
    assert told["window_start"].to_list() == published["window_start"].to_list()


def test_a_row_of_the_report_has_exactly_the_documented_fields(folder: Path) -> None:
    published = panes(pane("JFK", TEN, 4, 1, mean_delay=-2.5))
    (row,) = report.as_rows(report.with_truth(published, report.arrivals({"0.parquet": 3}, folder), ALL))
    assert row == {
        "window_start": "2013-01-09T10:00:00Z",
        "window_end": "2013-01-09T11:00:00Z",
        "key": "JFK",
        "flights": 1,
        "mean_delay": -2.5,
        "timing": "EARLY",
        "published_at": "2026-01-01T00:00:04Z",
        "claimed": 0.97,
        "true_completeness": 1.0,
    }


def test_a_span_has_the_windows_that_lie_in_it_by_window_airport_and_pane() -> None:
    published = panes(
        pane("JFK", ELEVEN, 1, 1),
        pane("EWR", ELEVEN, 2, 2, pane_index=1),
        pane("EWR", ELEVEN, 1, 1),
        pane("EWR", TEN, 1, 1),
        pane("EWR", NOON, 1, 1),
    )
    chosen = report.between(published, ELEVEN, NOON).select("origin", "pane_index").rows()
    assert chosen == [("EWR", 0), ("EWR", 1), ("JFK", 0)]


def shown(table: Any) -> str:
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_the_table_fits_a_terminal_of_80_columns(folder: Path) -> None:
    published = panes(
        pane("EWR", TEN, 4, 1), pane("EWR", TEN, 5, 12, mean_delay=-12.5, pane_timing="ON_TIME", completeness=1.0)
    )
    rows = report.as_rows(report.with_truth(published, report.arrivals({"0.parquet": 3, "1.parquet": 5}, folder), ALL))
    lines = [line.split() for line in shown(report.as_table(rows, "title")).splitlines()[2:]]
    assert lines == [
        ["Jan", "09", "10:00-11:00", "EWR", "1", "1.5", "min", "EARLY", "00:00:04", "97.0%", "33.3%"],
        ["EWR", "12", "-12.5", "min", "ON_TIME", "00:00:05", "100.0%", "66.7%"],
    ]


def test_calibration_weighs_every_pane_by_its_flights(folder: Path) -> None:
    arrived = report.arrivals({"0.parquet": 3, "1.parquet": 5}, folder)
    published = panes(
        pane("EWR", TEN, 5, 2, completeness=0.9),
        pane("JFK", TEN, 4, 1, completeness=0.98),
        pane("EWR", ELEVEN, 5, 1, pane_timing="LATE", completeness=1.0),
    )
    lines = [
        line.split() for line in shown(report.calibration(report.with_truth(published, arrived, ALL))).splitlines()[2:]
    ]
    # (3 * 90 % + 98 %) / 4, and 3 of 4 flights.
    assert lines == [["EARLY", "2", "92.00%", "75.00%"], ["LATE", "1", "100.00%", "100.00%"]]
