"""What a DAG file costs the scheduler: modules are counted, not milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import airflow.sdk
from airflow.sdk import DAG, BaseOperator, BaseSensorOperator, BaseHook, conf, PokeReturnValue
with DAG("before"):
    BaseOperator(task_id="x")
before = set(sys.modules)
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.operators.stop import DataflowStopOperator
from airflow_dataflow_provider.operators.stream import DataflowStreamOperator
from airflow_dataflow_provider.sensors.watermark import WatermarkSensor
with DAG("dag"):
    p = "flights:departures"
    DataflowBatchOperator(task_id="batch", pipeline=p) >> DataflowMicroBatchOperator(task_id="micro", pipeline=p)
    stream = DataflowStreamOperator(task_id="stream", pipeline=p)
    stream >> WatermarkSensor(task_id="complete", pipeline=p, percentile=97, target="{{ data_interval_end }}")
    stream >> DataflowStopOperator(task_id="stop", pipeline=p)
print(json.dumps(sorted(set(sys.modules) - before)))
"""
HEAVY = {
    "pyspark",
    "pandas",
    "polars",
    "numpy",
    "pyarrow",
    "fsspec",
    "datasketches",
    "rich",
    "grpc",
    "py4j",
    "requests",
}


def test_a_dag_file_with_every_operator_imports_nothing_heavy() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    modules = json.loads(answer.stdout.splitlines()[-1])
    assert "airflow_dataflow_provider.sensors.watermark" in modules
    assert sorted({module.partition(".")[0] for module in modules} & HEAVY) == []
    assert [module for module in modules if module.startswith("airflow.providers.")] == []
    # Nothing of the driver's side, and nothing that only a running task needs.
    for running in ("spark", "progress", "hooks.dataflow", "hooks.submission", "hooks.driver", "triggers.watermark"):
        assert f"airflow_dataflow_provider.{running}" not in modules


def test_every_module_beyond_airflows_is_ours_or_small() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    others = [m for m in json.loads(answer.stdout.splitlines()[-1]) if not m.startswith("airflow_dataflow_provider")]
    assert len(others) < 20, others
