"""The demo's checks find what is wrong."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

from dags_examples.demo.checks import Check, Mismatch, were_published

TEN = dt.datetime(2013, 1, 9, 10, tzinfo=dt.UTC)
PANE = {"origin": "EWR", "flights": 18, "mean_delay": -2.1, "pane_timing": "EARLY", "pane_index": 0}


@pytest.fixture
def panes() -> pl.DataFrame:
    return pl.DataFrame([{"window_start": TEN, **PANE}]).with_columns(
        pl.col("window_start").cast(pl.Datetime("us", "UTC"))
    )


def test_what_was_published_may_be_reported(panes: pl.DataFrame) -> None:
    assert were_published([{"window_start": TEN.isoformat(), **PANE}], panes) == "1 rows"


@pytest.mark.parametrize("other", [{"flights": 19}, {"mean_delay": 2.1}, {"origin": "JFK"}, {"pane_timing": "LATE"}])
def test_what_was_not_published_may_not_be_reported(panes: pl.DataFrame, other: dict[str, Any]) -> None:
    with pytest.raises(Mismatch, match="never published"):
        were_published([{"window_start": TEN.isoformat(), **PANE, **other}], panes)


def test_an_empty_report_proves_nothing(panes: pl.DataFrame) -> None:
    with pytest.raises(Mismatch, match="no rows"):
        were_published([], panes)


def test_a_check_keeps_what_is_wrong() -> None:
    def wrong() -> str:
        raise Mismatch("one is not two")

    assert Check.of("numbers", wrong) == Check("numbers", "one is not two")
    assert Check.of("numbers", lambda: "2 of them") == Check("numbers: 2 of them")
