"""A batch over an interval publishes the windows that end in it, whatever they are, as a batch over everything does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    CalendarWindows,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    RuntimeMode,
    SessionWindows,
    SlidingWindows,
    Sum,
    WindowStrategy,
)
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.values.intervals import contains
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import ARRIVALS_BEGIN, events, write_files

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

MINUTE = 60_000_000
FROM = (ARRIVALS_BEGIN // MINUTE + 20) * MINUTE
TO = FROM + 15 * MINUTE


def one(source: Files, window: WindowStrategy) -> Pipeline:
    grouped = Pipeline("one", source).group_by_key_and_window(key="key", window=window)
    return grouped.combine(count=Count(), total=Sum("value"))


def two(source: Files, window: WindowStrategy) -> Pipeline:
    lengths = Pipeline("two", source).group_by_key_and_window(
        key="key", window=window, refinement=ACCUMULATING_AND_RETRACTING
    )
    return (
        lengths.combine(count=Count(), total=Sum("value"))
        .group_by_key_and_window(key="count", window=FixedWindows("5m"), refinement=ACCUMULATING_AND_RETRACTING)
        .combine(sessions=Count(), total=Sum("total"))
    )


@pytest.mark.parametrize(
    ("define", "window"),
    [
        pytest.param(one, SessionWindows("2m"), id="sessions"),
        pytest.param(one, SlidingWindows("10m", "3m"), id="sliding"),
        pytest.param(one, FixedWindows("7m", shifted_by_key=True), id="unaligned"),
        pytest.param(one, CalendarWindows("day", "Asia/Kolkata"), id="calendar"),
        pytest.param(two, SessionWindows("2m"), id="two groupings"),
    ],
)
def test_an_interval_gives_the_windows_that_end_in_it_as_all_of_the_input_makes_them(
    define: Callable[[Files, WindowStrategy], Pipeline], window: WindowStrategy, tmp_path: Path
) -> None:
    write_files(tmp_path / "source", events(3_000, keys=200), files=4)
    what = define(Files(f"{tmp_path}/source/*.parquet", event_time="happened", arrival_time="arrived"), window)
    whole, part = str(tmp_path / "whole"), str(tmp_path / "part")
    # A calendar day ends long after the others' windows.
    interval = Interval(FROM, TO + 86_400_000_000 if isinstance(window, CalendarWindows) else TO)
    run(Submission(what, RuntimeMode.BATCH, whole))
    for _ in range(2):  # again: it replaces itself
        run(Submission(what, RuntimeMode.BATCH, part, interval))
    end = pl.col("window_end").dt.epoch("us")
    wanted = PaneLogReader(whole).current().filter(contains(interval, end))
    found = PaneLogReader(part).current()
    values = ["window_start", "window_end", *what.grouping.key, *what.grouping.combiners]
    assert len(wanted) > 3
    assert_frame_equal(found.select(values), wanted.select(values), check_row_order=False)
