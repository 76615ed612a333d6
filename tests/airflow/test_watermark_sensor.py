from __future__ import annotations

import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.owner import Ownership
from airflow_dataflow_provider.progress.status.status import find_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.sensors.watermark import WatermarkSensor
from airflow_dataflow_provider.triggers import look
from airflow_dataflow_provider.triggers.watermark import PATIENCE, WatermarkTrigger

EARLY, TARGET, LATE = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"


class Job:
    """A pipeline that runs in this process, by the real progress package."""

    def __init__(self, url: str, mode: str = "streaming") -> None:
        self.url, self.mode, self.store = url, mode, Store.open(url)
        identity.ensure(
            self.store,
            name="departures",
            fingerprint="f",
            definition="Pipeline()",
            shape={},
            partitions=1,
            now=wall_clock(),
        )
        self.ownership = Ownership.claim(self.store, mode=mode, run_id="run", now=wall_clock())
        self.ownership.heartbeat(wall_clock())
        self.log = EpochLog(self.store)

    def publish(self, *, w97: str, w100: str, claimable: float = 100.0) -> None:
        last, now = self.log.last_record(), wall_clock()
        curve = WatermarkCurve(((97.0, to_micros(w97)), (100.0, to_micros(w100))))
        clock = Clock(now, curve)
        epoch = 0 if last is None else last.epoch + 1
        token = self.ownership.token
        self.log.plan(EpochPlan(epoch, "data", token, "run", self.mode, clock, now))
        self.log.commit(
            EpochRecord(
                epoch=epoch,
                kind="data",
                mode=self.mode,
                run_id="run",
                token=token,
                clock=clock,
                published=curve,
                end_of_input=False,
                rows=RowCounts(read=1),
                panes=1,
                frontier=None,
                backlog=None,
                interval=None,
                started_at=now,
                finished_at=now,
                claimable=claimable,
            )
        )

    def end(self, state: str, detail: str = "") -> None:
        self.ownership.release(wall_clock(), state, detail)  # type: ignore[arg-type]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def sensor(url: str, **options: Any) -> WatermarkSensor:
    given = {
        "state": url,
        "percentile": 97,
        "target": TARGET,
        "poke_interval": 0.01,
        "timeout": 30,
        "deferrable": True,
        "grace": 0,
    }
    return WatermarkSensor(task_id="complete", **given | options)


def test_a_watermark_that_is_there_is_returned_at_once(url: str) -> None:
    Job(url).publish(w97=LATE, w100=EARLY)
    assert sensor(url).execute({}) == {
        "answer": "reached",
        "reason": f"W_97 of 'departures' is {LATE}, at or past {TARGET}",
        "lasting": True,
        "watermark": LATE,
        "epoch": 0,
        "percentile": 97.0,
        "target": TARGET,
        "start": None,
        "pipeline": "departures",
        "state_url": url,
    }


def test_a_watermark_that_is_not_there_yet_is_waited_for_in_the_triggerer(url: str) -> None:
    job = Job(url)
    job.publish(w97=EARLY, w100=EARLY)
    with pytest.raises(TaskDeferred) as deferred:
        sensor(url).execute({})
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_dataflow_provider.triggers.watermark.WatermarkTrigger"
    # What Airflow stores, and makes again in another process.
    trigger = WatermarkTrigger(**json.loads(json.dumps(arguments)))
    assert deferred.value.timeout == dt.timedelta(seconds=30)

    async def wait() -> Any:
        waiting = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(0)
        job.publish(w97=TARGET, w100=EARLY)
        return await waiting

    event = asyncio.run(wait())
    result = sensor(url).execute_complete({}, event.payload)
    assert (result["watermark"], result["epoch"]) == (TARGET, 1)


