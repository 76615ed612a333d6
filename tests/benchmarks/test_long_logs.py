"""A state that has lived for long costs as many calls to its store as a young one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.local_store import LocalStore
from airflow_dataflow_provider.progress.store.store import Store
from tests.benchmarks.long_logs import make_state, measure_long_logs, start_driver

YOUNG, OLD = 40, 3_000
"""At both, as many epochs have passed since the last sweep, and since delays were logged whole."""
CALLS = ("read", "write", "create", "add", "list", "exists", "delete", "sync")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    for epochs in (YOUNG, OLD):
        make_state(folder, epochs)
    return folder


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """The calls to local stores, by method and first folder; not those of a heartbeat's thread."""
    calls: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for name in CALLS:
            original: Callable[..., Any] = getattr(LocalStore, name)

            def call(
                self: LocalStore, path: str, *args: Any, _name: str = name, _call: Any = original, **named: Any
            ) -> Any:
                if threading.current_thread() is threading.main_thread():
                    calls[f"{_name} {path.partition('/')[0]}"] += 1
                return _call(self, path, *args, **named)

            patch.setattr(LocalStore, name, call)
        yield calls


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda _, state: read_status(str(state)), id="status"),
        pytest.param(lambda _, state: EpochLog(Store.open(state)).last_record(), id="the last record"),
        pytest.param(lambda _, state: EpochLog(Store.open(state)).open_plan(), id="the open plan"),
        pytest.param(start_driver, id="a driver that starts and finds nothing to read"),
    ],
)
def test_three_thousand_epochs_cost_as_many_calls_as_forty(
    look: Callable[[Path, Path], object], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for epochs in (YOUNG, OLD):
        with counted(monkeypatch) as calls:
            look(folder, folder / f"state-{epochs}")
        found.append(calls)
    assert found[0] == found[1]
    assert found[0].total() > 1


def test_the_old_state_has_an_archive_and_nothing_is_read_again(folder: Path) -> None:
    state = folder / f"state-{OLD}"
    assert "000000000.jsonl.gz" in Store.open(state).list("epochs")
    log = EpochLog(Store.open(state))
    last = log.last_record()
    assert last is not None
    assert last.totals.read == sum(record.rows.read for record in log.records())
    start_driver(folder, state)
    after = EpochLog(Store.open(state)).last_record()
    assert after is not None
    assert after.totals.read == last.totals.read


def test_the_figures_are_ratios_to_the_shortest(tmp_path: Path) -> None:
    rows = measure_long_logs(tmp_path, (20, 30))
    assert [row.epochs for row in rows] == [20, 30]
    assert (rows[0].status_ratio, rows[0].start_ratio) == (1, 1)
    assert rows[1].status_ratio == pytest.approx(rows[1].status_s / rows[0].status_s, abs=0.01)
    assert rows[1].start_ratio == pytest.approx(rows[1].start_s / rows[0].start_s, abs=0.01)
    assert rows[1].log_bytes > rows[0].log_bytes
