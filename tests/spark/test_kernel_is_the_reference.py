"""The column-wise engine gives the reference's panes, epoch by epoch, for whatever pipeline, input and cuts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.spark import state
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.strategies import cases
from tests.spark.in_process import InProcess


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


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(with_batches=True), forget=st.booleans(), combining=st.booleans())
def test_every_epoch_has_the_panes_of_the_reference(
    case: tuple[Pipeline, tuple[Epoch, ...]], forget: bool, combining: bool
) -> None:
    compare(*case, forget=forget, combining=combining)


@pytest.mark.parametrize("rows", [0, 3])
def test_chains_stay_short_and_give_the_same_panes(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that a few rows already make bases, deltas and rebases."""
    monkeypatch.setattr(state, "_SMALL", rows)
    monkeypatch.setattr(state, "_LONGEST_CHAIN", 3)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(case=cases(with_batches=True))
    def check(case: tuple[Pipeline, tuple[Epoch, ...]]) -> None:
        compare(*case, forget=True)

    check()
