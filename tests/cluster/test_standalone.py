from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from airflow_dataflow_provider.spark.running.java import ensure_java
from tests.cluster.standalone import StandaloneCluster, standalone_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

# A barrier stage runs all its tasks at once, and each executor has one core: two tasks are two executors.
JOB = """
import json, os, sys
import pyarrow as pa
from pyspark.sql import SparkSession

def where(batches):
    total = sum(sum(batch.column("id").to_pylist()) for batch in batches)
    yield pa.RecordBatch.from_pydict({"total": [total], "tmp": [os.environ["TMPDIR"]]})

spark = (SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
         .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
         .config("spark.executor.memory", "512m").config("spark.executor.cores", "1").getOrCreate())
rows = spark.range(0, 1000, 1, 2).mapInArrow(where, "total long, tmp string", barrier=True).collect()
spark.stop()
print(json.dumps([[row.total, row.tmp] for row in rows]))
"""

CLUSTER_UNTIL_KILLED = """
from tests.cluster.standalone import standalone_cluster
with standalone_cluster(workers=1) as cluster:
    print(cluster.workers[0].pid, cluster.folder, flush=True)
    input()
"""


def test_a_job_runs_on_both_workers(cluster: StandaloneCluster) -> None:
    driver = subprocess.run(
        [sys.executable, "-c", JOB, cluster.url],
        env=ensure_java() | {"PYSPARK_PYTHON": sys.executable},
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert driver.returncode == 0, driver.stderr + cluster.logs()
    answer = json.loads(driver.stdout)
    assert sum(total for total, _ in answer) == sum(range(1000))
    assert {Path(tmp) for _, tmp in answer} == {worker.folder / "tmp" for worker in cluster.workers}


def test_a_killed_worker_is_gone_and_nothing_outlives_the_cluster() -> None:
    with standalone_cluster(workers=2) as cluster:
        first, second = cluster.workers
        assert first.processes()
        cluster.kill(0)
        assert not first.processes()
        assert second.processes()
        assert cluster.alive() == 1
    assert not second.processes()
    assert not cluster.folder.exists()


def test_nothing_outlives_a_test_run_that_is_killed() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", CLUSTER_UNTIL_KILLED],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout
    pid, folder = run.stdout.readline().split()
    worker = psutil.Process(int(pid))
    run.kill()
    run.communicate()
    worker.wait(timeout=60)
    shutil.rmtree(folder)
