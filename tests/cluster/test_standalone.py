"""What a test run started is gone after it. A cluster at work: ``tests/airflow/test_on_a_cluster.py``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow

CLUSTER_UNTIL_KILLED = """
from tests.cluster.standalone import standalone_cluster
with standalone_cluster(workers=1) as cluster:
    print(cluster.workers[0].pid, cluster.folder, flush=True)
    input()
"""


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
