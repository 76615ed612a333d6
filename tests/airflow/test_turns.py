"""Runs that share a state follow one another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, TaskDeferred

from airflow_dataflow_provider.hooks.driver import DriverRun
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.triggers.turn import TurnTrigger
from tests.airflow.conftest import Standin, state_of, until
from tests.airflow.test_finite_runs import Context, batch, driver_of, in_background, micro_batch, state
from tests.progress.samples import claim, make_identity

__all__ = ["driver_of", "state"]


def another_run(context: Context, number: int) -> Context:
    """The same task in another run of its DAG."""
    ti = context["ti"]
    return context | {"ti": type(ti)(**vars(ti) | {"run_id": f"manual__{number}"})}


def test_a_run_waits_for_the_state_before_it_starts_anything_and_for_so_long_only(
    standin: Standin, context: Context, state: str
) -> None:
    standin.behave("wait")
    first, outcome = in_background(micro_batch(), context)
    until(lambda: state_of(state) == "running")
    with pytest.raises(AirflowException, match=str(RunId.of(context))):
        micro_batch(wait_for_state=0).execute(another_run(context, 2))
    assert len(standin.starts) == 1
    standin.behave("finish")
    first.join()
    assert outcome[0]["state"] == "stopped"


def test_a_run_waits_for_the_state_in_the_triggerer_and_goes_on_when_its_turn_has_come(
    standin: Standin, context: Context, state: str
) -> None:
    standin.behave("wait")
    first, _ = in_background(micro_batch(), context)
    until(lambda: state_of(state) == "running")
    second = another_run(context, 2)
    with pytest.raises(TaskDeferred) as deferred:
        micro_batch(deferrable=True).execute(second)
    assert len(standin.starts) == 1
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_dataflow_provider.triggers.turn.TurnTrigger"
    trigger = TurnTrigger(**json.loads(json.dumps(arguments)))

    async def wait() -> Any:
        waiting = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(0)
        standin.behave("finish")
        return await waiting

    event = asyncio.run(wait())
    first.join()
    assert event.payload["answer"] == "reached"
    go_on = getattr(micro_batch(deferrable=True), deferred.value.method_name)
    assert go_on(second, event=event.payload, **json.loads(json.dumps(deferred.value.kwargs)))["epoch"] == 1


def test_the_wait_in_the_triggerer_ends_with_its_time_and_the_task_says_who_has_the_state(
    standin: Standin, context: Context, state: str
) -> None:
    standin.behave("wait")
    first, _ = in_background(micro_batch(), context)
    until(lambda: state_of(state) == "running")
    trigger = TurnTrigger(state=state, run_id="another", until=0, poll_interval=0)
    event = asyncio.run(anext(trigger.run())).payload
    assert (event["answer"], str(RunId.of(context)) in event["reason"]) == ("not yet", True)
    with pytest.raises(AirflowException, match=str(RunId.of(context))):
        micro_batch(deferrable=True).execute_in_turn(another_run(context, 2), event=event, wait_until=0)
    standin.behave("finish")
    first.join()


def test_days_of_a_backfill_that_run_at_once_follow_one_another_and_none_is_lost(
    standin: Standin, context: Context, state: str
) -> None:
    def day(number: int) -> DataflowBatchOperator:
        return batch(
            whole_input=False, data_from=f"2026-01-0{number}T00:00:00Z", data_to=f"2026-01-0{number + 1}T00:00:00Z"
        )

    days = [in_background(day(number), another_run(context, number)) for number in (1, 2, 3)]
    for thread, _ in days:
        thread.join()
    assert sorted(outcome[0]["epoch"] for _, outcome in days) == [0, 1, 2]
    assert read_status(state).covered.to_json() == [["2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"]]
    assert len(standin.starts) == 3


def test_a_stream_that_has_the_state_is_not_waited_for(standin: Standin, context: Context, state: str) -> None:
    make_identity(Store.open(state))
    claim(Store.open(state), wall_clock())
    with pytest.raises(AirflowException, match="a stream does not end by itself"):
        micro_batch().execute(context)
    assert standin.starts == []


def test_a_driver_that_finds_the_state_taken_after_all_gets_another_turn(
    standin: Standin, context: Context, state: str, driver_of: Callable[[Context], DriverRun]
) -> None:
    standin.behave("dawdle")
    thread, outcome = in_background(micro_batch(), context)
    until(lambda: standin.starts)
    another = claim(Store.open(state), wall_clock(), mode="micro-batch")  # announced nowhere, as from a command line
    standin.behave("finish")
    until(lambda: "OWNER_HELD" in driver_of(context).log.read_text())
    another.release(wall_clock())
    thread.join()
    assert outcome[0]["state"] == "stopped"
    assert len(standin.starts) == 2
