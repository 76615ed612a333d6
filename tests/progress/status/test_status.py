from __future__ import annotations

import json

import pytest

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.ownership.owner import HEARTBEAT_TIMEOUT
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND, claim, interval_record, make_identity, record

CURVE = WatermarkCurve(((50.0, NOON), (97.0, NOON - SECOND), (100.0, NOON - 2 * SECOND)))


def _status(store: Store, now: int = NOON) -> Status:
    return read_status(store.url, now=now)


def test_where_there_is_no_pipeline_there_is_no_status(url: str) -> None:
    with pytest.raises(StateError, match="no pipeline state") as error:
        read_status(url)
    assert error.value.code == "STATE_ABSENT"


def test_a_state_without_a_run_never_ran(store: Store) -> None:
    made = make_identity(store)
    status = _status(store)
    assert (status.pipeline, status.fingerprint, status.state) == (made.name, made.fingerprint, "never_ran")
    assert status.mode is status.epoch is status.owner is status.lag is None
    assert (status.watermarks, status.rows, status.panes) == (NOTHING_KNOWN, RowCounts(), 0)
    assert status.updated_at == made.created_at


def test_the_state_follows_the_driver_from_start_to_stop(store: Store) -> None:
    make_identity(store)
    driver = claim(store)
    assert _status(store).state == "starting"
    driver.heartbeat(NOON + SECOND)
    status = _status(store)
    assert (status.state, status.mode, status.owner) == ("running", "streaming", driver.info)
    assert status.updated_at == NOON + SECOND
    driver.release(NOON + 2 * SECOND, "stopped", "asked to")
    status = _status(store)
    assert (status.state, status.detail) == ("stopped", "asked to")


def test_a_driver_that_failed_says_why(store: Store) -> None:
    make_identity(store)
    claim(store).release(NOON, "failed", "[DATA_REJECTED] too many")
    status = _status(store)
    assert (status.state, status.detail) == ("failed", "[DATA_REJECTED] too many")


def test_a_driver_that_falls_silent_is_lost(store: Store) -> None:
    make_identity(store)
    claim(store).heartbeat(NOON)
    assert _status(store, NOON + HEARTBEAT_TIMEOUT).state == "running"
    assert _status(store, NOON + HEARTBEAT_TIMEOUT + 1).state == "lost"


def test_a_driver_whose_process_ended_is_lost_at_once(store: Store) -> None:
    make_identity(store)
    claim(store)
    path = "owners/00000/00000001.json"
    document = store.read_json(path)
    store.write_json(path, {**document, "process_started": document["process_started"] - 1})
    assert _status(store).state == "lost"


def test_a_batch_that_finished_is_completed(store: Store) -> None:
    make_identity(store)
    driver = claim(store, mode="batch")
    EpochLog(store).commit(interval_record(0, NOON, NOON + SECOND))
    driver.heartbeat(NOON)
    assert _status(store).state == "running"
    driver.release(NOON)
    status = _status(store)
    assert (status.state, status.end_of_input, status.interval) == ("completed", True, Interval(NOON, NOON + SECOND))


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (interval_record(0, NOON, NOON + SECOND, end_of_input=False), "completed"),
        (record(0, kind="end_of_input", mode="batch", end_of_input=True), "completed"),
        (record(0, mode="batch"), "stopped"),
    ],
)
def test_a_batch_is_completed_by_its_interval_or_by_the_end_of_its_input(
    store: Store, last: EpochRecord, state: str
) -> None:
    make_identity(store)
    EpochLog(store).commit(last)
    claim(store, mode="batch").release(NOON)
    assert _status(store).state == state


def test_what_a_batch_left_out_is_told_until_it_is_read(store: Store) -> None:
    make_identity(store)
    left_out = LeftOut((Split("a.parquet", 30), Split("b.parquet", 20, 7)), of=1000)
    ending = {"kind": "end_of_input", "mode": "batch"}
    log = EpochLog(store)
    log.commit(record(0, left_out=left_out, **ending))
    status = _status(store)
    assert (status.left_out, status.end_of_input) == (left_out, False)
    assert status.to_json()["left_out"] == {
        "files": [["a.parquet", 30, 0], ["b.parquet", 20, 7]],
        "bytes": 50,
        "of_bytes": 1000,
    }
    log.commit(interval_record(1, NOON, NOON + SECOND))
    assert _status(store).left_out == left_out, "an interval reads what it needs, and leaves the stream's state alone"
    log.commit(record(2))
    assert _status(store).left_out is None


def test_a_batch_that_fell_over_after_its_commit_is_completed_all_the_same(store: Store) -> None:
    make_identity(store)
    claim(store, mode="batch")
    EpochLog(store).commit(interval_record(0, NOON, NOON + SECOND))
    assert _status(store, NOON + HEARTBEAT_TIMEOUT + 1).state == "completed"


