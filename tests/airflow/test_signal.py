"""Raising a signal from a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.operators.signal import DataflowSignalOperator
from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import make_identity

CONTEXT: Any = {}


def raising(state: Path | None, signal: str = "publish") -> DataflowSignalOperator:
    return DataflowSignalOperator(task_id="signal", signal=signal, state=None if state is None else str(state))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    make_identity(Store.open(str(tmp_path)), signals=frozenset({"publish"}))
    return tmp_path


def test_the_request_is_in_the_state_and_its_id_is_returned(state: Path) -> None:
    request_id = raising(state).execute(CONTEXT)
    assert [(request.id, request.signal) for request in pending(Store.open(str(state)))] == [(request_id, "publish")]


def test_a_name_that_nobody_listens_to_fails_the_task_for_good(state: Path) -> None:
    with pytest.raises(AirflowFailException, match="raise one of publish"):
        raising(state, "pubish").execute(CONTEXT)


def test_a_pipeline_that_has_never_run_fails_the_task(tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match="STATE_ABSENT"):
        raising(tmp_path).execute(CONTEXT)


def test_a_signal_to_nothing_named_is_refused_when_the_dag_is_parsed() -> None:
    with pytest.raises(DefinitionError, match="pipeline="):
        raising(None)
