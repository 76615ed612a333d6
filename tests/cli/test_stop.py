from __future__ import annotations

import pytest

from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from tests.cli.conftest import Run
from tests.progress.samples import claim, make_identity


@pytest.mark.parametrize(("option", "kind"), [([], "stop"), (["--drain"], "drain")])
def test_a_request_waits_for_the_driver(command: Run, state: str, option: list[str], kind: str) -> None:
    store = Store.open(state)
    make_identity(store)
    driver = claim(store)
    said = command("stop", "--state", state, *option)
    assert (said.status, said.out) == (0, f"nothing to stop: no driver runs on {store.url} (lost)\n")
    assert [(request.kind, request.addressed_to) for request in pending(store)] == [(kind, driver.token)]


def test_where_there_is_no_pipeline_there_is_nothing_to_stop(command: Run, state: str) -> None:
    said = command("stop", "--state", state)
    assert (said.status, said.code) == (3, "STATE_ABSENT")


def test_who_was_asked_to_stop_is_told(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    claim(store, wall_clock())
    said = command("stop", "--state", state)
    assert said.out == "asked the driver of run 'run-1' to end after its epoch; status shows when it has\n"
