"""The engine on a standalone cluster: state goes where Spark puts it, and outlives the worker that held it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.cluster.standalone import StandaloneCluster, standalone_cluster
from tests.spark.events import as_truth, events, truth, write_files

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

FILES, ROWS = 24, 12_000


def drive(cluster: StandaloneCluster, folder: Path, mode: str) -> subprocess.Popen[str]:
    """A driver of its own on the cluster, with two executors of one core."""
    command = [
        sys.executable, "-m", "airflow_dataflow_provider", "run", "tests.crash.pipelines:killed", "--mode", mode,
        "--state", str(folder / "state"), "--master", cluster.url, "--conf", "spark.ui.enabled=false",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=512m", "--conf",
        "spark.executor.cores=1", "--conf", "dataflow.state.partitions=4",
        "--conf", "dataflow.driver.rows=0",
    ]  # fmt: skip
    environment = os.environ | {"CRASH_SOURCE": str(folder / "source"), "PYSPARK_PYTHON": sys.executable}
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def committed(folder: Path) -> int:
    """How many epochs there are."""
    last = EpochLog(Store.open(str(folder / "state"))).last_record()
    return 0 if last is None else last.epoch + 1


def homes(folder: Path) -> dict[str, set[str]]:
    """The worker processes that have held each state partition."""
    log = EpochLog(Store.open(str(folder / "state")))
    found: dict[str, set[str]] = {}
    for record in log.records():
        prepared = log.prepared(record.epoch)
        assert prepared is not None
        for partition, worker in prepared.details["workers"].items():
            found.setdefault(partition, set()).add(worker)
    return found


def test_keyed_state_goes_on_when_its_partition_moves_and_when_a_worker_is_killed(tmp_path: Path) -> None:
    frame = events(ROWS)
    write_files(tmp_path / "source", frame, files=FILES)
    with standalone_cluster(workers=2) as cluster:
        driver = drive(cluster, tmp_path, "micro-batch")
        while driver.poll() is None and committed(tmp_path) < 6:
            time.sleep(0.05)
        assert driver.poll() is None, driver.communicate()[0]
        assert any(len(workers) > 1 for workers in homes(tmp_path).values()), "no partition has moved"
        cluster.kill(0)
        said, _ = driver.communicate(timeout=240)
        assert driver.returncode == 0, said
        last = drive(cluster, tmp_path, "batch")
        said, _ = last.communicate(timeout=240)
        assert last.returncode == 0, said
    status = read_status(str(tmp_path / "state"))
    current = PaneLogReader(str(tmp_path / "state")).current()
    assert status.rows.read == ROWS
    assert as_truth(current).equals(truth(frame))
