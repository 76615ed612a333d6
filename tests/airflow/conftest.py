"""One Airflow for the test run: a home, a database and a DAGs folder of its own, set before Airflow is imported."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

HOME = Path(tempfile.mkdtemp(prefix="airflow-home-"))
DAGS = HOME / "dags"
DAGS.mkdir()
atexit.register(shutil.rmtree, HOME, ignore_errors=True)

os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(DAGS),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{HOME}/airflow.db",
    AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS="False",
    AIRFLOW__LOGGING__BASE_LOG_FOLDER=str(HOME / "logs"),
)
STANDIN = Path(__file__).parent / "standin.py"


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's database, made once."""
    from airflow.utils import db

    db.initdb()


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("AIRFLOW__DATAFLOW__RUN_FOLDER", str(folder))
    return folder


@dataclass(frozen=True)
class Standin:
    """A stand-in for the engine behind ``spark-submit``: it owns, commits and obeys, by the real progress package.

    Attributes:
        folder: where it leaves a file per start, and looks for what it should do.
    """

    folder: Path

    def behave(self, how: str) -> None:
        """Say what drivers do.

        ``finish``; ``wait`` until asked to stop or told to ``finish``; ``deaf``: wait, whatever is asked; ``dawdle``
        before they own the state; ``leave`` without having published; ``fail``; ``hang`` without a word.
        """
        (self.folder / "behaviour").write_text(how)

    @contextmanager
    def lingering(self) -> Iterator[None]:
        """Drivers that have released the state go on living, as one does whose Spark is ending."""
        file = self.folder / "linger"
        file.touch()
        try:
            yield
        finally:
            file.unlink()

    def advance(self) -> None:
        """Have a driver that waits publish its next watermark."""
        (self.folder / "advance").touch()

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Every start: its pid, its command line, its environment."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("start-*.json"))]


@pytest.fixture
def standin(tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """A ``spark-submit`` on PATH that starts the stand-in instead of Spark; what it started is ended afterwards."""
    folder, binaries = tmp_path / "standin", tmp_path / "bin"
    folder.mkdir()
    binaries.mkdir()
    submit = binaries / "spark-submit"
    submit.write_text(f'#!/bin/sh\nexec "$PYSPARK_DRIVER_PYTHON" {STANDIN} {folder} "$@"\n')
    submit.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    connection = {"conn_type": "dataflow", "extra": {"state_root": str(tmp_path / "states")}}
    monkeypatch.setenv("AIRFLOW_CONN_DATAFLOW_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW__DATAFLOW__STOP_GRACE", "0.2")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    (tmp_path / "flights.py").write_text(PIPELINE)
    made = Standin(folder)
    made.behave("finish")
    yield made
    made.behave("finish")
    end_all(run_folder)


PIPELINE = """
from airflow_dataflow_provider import Count, Files, FixedWindows, Pipeline

departures = (
    Pipeline("departures", Files("flights/*.parquet", event_time="scheduled", arrival_time="departed"))
    .group_by_key_and_window(key="origin", window=FixedWindows("1h"))
    .combine(flights=Count())
)
"""


def end_all(run_folder: Path) -> None:
    """End every driver of these runs, and wait until they are gone."""
    from airflow_dataflow_provider.hooks.driver import DriverRun

    for run in map(DriverRun, run_folder.glob("*")):
        run.end()
        until(lambda run=run: not run.alive)


def state_of(url: str) -> str | None:
    """How the pipeline of this state stands; None before there is one."""
    from airflow_dataflow_provider.model.errors import StateError
    from airflow_dataflow_provider.progress.status.status import read_status

    try:
        return read_status(url).state
    except StateError:
        return None


def until(condition: Callable[[], Any], *, seconds: float = 30.0) -> Any:
    """Wait until a condition holds, and give what it gave."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


@pytest.fixture
def context(tmp_path: Path) -> dict[str, Any]:
    """What a task sees of its DAG run; for a hurried test, without an Airflow around it."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    dag_run = SimpleNamespace(conf={}, start_date=start, run_id="manual__1")
    ti = SimpleNamespace(dag_id="dag", run_id="manual__1", task_id="task", map_index=-1, max_tries=1, try_number=1)
    dag = SimpleNamespace(fileloc=str(tmp_path / "dag.py"))
    return {"ti": ti, "dag_run": dag_run, "dag": dag, "partition_key": None}
