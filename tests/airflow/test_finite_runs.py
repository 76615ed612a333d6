from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.hooks.driver import DriverRun
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.finite import FiniteRunOperator
from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.progress.status.status import read_status
from tests.airflow.conftest import Standin, state_of, until
from tests.airflow.test_driver_run import lives

Context = dict[str, Any]


def batch(**options: Any) -> DataflowBatchOperator:
    given = {"pipeline": "flights:departures", "whole_input": True, "poll_interval": 0.02}
    return DataflowBatchOperator(task_id="task", **given | options)


def micro_batch(**options: Any) -> DataflowMicroBatchOperator:
    return DataflowMicroBatchOperator(task_id="task", pipeline="flights:departures", poll_interval=0.02, **options)


def cleared(context: Context) -> Context:
    """The same task instance after a clear: max_tries is what changes."""
    ti = context["ti"]
    return context | {"ti": type(ti)(**vars(ti) | {"max_tries": ti.max_tries + 2})}


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "states" / "departures")


@pytest.fixture
def driver_of(run_folder: Path) -> Callable[[Context], DriverRun]:
    return lambda context: DriverRun(run_folder / str(RunId.of(context)))


def in_background(operator: FiniteRunOperator, context: Context) -> tuple[threading.Thread, list[Any]]:
    """Run a task as a worker would, beside the test; its result or error is in the list afterwards."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(operator.execute(context))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, outcome


def test_a_batch_runs_over_its_interval_and_returns_the_status(standin: Standin, context: Context, state: str) -> None:
    operator = batch(whole_input=False, data_from="2026-01-01T00:00:00Z", data_to="2026-01-02T00:00:00Z")
    status = operator.execute(context)
    assert status == read_status(state).to_json()
    assert status["state"] == "completed"
    assert (status["rows"]["in"], status["rows"]["late"]) == (7, 1)
    (start,) = standin.starts
    assert start["argv"][start["argv"].index("run") :] == [
        "run", "flights:departures", "--mode", "batch", "--state", state, "--run-id", str(RunId.of(context)),
        "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z",
    ]  # fmt: skip
    json.dumps(status)


def test_the_policies_of_a_batch_reach_its_driver_and_no_others_do(standin: Standin, context: Context) -> None:
    batch(input_share=0.95, processing_time_at_end_of_input="IGNORE", allow_processing_time=False).execute(context)
    (start,) = standin.starts
    assert start["argv"][start["argv"].index("--run-id") + 2 :] == [
        "--processing-time-at-end-of-input", "ignore", "--no-allow-processing-time", "--input-share", "0.95",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"input_share": 95}, "SUBMIT_POLICY"),
        ({"input_share": 0.95, "whole_input": False}, "SUBMIT_INPUT_SHARE"),
        ({"shuffle_mode": "fast"}, "SUBMIT_POLICY"),
        ({"processing_time_at_end_of_input": "sometimes"}, "SUBMIT_POLICY"),
    ],
)
def test_a_policy_that_means_nothing_is_refused_while_the_dag_is_parsed(options: dict[str, Any], code: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        batch(**options)
    assert refusal.value.code == code


def test_a_batch_without_an_interval_starts_nothing_and_is_not_tried_again(standin: Standin, context: Context) -> None:
    with pytest.raises(AirflowFailException, match="SUBMIT_NO_INTERVAL"):
        batch(whole_input=False).execute(context)
    assert standin.starts == []


def test_micro_batches_go_on_with_one_state(standin: Standin, context: Context) -> None:
    first = micro_batch().execute(context)
    context["ti"].run_id = "manual__2"
    second = micro_batch().execute(context)
    assert first
    assert second
    assert (first["epoch"], second["epoch"]) == (0, 1)
    assert second["rows"]["in"] == 14


def test_the_drivers_words_are_in_the_tasks_error_and_a_useless_retry_is_spared(
    standin: Standin, context: Context
) -> None:
    micro_batch().execute(context)
    context["ti"].task_id = "another"
    module = standin.folder.parent / "flights.py"
    module.write_text(module.read_text().replace('Pipeline("departures"', 'Pipeline("arrivals"'))
    words = r"(?s)exit status 3.*\[STATE_OTHER_PIPELINE\].*departures.*arrivals"
    with pytest.raises(AirflowFailException, match=words):
        micro_batch().execute(context)
    assert len(standin.starts) == 2


def test_a_failure_that_may_pass_is_left_to_the_retries(standin: Standin, context: Context) -> None:
    standin.behave("fail")
    with pytest.raises(AirflowException, match=r"exit status 5.*\n.*\[DATA_REJECTS\] too many") as caught:
        micro_batch().execute(context)
    assert not isinstance(caught.value, AirflowFailException)
    standin.behave("finish")
    assert micro_batch().execute(context)
    assert len(standin.starts) == 2


def test_a_retry_finds_the_driver_of_the_attempt_whose_worker_died(standin: Standin, context: Context) -> None:
    standin.behave("wait")
    die_while_running(standin, context)
    thread, outcome = in_background(batch(), context)
    standin.behave("finish")
    thread.join()
    assert outcome[0]["state"] == "completed"
    assert len(standin.starts) == 1


def test_a_retry_finds_the_result_of_a_driver_that_ended_while_nobody_looked(
    standin: Standin, context: Context, driver_of: Callable[[Context], DriverRun]
) -> None:
    standin.behave("wait")
    die_while_running(standin, context)
    standin.behave("finish")
    until(lambda: not driver_of(context).alive)
    status = batch().execute(context)
    assert status
    assert status["state"] == "completed"
    assert len(standin.starts) == 1


def test_a_retry_on_another_machine_finds_the_driver_by_its_state(
    standin: Standin, context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standin.behave("wait")
    die_while_running(standin, context)
    # Another machine has another run folder; the state is what both see.
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AIRFLOW__DATAFLOW__RUN_FOLDER", str(tmp_path / "elsewhere"))
        thread, outcome = in_background(batch(), context)
        standin.behave("finish")
        thread.join()
        assert outcome[0]["state"] == "completed"
        assert batch().execute(context) == outcome[0]
    assert len(standin.starts) == 1


def test_a_retry_after_a_failure_elsewhere_starts_anew(
    standin: Standin, context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standin.behave("fail")
    with pytest.raises(AirflowException):
        batch().execute(context)
    standin.behave("finish")
    monkeypatch.setenv("AIRFLOW__DATAFLOW__RUN_FOLDER", str(tmp_path / "runs" / "elsewhere"))
    status = batch().execute(context)
    assert status
    assert status["state"] == "completed"


def test_a_clear_computes_anew_and_a_dag_run_of_the_same_name_too(standin: Standin, context: Context) -> None:
    batch().execute(context)
    batch().execute(cleared(context))
    assert len(standin.starts) == 2
    context["dag_run"].start_date = context["dag_run"].start_date.replace(day=2)
    batch().execute(context)
    assert len(standin.starts) == 3


def test_a_clear_takes_over_from_the_driver_that_outlived_the_cleared_task(
    standin: Standin, context: Context, driver_of: Callable[[Context], DriverRun]
) -> None:
    standin.behave("wait")
    die_while_running(standin, context)
    orphan = standin.starts[0]["pid"]
    thread, outcome = in_background(batch(), cleared(context))
    until(lambda: len(standin.starts) == 2)
    until(lambda: not lives(orphan))
    standin.behave("finish")
    thread.join()
    assert "--take-over" in standin.starts[1]["argv"]
    assert outcome[0]["state"] == "completed"
    assert outcome[0]["owner"]["run_id"] == str(RunId.of(cleared(context)))


def test_a_batch_that_ended_without_its_work_is_not_done_and_its_retry_does_it(
    standin: Standin, context: Context
) -> None:
    standin.behave("leave")
    with pytest.raises(AirflowException, match="before it had read its input"):
        batch().execute(context)
    standin.behave("finish")
    status = batch().execute(context)
    assert status
    assert status["state"] == "completed"


def test_a_killed_task_leaves_no_driver_behind(
    standin: Standin, context: Context, driver_of: Callable[[Context], DriverRun]
) -> None:
    standin.behave("hang")
    operator = batch()
    thread, outcome = in_background(operator, context)
    child = int(until(lambda: (standin.folder / "child").exists() and (standin.folder / "child").read_text()))
    operator.on_kill()
    thread.join()
    assert "was killed" in str(outcome[0])
    until(lambda: not driver_of(context).alive)
    assert not lives(standin.starts[0]["pid"])
    until(lambda: not lives(child))


def test_the_driver_of_a_killed_task_is_told_at_once_and_not_after_its_grace(
    standin: Standin,
    context: Context,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
    driver_of: Callable[[Context], DriverRun],
) -> None:
    monkeypatch.setenv("AIRFLOW__DATAFLOW__STOP_GRACE", "60")
    standin.behave("wait")
    operator = micro_batch()
    thread, _ = in_background(operator, context)
    until(lambda: state_of(state) == "running")
    operator.on_kill()
    thread.join()
    until(lambda: not driver_of(context).alive)
    assert driver_of(context).exit_code == 6
    status = read_status(state)
    assert (status.state, status.detail) == ("failed", "[RUN_INTERRUPTED] the run was interrupted")


def test_a_retry_waits_for_the_ending_driver_of_a_killed_attempt_and_starts_anew(
    standin: Standin, context: Context, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DATAFLOW__STOP_GRACE", "60")
    standin.behave("deaf")
    operator = batch()
    killed, _ = in_background(operator, context)
    until(lambda: state_of(state) == "running")
    operator.on_kill()
    killed.join()
    retry = batch()
    thread, outcome = in_background(retry, context)
    until(lambda: retry._run is not None)
    assert len(standin.starts) == 1
    standin.behave("finish")
    thread.join()
    assert outcome[0]["state"] == "completed"
    assert len(standin.starts) == 2


def test_a_killed_task_stops_no_driver_but_its_own(standin: Standin, context: Context, state: str) -> None:
    standin.behave("wait")
    first, outcome = in_background(micro_batch(), dict(context))
    other = cleared(context)
    other["ti"].run_id = "manual__2"
    operator = micro_batch()
    until(lambda: state_of(state) == "running")
    operator._run = operator.hook.run(str(RunId.of(other)))
    operator.on_kill()
    assert not list(Path(state).glob("requests/*"))
    standin.behave("finish")
    first.join()
    assert outcome[0]["state"] == "stopped"


def test_the_driver_runs_where_airflow_cannot_be_imported(
    standin: Standin, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = tmp_path / "driver-venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    # All that a driver needs, and no Airflow: every package of this environment but that one.
    here = Path(next(path for path in sys.path if path.endswith("site-packages")))
    for entry in here.iterdir():
        if entry.name.partition("-")[0] not in {"airflow", "apache_airflow", "apache_airflow_core"}:
            (site / entry.name).symlink_to(entry)
    connection = {
        "conn_type": "dataflow",
        "extra": {"state_root": str(tmp_path / "states"), "python": f"{venv}/bin/python"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_DATAFLOW_DEFAULT", json.dumps(connection))
    status = batch().execute(context)
    assert status
    assert status["state"] == "completed"
    (start,) = standin.starts
    assert start["prefix"] == str(venv)
    assert start["airflow"] is False


def die_while_running(standin: Standin, context: Context) -> None:
    """An attempt whose worker is killed without a word while its driver runs."""
    ti = dict(vars(context["ti"]))
    program = f"""
import sys
from datetime import datetime
from types import SimpleNamespace
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
start = datetime.fromisoformat({context["dag_run"].start_date.isoformat()!r})
context = dict(
    ti=SimpleNamespace(**{ti!r}), dag_run=SimpleNamespace(conf={{}}, start_date=start),
    dag=SimpleNamespace(fileloc={context["dag"].fileloc!r}), partition_key=None,
)
DataflowBatchOperator(
    task_id="task", pipeline="flights:departures", whole_input=True, poll_interval=0.02
).execute(context)
"""
    worker = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], start_new_session=True)
    try:
        until(lambda: state_of(str(standin.folder.parent / "states" / "departures")) == "running")
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