def test_the_sensor_waits_in_its_own_process_where_it_is_told_to(url: str) -> None:
    job = Job(url)
    waiting = sensor(url, deferrable=False)
    answers: list[bool] = []

    def poke(context: Any, ask: Any = waiting.poke) -> Any:
        if len(answers) == 2:
            job.publish(w97=LATE, w100=LATE)
        answers.append(bool(answer := ask(context)))
        return answer

    waiting.poke = poke  # type: ignore[method-assign]
    assert waiting.execute({})["epoch"] == 0
    assert answers == [False, False, True]


def test_the_ordinary_watermark_is_asked_for_unless_said_otherwise(url: str) -> None:
    Job(url).publish(w97=LATE, w100=EARLY)
    with pytest.raises(TaskDeferred):
        WatermarkSensor(task_id="complete", state=url, target=TARGET, deferrable=True).execute({})


@pytest.mark.parametrize("deferrable", [True, False])
@pytest.mark.parametrize(("state", "reason"), [("stopped", "was stopped"), ("failed", "disk full")])
def test_a_stream_that_has_ended_can_never_reach_it_and_retries_are_spared_where_they_are_of_no_use(
    url: str, state: str, reason: str, deferrable: bool
) -> None:
    job = Job(url)
    job.publish(w97=EARLY, w100=EARLY)
    job.end(state, "disk full" if state == "failed" else "")
    with pytest.raises(AirflowException, match=reason) as caught:
        sensor(url, deferrable=deferrable).execute({})
    # One that failed may be back when the task is tried again; one that was stopped will not be.
    assert isinstance(caught.value, AirflowFailException) is (state == "stopped")


def test_a_percentile_that_cannot_be_claimed_can_never_be_reached(url: str) -> None:
    Job(url).publish(w97=EARLY, w100=EARLY, claimable=95)
    with pytest.raises(AirflowFailException, match="up to percentile 95"):
        sensor(url).execute({})


def test_a_stream_that_ends_while_it_is_waited_for_ends_the_wait(url: str) -> None:
    job = Job(url)
    job.publish(w97=EARLY, w100=EARLY)
    trigger = WatermarkTrigger(state=url, percentile=97, target=TARGET, poke_interval=0.01)

    async def wait() -> Any:
        waiting = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(0)
        job.end("failed", "disk full")
        return await waiting

    event = asyncio.run(wait())
    with pytest.raises(AirflowException, match="disk full"):
        sensor(url).execute_complete({}, event.payload)


@pytest.mark.parametrize("state", ["failed", "stopped", "lost"])
def test_a_stream_that_is_brought_back_within_the_grace_ends_no_wait(url: str, state: str) -> None:
    job = Job(url)
    job.publish(w97=EARLY, w100=EARLY)
    if state == "lost":
        job.ownership.touch(wall_clock() - 61_000_000)
    else:
        job.end(state)
    with pytest.raises(TaskDeferred) as deferred:
        sensor(url, grace=dt.timedelta(hours=1)).execute({})
    trigger = WatermarkTrigger(**deferred.value.trigger.serialize()[1])

    async def wait() -> Any:
        waiting = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(0)
        Job(url).publish(w97=TARGET, w100=EARLY)
        return await waiting

    assert asyncio.run(wait()).payload["answer"] == "reached"


def test_all_that_wait_for_one_state_share_a_look_at_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(url)
    job.publish(w97=EARLY, w100=EARLY)
    looks: list[str] = []
    monkeypatch.setattr(look, "_read", lambda state: (looks.append(state), find_status(state))[1])

    async def wait() -> list[Any]:
        trigger = WatermarkTrigger(state=url, percentile=97, target=TARGET, poke_interval=600)
        waiting = [asyncio.ensure_future(anext(trigger.run())) for _ in range(200)]
        await asyncio.wait(waiting, timeout=0.2)
        for one in waiting:
            one.cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(outcome) for outcome in asyncio.run(wait())} == {asyncio.CancelledError}
    assert looks == [url]


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_between_two_scheduled_runs_the_answer_is_not_yet(url: str, state: str) -> None:
    job = Job(url, mode="micro-batch")
    job.publish(w97=EARLY, w100=EARLY)
    job.end(state)
    with pytest.raises(TaskDeferred):
        sensor(url).execute({})


