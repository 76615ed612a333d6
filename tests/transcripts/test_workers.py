"""Spark may run a state partition in another worker process each time; one may be behind with its live frames."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest

from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.reduce_side import state
from tests.transcripts.files import NEEDS_SPARK, RUN
from tests.transcripts.test_transcripts import engine_of

Run = Callable[[Epoch], list[Pane]]


def taking_turns(run: Run, order: str, live: pytest.MonkeyPatch) -> Run:
    """An engine whose epochs are run by workers in this order, again and again."""
    workers = cycle(order)
    frames: dict[str, dict[object, object]] = {worker: {} for worker in order}

    def run_elsewhere(epoch: Epoch) -> list[Pane]:
        live.setattr(state, "_LIVE", frames[next(workers)])
        return run(epoch)

    return run_elsewhere


def test_transcripts_hold_whichever_worker_has_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    # The same worker twice, another one, and the first again: each way to be behind, or not.
    order = "aab"
    failed = []
    for name, transcript in RUN.items():
        if name not in NEEDS_SPARK:
            engine = engine_of(transcript, transcript.scenes())
            try:
                transcript.check_step_by_step(taking_turns(engine.epoch, order, monkeypatch))
            except AssertionError:
                failed.append(name)
    assert failed == []
