"""The process tree of a real ``spark-submit``: a shell, a JVM, the driver, and workers in a process group of theirs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airflow_dataflow_provider.hooks import submission
from airflow_dataflow_provider.hooks.dataflow import DataflowHook
from tests.airflow.conftest import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DRIVER = """
import os, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

folder = Path(sys.argv[-1])
spark = SparkSession.builder.config("spark.driver.memory", "512m").getOrCreate()

conf = spark.sparkContext.getConf()
(folder / "token").write_text(conf.get("spark.test.token") + " " + conf.get("spark.test.default"))

def work(_):
    (folder / f"worker-{os.getpid()}").touch()
    (folder / f"daemon-{os.getppid()}").touch()
    time.sleep(3600)

(folder / f"driver-{os.getpid()}").touch()
spark.sparkContext.parallelize([1, 2], 2).foreach(work)
"""


def session_of(pid: int) -> set[int]:
    session, members = os.getsid(pid), set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                members.add(int(entry.name))
        except ProcessLookupError:
            continue
    return members


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes through /proc")
def test_ending_a_run_leaves_neither_jvm_nor_python_behind(
    tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    monkeypatch.setattr(submission, "APPLICATION", str(driver))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    monkeypatch.setenv("AIRFLOW__DATAFLOW__STOP_GRACE", "0")
    # Beside this interpreter, not on PATH.
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    properties = {"spark.ui.enabled": False, "spark.test.token": "t0ken"}
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.test.default yes\nspark.test.token no\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    hook = DataflowHook()
    run = hook.run("run")
    assert hook.launch(
        run, hook.submission("flights:departures", [str(tmp_path)], name="run", run=run, properties=properties)
    )
    until(lambda: len(list(tmp_path.glob("worker-*"))) == 2 or not run.alive, seconds=120)
    assert run.alive, run.error()
    (driver_pid,) = (int(path.name.partition("-")[2]) for path in tmp_path.glob("driver-*"))
    processes = session_of(driver_pid)
    groups = {os.getpgid(pid) for pid in processes}
    # Nobody sees the value of a property in a list of processes; and Spark's own defaults are still read.
    assert not [pid for pid in processes if b"t0ken" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert (tmp_path / "token").read_text() == "t0ken yes"
    # The guardian, the JVM, the driver, the daemon and two workers at least; and not in one group.
    assert len(processes) >= 6
    assert len(groups) >= 3
    run.end()
    until(lambda: not run.alive)
    until(lambda: not [pid for pid in processes if Path(f"/proc/{pid}").exists()])
