from __future__ import annotations

from pathlib import Path

from airflow_dataflow_provider.progress.ownership.launches import announce, announced, withdraw
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND


def test_a_launch_is_told_until_it_is_withdrawn(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    assert announced(store, NOON) == []
    announce(store, "run-1", "streaming", NOON)
    announce(store, "run-2", "batch", NOON)
    assert [(launch.run_id, launch.mode) for launch in announced(store, NOON)] == [
        ("run-1", "streaming"),
        ("run-2", "batch"),
    ]
    for _ in range(2):
        withdraw(store, "run-1")
    assert [launch.run_id for launch in announced(store, NOON)] == ["run-2"]


def test_a_launch_whose_worker_died_is_told_for_a_while(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    announce(store, "run-1", "streaming", NOON, patience=SECOND)
    assert announced(store, NOON + SECOND)
    assert not announced(store, NOON + SECOND + 1)
