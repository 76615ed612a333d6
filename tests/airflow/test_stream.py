from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.model.errors import DefinitionError, OwnershipError
from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.operators.stop import DataflowStopOperator
from airflow_dataflow_provider.operators.stream import DataflowStreamOperator
from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from tests.airflow.conftest import Standin, state_of, until
from tests.airflow.test_driver_run import lives
from tests.airflow.test_finite_runs import in_background
from tests.progress.samples import claim, make_identity

Context = dict[str, Any]


def stream(**options: Any) -> DataflowStreamOperator:
    given = {"pipeline": "flights:departures", "poll_interval": 0.02}
    return DataflowStreamOperator(task_id="task", **given | options)


def stop(**options: Any) -> DataflowStopOperator:
    return DataflowStopOperator(task_id="stop", **{"pipeline": "flights:departures", "poll_interval": 0.02} | options)


def looked_at(operator: DataflowStreamOperator) -> None:
    """Wait until the task has looked at the state again, whatever it has seen before."""
    looks: list[str] = []
    status = operator.hook.status
    operator.hook.status = lambda url: (looks.append(url), status(url))[1]  # type: ignore[method-assign]
    until(lambda: len(looks) > 1)


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "states" / "departures")


@pytest.fixture
def waiting(standin: Standin) -> Standin:
    standin.behave("wait")
    return standin


def test_the_stream_is_started_and_the_task_ends_when_it_runs(waiting: Standin, context: Context, state: str) -> None:
    status = stream().execute(context)
    assert status
    assert (status["state"], status["mode"]) == ("running", "streaming")
    assert status["owner"]["run_id"] == str(RunId.of(context))
    assert state_of(state) == "running"


def test_a_stream_that_runs_is_left_alone(waiting: Standin, context: Context) -> None:
    stream().execute(context)
    stream().execute(context)
    context["ti"].max_tries = 5
    context["ti"].run_id = "manual__2"
    status = stream().execute(context)
    assert status
    assert status["state"] == "running"
    assert len(waiting.starts) == 1


def test_killing_the_task_does_not_touch_a_stream_that_runs(waiting: Standin, context: Context, state: str) -> None:
    operator = stream()
    operator.execute(context)
    operator.on_kill()
    assert pending(Store.open(state)) == []
    run = operator.hook.run(str(RunId.of(context)))
    assert run.alive
    waiting.behave("finish")
    until(lambda: not run.alive)
    # Nobody told its guardian to end it: it ran on until it had finished.
    assert json.loads((run.folder / "exit.json").read_text()) | {"ended_at": 0} == {
        "code": 0,
        "told_to_end": False,
        "ended_at": 0,
    }


def test_a_stream_that_was_stopped_is_started_again(waiting: Standin, context: Context, state: str) -> None:
    stream().execute(context)
    assert stop().execute(context)["state"] == "stopped"  # type: ignore[index]
    status = stream().execute(context)
    assert status
    assert status["state"] == "running"
    assert status["epoch"] == 2
    assert len(waiting.starts) == 2


def test_a_stream_whose_stopped_driver_still_ends_is_started_again_once_it_has_ended(
    waiting: Standin, context: Context
) -> None:
    stream().execute(context)
    with waiting.lingering():
        assert stop().execute(context)["state"] == "stopped"  # type: ignore[index]
        again = stream()
        thread, outcome = in_background(again, context)
        looked_at(again)
        assert len(waiting.starts) == 1
    thread.join()
    assert outcome[0]["state"] == "running"
    assert len(waiting.starts) == 2


