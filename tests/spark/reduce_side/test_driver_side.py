"""Small epochs are reduced in the driver, larger ones on the workers, and nobody sees it in what is published."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    AtCount,
    AtWatermark,
    Collect,
    Count,
    Files,
    FixedWindows,
    PerElement,
    Pipeline,
    Repeat,
    SessionWindows,
    Sum,
)
from airflow_dataflow_provider.model.batch import BatchPolicies, ShuffleMode
from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.par_do import ParDo, Row
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.reduce_side import driver_side
from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS_CONF, has_few_keys, if_little, is_plain
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.running.job import EpochJob
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.sources.splits import Input
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import as_truth, events, pipeline, truth, write_files

HERE = f"{socket.gethostname()}:{os.getpid()}"


def where(state: Path) -> list[bool]:
    """For each epoch whose partitions had something to do, whether they had it in this process."""
    log = EpochLog(Store.open(str(state)))
    found = []
    for record in log.records():
        prepared = log.prepared(record.epoch)
        assert prepared is not None
        assert prepared.result is not None
        workers = set(prepared.result.workers.values())
        if workers:
            assert workers == {HERE} or HERE not in workers
            found.append(workers == {HERE})
    return found


def go(
    what: Pipeline,
    state: Path,
    mode: RuntimeMode = RuntimeMode.MICRO_BATCH,
    interval: Interval | None = None,
    **conf: str,
) -> None:
    run(Submission(what, mode, str(state), conf={"dataflow.state.partitions": "3", **conf}, interval=interval))


class Recorded(ThisProcess):
    """Workers that remember whether the driver was to reduce."""

    def __init__(self) -> None:
        self.in_driver: list[bool] = []

    def run(self, job: EpochJob, files: Input | None, states: list[StageState], name: str) -> Any:
        self.in_driver.append(job.in_driver)
        return super().run(job, files, states, name)


@pytest.mark.parametrize(("mode", "in_driver"), [("automatic", True), ("all-exchanges-blocking", False)])
def test_a_small_epoch_is_reduced_in_the_driver_unless_all_exchanges_are_to_be_blocking(
    tmp_path: Path, mode: str, in_driver: bool
) -> None:
    write_files(tmp_path / "source", events(400), files=1)
    workers, policies = Recorded(), BatchPolicies(shuffle_mode=ShuffleMode(mode))
    what, state = pipeline(tmp_path / "source"), str(tmp_path / "state")
    run(Submission(what, RuntimeMode.BATCH, state, policies=policies, workers=workers))
    assert workers.in_driver == [in_driver, in_driver]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_epochs_go_from_workers_to_the_driver_and_back_on_one_state(tmp_path: Path) -> None:
    source, state, frame = tmp_path / "source", tmp_path / "state", events(4_000)
    what = pipeline(source, lateness="1h", max_files_per_epoch=1)
    write_files(source, frame[:2_000], files=2)
    go(what, state, **{ROWS_CONF: "0"})
    on_workers = where(state)
    assert on_workers == [False] * len(on_workers) != []
    write_files(source, frame[2_000:3_000], files=1, first=2)
    go(what, state)
    in_driver = where(state)[len(on_workers) :]
    assert in_driver == [True] * len(in_driver) != []
    write_files(source, frame[3_000:3_500], files=1, first=3)
    go(what, state, **{ROWS_CONF: "0"})
    moved = where(state)
    assert not moved[-1]
    write_files(source, frame[3_500:], files=1, first=4)
    go(what, state, RuntimeMode.BATCH)
    assert where(state)[len(moved) :] == [True, True]
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), what.grouping), panes_of_reference(str(state), what))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("keys", "few"), [(20, True), (1_000, False)])
@pytest.mark.parametrize("interval", [None, Interval(0, 2_000_000_000_000_000)])
def test_the_keys_of_the_first_rows_say_where_a_first_batch_is_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int, few: bool, interval: Interval | None
) -> None:
    source, state, frame = tmp_path / "source", tmp_path / "state", events(2_000, keys=keys)
    write_files(source, frame, files=2)
    monkeypatch.setattr(driver_side, "MOST_INPUT", 0)
    go(pipeline(source), state, RuntimeMode.BATCH, interval=interval)
    assert where(state)[0] is few
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))


def test_only_a_local_parquet_file_is_looked_at_for_its_keys(tmp_path: Path) -> None:
    events(2_000).write_parquet(tmp_path / "few.parquet")
    events(2_000, keys=2_000).write_parquet(tmp_path / "many.parquet")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    events(2_000).write_csv(tmp_path / "few.csv")

    def looks_little(name: str, *steps: ParDo) -> bool:
        files = Files(f"{tmp_path}/*.{name.rpartition('.')[2]}", event_time="happened", arrival_time="arrived")
        what = grouped(MINUTES, ON_TIME, Count(), *steps, source=files)
        return has_few_keys(what, [Split(f"{tmp_path}/{name}", 1)])

    assert looks_little("few.parquet")
    assert not looks_little("many.parquet")
    for name in ("few.csv", "damaged.parquet", "missing.parquet"):
        assert not looks_little(name)
    assert not looks_little("few.parquet", DOUBLED)
    assert not has_few_keys(grouped(MINUTES, ON_TIME, Count()), [Split("s3://somewhere/few.parquet", 1)])
    assert not has_few_keys(grouped(MINUTES, ON_TIME, Count()), [])


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_is_more_than_expected_goes_to_the_workers_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, state, frame = tmp_path / "source", tmp_path / "state", events(3_000)
    write_files(source, frame, files=3)
    monkeypatch.setattr(driver_side, "MOST_BYTES", 1_000)
    monkeypatch.setattr(driver_side, "MOST_INPUT", 0)
    what = pipeline(source, max_files_per_epoch=1)
    go(what, state)
    assert where(state)[:3] == [False, False, False]
    go(what, state, RuntimeMode.BATCH)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))


def test_a_map_task_sends_all_or_that_it_is_too_much() -> None:
    sent = [(0, ("a", b"12345")), (1, ("a", b"12345"))]
    assert list(if_little(iter(sent), 10)) == sent
    assert list(if_little(iter(sent), 9)) == [(-1, ("", b""))]
    assert list(if_little(iter(()), 0)) == []


def twice(row: Row) -> list[Row]:
    return [row, row]


FILES = Files("x/*.parquet", event_time="happened", arrival_time="arrived")


def grouped(
    window: WindowStrategy, trigger: Trigger, combiner: Combiner, *steps: ParDo, source: Files = FILES
) -> Pipeline:
    what = Pipeline("plain", source)
    for step in steps:
        what = what.par_do(step)
    return what.group_by_key_and_window(key="key", window=window, trigger=trigger).combine(answer=combiner)


MINUTES, ON_TIME = FixedWindows("1m"), AtWatermark()
DOUBLED = PerElement(twice, makes={"key": str, "value": int})


@pytest.mark.parametrize(
    ("what", "plain"),
    [
        (grouped(MINUTES, ON_TIME, Sum("value")), True),
        (grouped(SessionWindows("10m"), ON_TIME, Count()), True),
        (grouped(MINUTES, ON_TIME, Count(), DOUBLED), True),
        (grouped(MINUTES, ON_TIME, Collect("value")), False),
        (grouped(MINUTES, Repeat(AtCount(3)), Count()), False),
    ],
)
def test_only_plain_numbers_are_added_up_in_the_driver(what: Pipeline, plain: bool) -> None:
    moment = pl.Datetime("us", "UTC")
    schema = {"key": pl.String(), "value": pl.Int64(), "happened": moment, "arrived": moment}
    assert is_plain(Stages.of(what, schema)) is plain
