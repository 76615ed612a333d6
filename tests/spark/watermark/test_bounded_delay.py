"""A watermark with a fixed bound: on the engine, cut in any way, it is that of the reference, one element at a time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import BoundedDelay, Count, DelayWatermark, Files, FixedWindows, Pipeline, RuntimeMode
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, duration, iso, to_datetime, to_micros
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.reference.bounded_watermark import BoundedWatermark
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.watermark.delays import Observation
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from airflow_dataflow_provider.testing.clock import HandDrivenClock

PERCENTILES = (50.0, 97.0, 100.0)
NOW = to_micros("2026-01-01T00:00:00Z")
MINUTE: Micros = 60_000_000
POLICIES = st.sampled_from([BoundedDelay(bound) for bound in ("0s", "30s", "1m", "10m")])
ROW = st.tuples(
    st.integers(-20, 20).map(lambda minutes: NOW + minutes * MINUTE) | st.just(to_micros("2100-01-01T00:00:00Z")),
    st.integers(-20, 3).map(lambda minutes: NOW + minutes * MINUTE),
)
TASKS = st.lists(st.lists(ROW, max_size=5), max_size=4)


def observed(policy: BoundedDelay, rows: list[tuple[Micros, Micros]]) -> Observation:
    event, arrival = (np.array([row[part] for row in rows], dtype=np.int64) for part in (0, 1))
    return Observation.of(policy, event, arrival, NOW)


@given(POLICIES, st.lists(TASKS, max_size=4))
def test_the_engine_claims_after_every_epoch_what_the_reference_does(
    policy: BoundedDelay, epochs: list[list[list[tuple[Micros, Micros]]]]
) -> None:
    engine, reference = Observation(), BoundedWatermark(policy)
    for tasks in epochs:
        for rows in tasks:
            engine = engine.merged(observed(policy, rows), policy)
            for event, arrival in rows:
                reference.see(Element({}, event, arrival), NOW)
        engine = Observation.from_json(json.loads(json.dumps(engine.to_json())))
        for idle_for in (0, MINUTE):
            curve = engine.curve(policy, PERCENTILES, idle_for=idle_for)
            assert {time for _, time in curve} == {reference.at(idle_for=idle_for)}


@pytest.mark.parametrize(
    ("bound", "event", "arrival", "moves"),
    [
        ("10m", 9, 0, True),
        ("10m", 10, 0, True),
        ("10m", 11, 0, False),
        ("0s", 1, 0, True),
        ("0s", 2, 0, False),
        ("10m", -10_000_000, 0, True),
        ("10m", 0, 1, True),
        ("10m", 0, 2, False),
    ],
)
def test_an_event_time_too_far_ahead_of_its_arrival_or_an_arrival_in_the_future_moves_nothing(
    bound: str, event: int, arrival: int, moves: bool
) -> None:
    seen = observed(BoundedDelay(bound), [(NOW + event * MINUTE, NOW + arrival * MINUTE)])
    assert (seen.count == 1) is moves
    wanted = NOW + event * MINUTE - duration(bound) if moves else MIN_TIME
    assert seen.curve(BoundedDelay(bound), PERCENTILES).at(100) == wanted


def test_another_policy_on_the_same_state_learns_anew() -> None:
    learned, bounded = DelayWatermark(), BoundedDelay("10m")
    rows = (np.array([NOW - MINUTE]), np.array([NOW]), NOW)
    before = Observation.of(learned, *rows)
    assert before.curve(bounded, PERCENTILES).at(100) == MIN_TIME
    after = before.merged(Observation.of(bounded, *rows), bounded)
    assert after.curve(bounded, PERCENTILES).at(100) == NOW - 11 * MINUTE
    assert after.curve(learned, PERCENTILES).at(100) == MIN_TIME


def test_the_watermarks_of_a_run_are_the_greatest_event_time_less_the_bound(tmp_path: Path) -> None:
    """Files of another year, without arrival times; what is too late is set aside, and a wrong clock moves nothing."""
    source = Files(
        f"{tmp_path}/source/*.parquet", event_time="at", watermark=BoundedDelay("10m", idle_after="5m")
    )  # fmt: skip
    hourly = Pipeline("hourly", source).group_by_key_and_window(key="key", window=FixedWindows("1h")).combine(n=Count())
    state, clock = f"{tmp_path}/state", HandDrivenClock("12:00", day="2025-06-01")
    (tmp_path / "source").mkdir()

    def run_after(wait: str, *times: str) -> str:
        clock.advance(wait)
        if times:
            at = [to_datetime(to_micros(time)) for time in times]
            file = tmp_path / "source" / f"{clock()}.parquet"
            pl.DataFrame({"key": "k", "at": at}, schema_overrides={"at": pl.Datetime("us", "UTC")}).write_parquet(file)
        run(Submission(hourly, RuntimeMode.MICRO_BATCH, state, now=clock, workers=ThisProcess()))
        return iso([*EpochLog(Store.open(state)).records()][-1].published.at(100))

    assert run_after("0s", "2013-01-01T10:00:00Z", "2013-01-01T10:50:00Z") == "2013-01-01T10:40:00Z"
    assert run_after("1m", "2013-01-01T11:12:00Z", "2013-01-01T10:55:00Z") == "2013-01-01T11:02:00Z"
    assert run_after("1m", "2013-01-01T10:58:00Z", "2100-01-01T00:00:00Z") == "2013-01-01T11:02:00Z"
    assert run_after("1m") == "2013-01-01T11:02:00Z"
    assert run_after("29m") == "2013-01-01T11:32:00Z"
    panes = PaneLogReader(state).panes()
    assert panes.select("n", "watermark", "pane_timing").rows() == [
        (3, to_datetime(to_micros("2013-01-01T11:02:00Z")), "ON_TIME")
    ]
    assert len(SideOutputs(state).expired()) == 1


def test_a_batch_ends_with_all_windows_and_an_interval_moves_no_watermark(tmp_path: Path) -> None:
    source = Files(f"{tmp_path}/*.parquet", event_time="at", watermark=BoundedDelay("10m"))
    hourly = Pipeline("hourly", source).group_by_key_and_window(key="key", window=FixedWindows("1h")).combine(n=Count())
    times = [to_micros(f"2013-01-01T{time}Z") for time in ("10:30:00", "11:30:00")]
    at = pl.Series(times).cast(pl.Datetime("us", "UTC"))
    pl.DataFrame({"key": ["k", "k"], "at": at}).write_parquet(tmp_path / "1.parquet")
    state = f"{tmp_path}/state"

    def run_batch(interval: Interval | None) -> tuple[int, str]:
        run(Submission(hourly, RuntimeMode.BATCH, state, interval=interval, workers=ThisProcess()))
        log = EpochLog(Store.open(state))
        stream = [record.published.at(100) for record in log.records() if record.interval is None]
        return len(PaneLogReader(state).panes()), iso(max(stream, default=MIN_TIME))

    assert run_batch(Interval(*times)) == (1, "-inf")
    assert run_batch(None) == (3, "2013-01-01T11:20:00Z")