def test_a_retry_does_not_take_the_ending_driver_of_a_killed_attempt_for_the_stream(
    standin: Standin, context: Context, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DATAFLOW__STOP_GRACE", "60")
    standin.behave("dawdle")
    operator = stream()
    killed, outcome = in_background(operator, context)
    until(lambda: standin.starts)
    operator.on_kill()
    killed.join()
    assert "was killed" in str(outcome[0])
    standin.behave("wait")
    until(lambda: state_of(state) == "running")
    retry = stream()
    thread, started = in_background(retry, context)
    looked_at(retry)
    owner = read_status(state).owner
    assert owner
    assert owner.process.interrupt()
    thread.join()
    assert started[0]["owner"]["token"] == 2
    assert len(standin.starts) == 2


def test_two_tasks_that_start_the_stream_at_once_make_one_stream_and_both_succeed(
    waiting: Standin, context: Context
) -> None:
    another = context | {"ti": type(context["ti"])(**vars(context["ti"]) | {"run_id": "manual__2"})}
    started = [in_background(stream(), which) for which in (context, another)]
    for thread, _ in started:
        thread.join()
    runs = [outcome[0]["owner"]["run_id"] for _, outcome in started]
    assert runs[0] == runs[1]
    # The driver that came second may still be ending when the first one's stream runs.
    until(lambda: sum(lives(start["pid"]) for start in waiting.starts) == 1)


def test_a_running_stream_of_another_definition_is_an_error_that_says_what_to_do(
    waiting: Standin, context: Context, tmp_path: Path
) -> None:
    stream().execute(context)
    module = tmp_path / "flights.py"
    module.write_text(module.read_text().replace('"1h"', '"2h"'))
    context["ti"].run_id = "manual__2"
    with pytest.raises(AirflowFailException, match=r"(?s)STATE_DEFINITION_CHANGED.*new state URL"):
        stream().execute(context)
    assert len(waiting.starts) == 1


def test_a_pipeline_that_cannot_be_loaded_is_an_error_in_pythons_words(
    waiting: Standin, context: Context, tmp_path: Path
) -> None:
    stream().execute(context)
    (tmp_path / "flights.py").write_text("import no_such_thing")
    context["ti"].run_id = "manual__2"
    with pytest.raises(AirflowFailException, match=r"(?s)SUBMIT_PIPELINE_LOAD.*no_such_thing"):
        stream().execute(context)


def test_a_stream_waits_for_a_run_of_another_mode_on_the_state_and_for_so_long_only(
    waiting: Standin, context: Context, state: str
) -> None:
    waiting.behave("wait")
    micro = DataflowMicroBatchOperator(task_id="micro", pipeline="flights:departures", poll_interval=0.02)
    thread, _ = in_background(micro, dict(context))
    until(lambda: state_of(state) == "running")
    context["ti"].task_id = "stream"
    with pytest.raises(AirflowException, match=r"still owned by the micro-batch run .* after 0 s"):
        stream(start_timeout=0).execute(context)
    ensured, status = in_background(stream(), context)
    waiting.behave("finish")
    thread.join()
    ensured.join()
    assert status[0]["mode"] == "streaming"


def test_a_driver_that_dies_at_the_start_fails_the_task_with_its_words(standin: Standin, context: Context) -> None:
    with pytest.raises(AirflowException, match=r"(?s)no_such_module"):
        stream(pipeline="no_such_module:departures").execute(context)


def test_a_driver_that_never_says_that_it_runs_is_ended(standin: Standin, context: Context) -> None:
    standin.behave("hang")
    with pytest.raises(AirflowException, match=r"did not run within 0\.5 s"):
        stream(start_timeout=0.5).execute(context)
    run = stream().hook.run(str(RunId.of(context)))
    until(lambda: not run.alive)
    assert not [start for start in standin.starts if lives(start["pid"])]


def test_stop_ends_the_driver_and_keeps_the_state(waiting: Standin, context: Context, state: str) -> None:
    stream().execute(context)
    status = stop().execute(context)
    assert status == read_status(state).to_json()
    assert status["state"] == "stopped"
    until(lambda: not lives(waiting.starts[0]["pid"]))


def test_drain_is_asked_for_as_drain(waiting: Standin, context: Context, state: str) -> None:
    stream().execute(context)
    stop(drain=True).execute(context)
    requests = [Store.open(state).read_json(f"requests/{name}") for name in Store.open(state).list("requests")]
    assert [request["kind"] for request in requests if "kind" in request] == ["drain"]


def test_stopping_what_does_not_run_succeeds_and_draining_it_does_not(
    standin: Standin, context: Context, state: str
) -> None:
    assert stop().execute(context) is None
    with pytest.raises(AirflowFailException, match="no driver can fire the open windows"):
        stop(drain=True).execute(context)


def test_a_driver_that_does_not_stop_in_time_fails_the_task(waiting: Standin, context: Context) -> None:
    stream().execute(context)
    with pytest.raises(AirflowException, match="still goes on after 0 s"):
        stop(timeout=dt.timedelta(0), poll_interval=0).execute(context)


def test_a_stop_between_a_drivers_start_and_its_claim_waits_for_the_driver(
    standin: Standin, context: Context, state: str
) -> None:
    standin.behave("dawdle")
    starting, _ = in_background(stream(), context)
    until(lambda: standin.starts)
    stopping, outcome = in_background(stop(), dict(context))
    standin.behave("wait")
    stopping.join()
    starting.join()
    assert outcome[0]["state"] == "stopped"
    until(lambda: not lives(standin.starts[0]["pid"]))


def test_a_stop_does_not_wait_for_a_driver_that_has_ended_before_its_claim(standin: Standin, context: Context) -> None:
    operator = stream(pipeline="no_such_module:departures")
    with pytest.raises(AirflowException, match="no_such_module"):
        operator.execute(context)
    operator.hook.announce(operator.state_url, str(RunId.of(context)), "streaming")  # as if its worker had died
    assert stop(pipeline="no_such_module:departures").execute(context) is None


def test_a_driver_that_is_silent_is_fenced_by_a_stop(context: Context, standin: Standin, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    silent = claim(store, wall_clock() - 75_000_000)
    assert state_of(state) == "lost"
    status = stop().execute(context)
    assert status
    assert status["state"] == "stopped"
    with pytest.raises(OwnershipError, match="was taken over"):
        silent.check()


def test_a_driver_that_falls_silent_while_it_is_stopped_is_fenced(
    context: Context, standin: Standin, state: str
) -> None:
    store = Store.open(state)
    make_identity(store)
    driver = claim(store, wall_clock())
    stopping, outcome = in_background(stop(), context)
    until(lambda: pending(store))
    driver.touch(wall_clock() - 75_000_000)
    stopping.join()
    assert outcome[0]["state"] == "stopped"
    with pytest.raises(OwnershipError, match="was taken over"):
        driver.check()


def test_a_silent_driver_cannot_be_drained_and_a_retry_may_find_it_back(
    context: Context, standin: Standin, state: str
) -> None:
    store = Store.open(state)
    make_identity(store)
    claim(store, wall_clock() - 75_000_000)
    with pytest.raises(AirflowException, match="until the stream is started again") as caught:
        stop(drain=True).execute(context)
    assert not isinstance(caught.value, AirflowFailException)


def test_a_stop_of_nothing_named_is_refused_when_the_dag_is_parsed() -> None:
    with pytest.raises(DefinitionError, match="pipeline="):
        DataflowStopOperator(task_id="stop")