def test_a_batch_that_was_stopped_is_not_completed_by_the_run_before_it(store: Store) -> None:
    make_identity(store)
    claim(store, mode="batch").release(NOON)
    EpochLog(store).commit(interval_record(0, NOON, NOON + SECOND))
    assert _status(store).state == "completed"
    claim(store, mode="batch", run_id="run-2").release(NOON)
    assert _status(store).state == "stopped"


def test_a_stream_that_reached_its_end_is_stopped_and_not_completed(store: Store) -> None:
    make_identity(store)
    claim(store).release(NOON)
    EpochLog(store).commit(record(0, kind="end_of_input", end_of_input=True))
    assert _status(store).state == "stopped"


def test_totals_and_the_newest_facts_come_from_the_last_record(store: Store) -> None:
    make_identity(store)
    log = EpochLog(store)
    log.commit(record(0))
    log.commit(
        record(1, published=CURVE, clock=Clock(NOON + SECOND, CURVE), frontier=NOON - 5, backlog=7, claimable=99.5)
    )
    status = _status(store)
    assert (status.epoch, status.rows, status.panes) == (1, RowCounts(20, 6, 4, 2), 10)
    assert (status.watermarks, status.claimable, status.frontier, status.backlog) == (CURVE, 99.5, NOON - 5, 7)
    assert status.lag == 3 * SECOND


def test_an_interval_does_not_hide_the_watermark_of_the_stream(store: Store) -> None:
    make_identity(store)
    log = EpochLog(store)
    log.commit(record(0, published=CURVE))
    log.commit(interval_record(1, NOON, NOON + SECOND, published=WatermarkCurve.flat(MAX_TIME)))
    assert _status(store).watermarks == CURVE


def test_intervals_say_what_they_cover_and_move_no_watermark(store: Store) -> None:
    make_identity(store)
    log = EpochLog(store)
    log.commit(interval_record(0, NOON, NOON + 2 * SECOND, published=NOTHING_KNOWN))
    log.commit(interval_record(1, NOON - 2 * SECOND, NOON - SECOND, published=NOTHING_KNOWN))
    status = _status(store)
    assert status.watermarks == NOTHING_KNOWN
    early = Interval(NOON - 2 * SECOND, NOON - SECOND)
    assert status.covered.intervals == (early, Interval(NOON, NOON + 2 * SECOND))
    assert status.interval == early


def test_the_status_is_as_new_as_the_newest_thing_told(store: Store) -> None:
    make_identity(store)
    driver = claim(store)
    EpochLog(store).commit(record(0, finished_at=NOON + SECOND))
    assert _status(store).updated_at == NOON + SECOND
    driver.heartbeat(NOON + 2 * SECOND)
    assert _status(store).updated_at == NOON + 2 * SECOND


@pytest.mark.parametrize("time", [MIN_TIME, MAX_TIME])
def test_there_is_no_lag_behind_an_infinite_watermark(store: Store, time: int) -> None:
    make_identity(store)
    EpochLog(store).commit(record(0, published=WatermarkCurve.flat(time)))
    assert _status(store).lag is None


def test_the_status_is_one_json_object(store: Store) -> None:
    make_identity(store)
    claim(store).heartbeat(NOON, application_id="app-7", ui="http://driver:4040")
    points = ((97.0, NOON), (99.5, NOON - SECOND), (100.0, MIN_TIME))
    EpochLog(store).commit(record(0, published=WatermarkCurve(points), clock=Clock(NOON, NOTHING_KNOWN), backlog=3))
    document = json.loads(json.dumps(_status(store).to_json()))
    owner = document.pop("owner")
    assert (owner["token"], owner["application_id"], owner["ui"]) == (1, "app-7", "http://driver:4040")
    assert document == {
        "pipeline": "departures",
        "state_url": store.url,
        "fingerprint": "f1",
        "mode": "streaming",
        "state": "running",
        "detail": "",
        "epoch": 0,
        "watermarks": {"97": "2013-01-01T12:00:00Z", "99.5": "2013-01-01T11:59:59Z", "100": None},
        "covered": [],
        "claimable": 100.0,
        "end_of_input": False,
        "interval": None,
        "rows": {"in": 10, "late": 3, "expired": 2, "rejected": 1, "implausible": 0, "reasons": {}},
        "panes": 5,
        "frontier": None,
        "backlog": 3,
        "left_out": None,
        "signals": [],
        "waiting": {"windows": 0, "watermarks": {}, "processing_time": None, "signals": []},
        "findings": [
            {"kind": finding.kind, "what": finding.what, "hint": finding.hint} for finding in _status(store).findings
        ],
        "processing_time": "2013-01-01T12:00:00Z",
        "lag_seconds": None,
        "updated_at": "2013-01-01T12:00:01Z",
    }


def test_by_default_heartbeats_are_held_against_the_wall_clock(store: Store) -> None:
    make_identity(store)
    claim(store, NOON)
    assert read_status(store.url).state == "lost"
