"""The column-wise engine gives the reference's panes, epoch by epoch, for whatever pipeline, input and cuts."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from airflow_dataflow_provider.spark.reduce_side import state
from airflow_dataflow_provider.testing.strategies import Case, cases
from tests.spark.comparison import FAMILIES, MANY_SMALL, MOST_ELEMENTS, Way, compare, ways

CASES = int(os.environ.get("KERNEL_CASES", "640"))
"""Over all families together."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_epoch_has_the_panes_of_the_reference(family: str) -> None:
    @settings(MANY_SMALL, max_examples=-(-CASES // len(FAMILIES)))
    @given(case=cases(FAMILIES[family], max_size=MOST_ELEMENTS, with_batches=True), way=ways())
    def check(case: Case, way: Way) -> None:
        compare(*case, way)

    check()


@pytest.mark.parametrize("rows", [0, 3])
def test_chains_stay_short_and_give_the_same_panes(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that a few rows already make bases, deltas and rebases."""
    monkeypatch.setattr(state, "_SMALL", rows)
    monkeypatch.setattr(state, "_LONGEST_CHAIN", 3)

    @settings(MANY_SMALL, max_examples=-(-CASES // 25))
    @given(case=cases(max_size=MOST_ELEMENTS, with_batches=True))
    def check(case: Case) -> None:
        compare(*case, Way(processes=0))

    check()
