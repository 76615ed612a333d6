from __future__ import annotations

from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.store.store import Store
from tests.cli.conftest import Run
from tests.progress.samples import make_identity

PIPELINE = """
from airflow_dataflow_provider import AtSignal, Count, Files, FixedWindows, Pipeline, Repeat

grouped = Pipeline("sales", Files("sales/*.parquet", event_time="at")).group_by_key_and_window(
    key="shop", window=FixedWindows("1h"), trigger=Repeat(AtSignal("publish"))
)
sales = grouped.combine(sold=Count())
"""


def asked(state: str) -> list[tuple[str, str | None]]:
    return [(request.kind, request.signal) for request in pending(Store.open(state))]


def test_a_signal_waits_for_the_driver(command: Run, state: str) -> None:
    make_identity(Store.open(state), signals=frozenset({"publish"}))
    assert command("signal", "publish", "--state", state).status == 0
    assert asked(state) == [("signal", "publish")]


def test_a_name_that_nobody_listens_to_is_refused_with_those_that_there_are(command: Run, state: str) -> None:
    make_identity(Store.open(state), signals=frozenset({"publish"}))
    said = command("signal", "pubish", "--state", state)
    assert (said.status, said.code) == (2, "SUBMIT_SIGNAL")
    assert "raise one of publish" in said.err
    assert asked(state) == []


@pytest.mark.parametrize(("name", "status"), [("publish", 0), ("pubish", 2)])
def test_with_the_pipeline_a_signal_can_be_raised_before_the_first_run(
    command: Run, state: str, tmp_path: Path, name: str, status: int
) -> None:
    (tmp_path / "shops.py").write_text(PIPELINE)
    assert command("signal", f"{tmp_path / 'shops.py'}:sales", name, "--state", state).status == status
    assert asked(state) == ([] if status else [("signal", "publish")])


def test_where_there_is_no_pipeline_nobody_can_be_told(command: Run, state: str) -> None:
    said = command("signal", "publish", "--state", state)
    assert (said.status, said.code) == (3, "STATE_ABSENT")
