"""The column-wise engine gives the reference's panes, epoch by epoch, for whatever pipeline, input and cuts."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.spark import state
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.strategies import (
    TRIGGER_FAMILIES,
    WINDOW_FAMILIES,
    Case,
    cases,
    combiners,
    par_dos,
    pipelines,
    result_triggers,
    triggers,
    two_groupings,
    windows,
)
from tests.spark.in_process import InProcess

FAMILIES: dict[str, SearchStrategy[Pipeline]] = {
    f"{window} x {trigger}": pipelines(window=windows(window), trigger=triggers(trigger))
    for window in WINDOW_FAMILIES
    for trigger in TRIGGER_FAMILIES
}
FAMILIES["gathering combiners"] = pipelines(combiner=combiners("plain", "gathering"))
FAMILIES["par do"] = pipelines(par_do=par_dos(), trigger=triggers("watermarks", "mixed"))
FAMILIES |= {
    f"two groupings, the first {window}": two_groupings(
        window=windows(*members),
        trigger=triggers(*TRIGGER_FAMILIES),
        then_trigger=result_triggers(*TRIGGER_FAMILIES),
    )
    for window, members in {
        "fixed": ("fixed",),
        "sessions": ("sessions",),
        "of any window": tuple(WINDOW_FAMILIES),
    }.items()
}
"""Every family of pipelines, and how to draw from it."""

NOT_YET: dict[str, str] = {}
"""Families that the engine refuses so far, and why."""

CASES = int(os.environ.get("KERNEL_CASES", "1000"))
"""Over all families together."""

LIGHT = settings(
    max_examples=max(1, CASES // len(FAMILIES)),
    # Nothing here is slow by accident, and a counter-example says enough once it is shrunk.
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)


def compare(pipeline: Pipeline, epochs: tuple[Epoch, ...], *, forget: bool, combining: bool = True) -> None:
    """Run both, epoch by epoch. With ``forget`` no live frame outlives its epoch, so every one is rebuilt from
    files."""
    reference, engine = Interpreter(pipeline), InProcess(pipeline, combining=combining)
    for epoch in epochs:
        if forget:
            state._LIVE.clear()
        assert_panes(engine.epoch(epoch), reference.epoch(epoch))
    counts = reference.counts
    report = engine.report
    assert (report.read, report.late, report.expired) == (counts.read, counts.late, counts.expired)


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(name, marks=[pytest.mark.skip(reason=NOT_YET[name])] if name in NOT_YET else [])
        for name in FAMILIES
    ],
)
def test_every_epoch_has_the_panes_of_the_reference(family: str) -> None:
    @LIGHT
    @given(case=cases(FAMILIES[family], max_size=20, with_batches=True), forget=st.booleans(), combining=st.booleans())
    def check(case: Case, forget: bool, combining: bool) -> None:
        compare(*case, forget=forget, combining=combining)

    check()


def test_only_families_that_there_are_are_waited_for() -> None:
    assert NOT_YET.keys() <= FAMILIES.keys()


@pytest.mark.parametrize("rows", [0, 3])
def test_chains_stay_short_and_give_the_same_panes(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that a few rows already make bases, deltas and rebases."""
    monkeypatch.setattr(state, "_SMALL", rows)
    monkeypatch.setattr(state, "_LONGEST_CHAIN", 3)

    @settings(LIGHT, max_examples=60)
    @given(case=cases(with_batches=True))
    def check(case: Case) -> None:
        compare(*case, forget=True)

    check()