def test_a_pipeline_that_has_no_state_yet_is_waited_for(url: str) -> None:
    with pytest.raises(TaskDeferred):
        sensor(url).execute({})
    with pytest.raises(AirflowSensorTimeout):
        sensor(url, deferrable=False, timeout=0.02).execute({})


def test_a_wait_that_may_fail_softly_skips(url: str) -> None:
    job = Job(url)
    job.end("stopped")
    with pytest.raises(AirflowSkipException):
        sensor(url, soft_fail=True).execute({})
    with pytest.raises(AirflowSkipException):
        sensor(url, soft_fail=True, deferrable=False).execute({})


def test_a_state_that_cannot_be_understood_ends_the_wait_with_the_reason(url: str) -> None:
    Job(url)
    Path(url, "pipeline.json").write_text("{}")
    event = asyncio.run(anext(WatermarkTrigger(state=url, percentile=97, target=TARGET).run()))
    assert event.payload["answer"] == "never"
    assert "STATE_" in event.payload["reason"]


@pytest.mark.parametrize("failures", [PATIENCE - 1, PATIENCE])
def test_a_file_system_that_is_away_is_borne_for_a_while(
    url: str, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    Job(url).publish(w97=LATE, w100=LATE)
    asked = []

    def read_or_fail(state: str) -> Any:
        asked.append(state)
        if len(asked) <= failures:
            raise ConnectionError("the file system is away")
        return find_status(state)

    monkeypatch.setattr(look, "_read", read_or_fail)
    answer = anext(WatermarkTrigger(state=url, percentile=97, target=TARGET, poke_interval=0).run())
    if failures < PATIENCE:
        assert asyncio.run(answer).payload["answer"] == "reached"
    else:
        with pytest.raises(ConnectionError, match="is away"):
            asyncio.run(answer)
    assert len(asked) == PATIENCE


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"percentile": 0}, "DEFINITION_PERCENTILE"),
        ({"percentile": "most"}, "DEFINITION_PERCENTILE"),
        ({"percentile": 101.0}, "DEFINITION_PERCENTILE"),
        ({"target": "2026-01-01T00:00:00"}, "TIME_NAIVE"),
        ({"target": dt.datetime(2026, 1, 1)}, "TIME_NAIVE"),  # noqa: DTZ001 - naive on purpose
        ({"target": "tomorrow"}, "TIME_UNPARSABLE"),
        ({"state": None}, "SUBMIT_PIPELINE"),
        ({"pipeline": "departures"}, "SUBMIT_PIPELINE"),
    ],
)
def test_a_bad_question_is_refused_when_the_dag_is_parsed(url: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        sensor(url, **options)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("field", "template", "rendered"),
    [
        ("target", "{{ ts }}", "2026-01-01T00:00:00"),
        ("target", "{{ ds }}", "None"),
        ("percentile", "{{ params.p }}", "0"),
    ],
)
def test_a_template_that_renders_to_a_bad_question_fails_before_any_wait(
    url: str, field: str, template: str, rendered: str
) -> None:
    waiting = sensor(url, **{field: template})
    setattr(waiting, field, rendered)
    with pytest.raises(AirflowFailException, match=r"\[(TIME|DEFINITION)_"):
        waiting.execute({})


def test_the_state_of_a_pipeline_is_found_under_the_connections_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "dataflow", "extra": {"state_root": str(tmp_path)}}
    monkeypatch.setenv("AIRFLOW_CONN_DATAFLOW_DEFAULT", json.dumps(connection))
    Job(str(tmp_path / "departures")).publish(w97=LATE, w100=LATE)
    waiting = WatermarkSensor(task_id="complete", pipeline="flights:departures", target=TARGET)
    assert waiting.execute({})["pipeline"] == "departures"


def test_where_sensors_wait_by_default_is_an_option(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not sensor(url, deferrable=None).deferrable
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", "True")
    assert sensor(url, deferrable=None).deferrable
    assert not sensor(url, deferrable=False).deferrable
