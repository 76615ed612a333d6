"""The operator, a Spark connection and a standalone cluster: the real engine, and a worker that is killed.

State goes where Spark puts it, and outlives the worker that held it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.airflow.conftest import until
from tests.cluster.standalone import standalone_cluster
from tests.spark.events import as_truth, events, truth, write_files

if TYPE_CHECKING:
    from airflow.sdk import Context

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

ROWS, FILES = 12_000, 24
PIPELINE = """
from pathlib import Path
from tests.spark.events import pipeline

minutes = pipeline(Path({source!r}), lateness="1h", max_files_per_epoch=1)
"""


@pytest.fixture
def without_airflow(tmp_path: Path) -> Path:
    """An interpreter with everything but Airflow: any import of it ends the driver."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "airflow.py").write_text("raise SystemExit('a driver has imported Airflow')\n")
    python = tmp_path / "python"
    root = Path(__file__).parents[2]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}:{root}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def homes(state: Path) -> list[set[int]]:
    """The worker processes that have held each state partition."""
    log = EpochLog(Store.open(str(state)))
    found: dict[str, set[int]] = {}
    for record in log.records():
        prepared = log.prepared(record.epoch)
        assert prepared is not None
        assert prepared.result is not None
        for partition, worker in prepared.result.workers.items():
            found.setdefault(str(partition), set()).add(int(worker.rpartition(":")[2]))
    return [*found.values()]


def committed(state: Path) -> int:
    """The number of epochs."""
    last = EpochLog(Store.open(str(state))).last_record()
    return 0 if last is None else last.epoch + 1


def test_the_operator_runs_on_a_cluster_through_the_spark_connection_and_a_worker_is_killed(
    tmp_path: Path, run_folder: Path, context: Context, without_airflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(ROWS)
    write_files(source, frame, files=FILES)
    (tmp_path / "minutes.py").write_text(PIPELINE.format(source=str(source)))
    connection = {"conn_type": "dataflow", "extra": {"python": str(without_airflow)}}
    monkeypatch.setenv("AIRFLOW_CONN_DATAFLOW_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with standalone_cluster(workers=2) as cluster:
        host, _, port = cluster.url.removeprefix("spark://").partition(":")
        spark = {"conn_type": "spark", "host": f"spark://{host}", "port": int(port), "extra": {"deploy-mode": "client"}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))
        options: dict[str, Any] = {
            "pipeline": f"{tmp_path}/minutes.py:minutes",
            "state": str(state),
            "poll_interval": 0.2,
            "conf": {
                "spark.driver.host": "127.0.0.1",
                "spark.ui.enabled": False,
                "spark.executor.memory": "512m",
                "spark.executor.cores": 1,
                "dataflow.state.partitions": 4,
                "dataflow.driver.rows": 0,
            },
        }
        done: list[Any] = []

        def run() -> None:
            try:
                done.append(DataflowMicroBatchOperator(task_id="task", **options).execute(context))
            except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
                done.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: done or committed(state) >= 6, seconds=120)
        assert not done, done
        first, second = cluster.workers
        held = homes(state)
        assert any(len(processes) > 1 for processes in held), "no partition has moved"
        assert all(set().union(*held) & {*worker.processes()} for worker in cluster.workers), (
            "a worker had nothing to do"
        )
        cluster.kill(1)
        assert first.processes()
        assert not second.processes()
        assert cluster.alive() == 1
        thread.join(timeout=240)
        assert done, "the run did not end"
        if isinstance(done[0], Exception):
            raise done[0]
        owner = read_status(str(state)).owner
        assert done[0]["rows"]["in"] == ROWS
        assert owner is not None
        assert owner.application_id is not None
        assert owner.application_id.startswith("app-"), "it ran on the cluster, not in the driver"
        context["ti"].task_id = "end"  # type: ignore[union-attr]
        DataflowBatchOperator(task_id="end", whole_input=True, **options).execute(context)
    assert not first.processes()
    assert not cluster.folder.exists()
    assert read_status(str(state)).rows.read == ROWS
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))
