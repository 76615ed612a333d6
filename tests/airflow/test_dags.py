"""A real DAG file, parsed and run by Airflow: templates, XComs, deferral, contexts as they really are."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pendulum
import pytest

from tests.airflow.conftest import DAGS, PIPELINE, Standin, state_of, until

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_database")]

FILE = """
from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.operators.stop import DataflowStopOperator
from airflow_dataflow_provider.operators.stream import DataflowStreamOperator
from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

hourly = CronDataIntervalTimetable("@hourly", "UTC")
pipeline = "flights_of_dag.py:departures"

with DAG("gated", schedule=hourly, start_date=None, catchup=False):
    stream = DataflowStreamOperator(task_id="stream", pipeline=pipeline, poll_interval=0.02)
    complete = WatermarkSensor(
        task_id="complete", pipeline=pipeline, percentile=97, target="{{ data_interval_end }}", poke_interval=0.1,
        deferrable=True,
    )
    stop = DataflowStopOperator(task_id="stop", pipeline=pipeline, poll_interval=0.02)
    stream >> complete >> stop

with DAG("nightly", schedule=hourly, start_date=None, catchup=False):
    DataflowBatchOperator(task_id="batch", pipeline=pipeline, conf={"spark.app": "{{ dag.dag_id }}"})

with DAG("often", schedule=hourly, start_date=None, catchup=False, max_active_runs=1):
    DataflowMicroBatchOperator(task_id="micro", pipeline=pipeline, poll_interval=0.02)
"""


@pytest.fixture(scope="module")
def dags() -> Iterator[dict[str, Any]]:
    from airflow.dag_processing.dagbag import DagBag

    file, pipeline = DAGS / "dataflow_dags.py", DAGS / "flights_of_dag.py"
    file.write_text(FILE)
    pipeline.write_text(PIPELINE)
    bag = DagBag(dag_folder=str(file))
    assert bag.import_errors == {}
    yield dict(bag.dags)
    file.unlink()
    pipeline.unlink()


def run(dag: Any, hour: int) -> Any:
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Airflow's own, from the machinery of dag.test()
            return dag.test(logical_date=pendulum.datetime(2026, 1, 1, hour), use_executor=False)
    finally:
        # A task run in this process leaves a handler behind that ends nothing.
        signal.signal(signal.SIGTERM, on_term)


def result(dag_run: Any, task_id: str) -> Any:
    ti = dag_run.get_task_instance(task_id)
    assert ti.state == "success", (task_id, ti.state)
    return ti.xcom_pull(task_ids=task_id)


def has_deferred(dag_id: str, task_id: str) -> bool:
    """Whether the task has gone to the triggerer: what it is to go on with is in the database."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        query = select(TaskInstance.next_method).where(TaskInstance.dag_id == dag_id, TaskInstance.task_id == task_id)
        return session.scalar(query) == "execute_complete"


def test_a_stream_gates_what_comes_after_it_through_the_triggerer(
    dags: dict[str, Any], standin: Standin, tmp_path: Path
) -> None:
    standin.behave("wait")

    def advance_when_deferred() -> None:
        try:
            until(lambda: has_deferred("gated", "complete"))
        finally:
            standin.advance()  # whatever happens: dag.test() waits for it

    beside = threading.Thread(target=advance_when_deferred)
    beside.start()
    dag_run = run(dags["gated"], 1)
    beside.join()
    assert dag_run.state == "success"
    assert len(standin.starts) == 1
    assert result(dag_run, "stream")["state"] == "running"
    complete = result(dag_run, "complete")
    assert (complete["answer"], complete["watermark"], complete["target"]) == (
        "reached", "2026-01-01T02:00:00Z", "2026-01-01T01:00:00Z",
    )  # fmt: skip
    assert result(dag_run, "stop")["state"] == "stopped"
    assert state_of(str(tmp_path / "states" / "departures")) == "stopped"


def test_a_batch_takes_the_data_interval_of_its_dag_run(dags: dict[str, Any], standin: Standin) -> None:
    dag_run = run(dags["nightly"], 2)
    assert dag_run.state == "success"
    assert result(dag_run, "batch")["interval"] == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]
    (start,) = standin.starts
    assert start["properties"] == "spark.app=nightly\n"


def test_micro_batches_of_two_dag_runs_go_on_with_one_state(dags: dict[str, Any], standin: Standin) -> None:
    assert [result(run(dags["often"], hour), "micro")["epoch"] for hour in (3, 4)] == [0, 1]


def test_the_same_dag_run_again_computes_anew(dags: dict[str, Any], standin: Standin) -> None:
    run(dags["nightly"], 5)
    run(dags["nightly"], 5)
    assert len(standin.starts) == 2
