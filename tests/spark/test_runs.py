"""Runs on a real Spark: three modes on one state, and every row accounted for."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    DataError,
    Pipeline,
    Refinement,
    RuntimeMode,
    StateError,
)
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.requests.requests import request_stop
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import as_truth, events, pipeline, truth, write_files

if TYPE_CHECKING:
    pass

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

CONF = {"dataflow.state.partitions": "3"}


def go(what: Pipeline, state: Path, mode: RuntimeMode, interval: Interval | None = None) -> None:
    run(Submission(what, mode, str(state), interval, conf=CONF))


def stream_until(what: Pipeline, state: Path, done: Callable[[], bool]) -> None:
    """Run a stream until a condition holds, then ask it to stop."""
    failure: list[BaseException] = []

    def drive() -> None:
        try:
            go(what, state, RuntimeMode.STREAMING)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            failure.append(error)

    thread = threading.Thread(target=drive)
    thread.start()
    while thread.is_alive() and not done():
        time.sleep(0.05)
    if thread.is_alive():
        request_stop(Store.open(str(state)), wall_clock())
    thread.join()
    if failure:
        raise failure[0]


def published(state: Path) -> pl.DataFrame:
    return PaneLogReader(str(state)).current()


def audited(what: Pipeline, state: Path) -> None:
    """The panes are those that the reference gives for the same files, clocks and cuts."""
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), what.grouping), panes_of_reference(str(state), what))


@pytest.mark.parametrize("refinement", Refinement)
def test_micro_batch_then_stream_then_micro_batch_then_batch_is_one_computation(
    refinement: Refinement, tmp_path: Path
) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(6_000)
    what = pipeline(source, refinement=refinement, lateness="1h", max_files_per_epoch=1)
    write_files(source, frame[:2_000], files=2)
    go(what, state, RuntimeMode.MICRO_BATCH)
    write_files(source, frame[2_000:4_000], files=2, first=2)
    stream_until(what, state, lambda: read_status(str(state)).rows.read >= 4_000)
    write_files(source, frame[4_000:], files=2, first=4)
    go(what, state, RuntimeMode.MICRO_BATCH)
    before_the_end = published(state)
    assert 0 < before_the_end["count"].sum() < 6_000, "windows that are still open stay in the state"
    go(what, state, RuntimeMode.BATCH)

    assert as_truth(published(state)).equals(truth(frame))
    audited(what, state)
    status = read_status(str(state))
    assert (status.rows.read, status.rows.expired, status.rows.rejected) == (6_000, 0, 0)


def test_a_batch_and_a_backlog_and_a_stream_end_in_the_same_table(tmp_path: Path) -> None:
    frame = events(3_000, seed=1)
    source = tmp_path / "source"
    write_files(source, frame, files=4)
    what = pipeline(source, lateness="1h", max_files_per_epoch=1)
    go(what, tmp_path / "batch", RuntimeMode.AUTOMATIC)
    go(what, tmp_path / "backlog", RuntimeMode.MICRO_BATCH)
    go(what, tmp_path / "backlog", RuntimeMode.BATCH)
    stream_until(what, tmp_path / "stream", lambda: _read(tmp_path / "stream") >= 3_000)
    go(what, tmp_path / "stream", RuntimeMode.BATCH)
    for name in ("batch", "backlog", "stream"):
        assert as_truth(published(tmp_path / name)).equals(truth(frame)), name
        audited(what, tmp_path / name)


def _read(state: Path) -> int:
    try:
        return read_status(str(state)).rows.read
    except StateError:
        return 0


def test_a_scheduled_run_publishes_what_its_data_completed(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    write_files(source, events(2_000), files=1)
    what = pipeline(source)
    go(what, state, RuntimeMode.MICRO_BATCH)
    kinds = [record.kind for record in EpochLog(Store.open(str(state))).records()]
    assert kinds == ["data", "clock"]
    told = read_status(str(state)).watermarks
    panes = PaneLogReader(str(state)).panes()
    assert len(panes)
    assert panes["window_end"].max().timestamp() * 1e6 <= told.at(90)
    go(what, state, RuntimeMode.MICRO_BATCH)
    assert len(PaneLogReader(str(state)).panes()) == len(panes), "a run that finds nothing publishes nothing"


def test_rows_that_cannot_be_placed_are_rejected_and_rows_that_are_too_late_expire_and_both_are_kept(
    tmp_path: Path,
) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(2_000)
    what = pipeline(source, lateness="0s", max_files_per_epoch=1)
    write_files(source, frame, files=2)
    go(what, state, RuntimeMode.MICRO_BATCH)
    told = read_status(str(state)).watermarks
    odd = frame[:3].with_columns(
        happened=pl.when(pl.int_range(3) == 1).then(frame["happened"].min()),
        arrived=frame["arrived"].max(),
    )
    wrong_clock = frame[:1].with_columns(
        pl.datetime(2100, 1, 1, time_zone="UTC").cast(pl.Datetime("us", "UTC")).alias(name)
        for name in ("happened", "arrived")
    )
    write_files(source, pl.concat([odd, wrong_clock]), files=1, first=2)
    go(what, state, RuntimeMode.MICRO_BATCH)

    status = read_status(str(state))
    assert status.rows.rejected == 2
    assert status.rows.expired >= 1
    assert status.watermarks.at(100) == told.at(100), "an event of the year 2100 moves no watermark"
    for folder, file in (("expired", "expired/*/*.parquet"), ("rejected", "rejected/*/*.parquet")):
        left_behind = next(state.glob(file))
        shutil.copy(left_behind, left_behind.with_name(f"{folder}-of-a-task-that-died.parquet"))
    expired = SideOutputs(str(state)).expired()
    assert len(expired) == status.rows.expired
    assert expired.columns[:4] == ["happened", "arrived", "key", "value"]
    assert SideOutputs(str(state)).expired(since=status.epoch + 1).is_empty()
    assert (expired["_window_end"] <= expired["_watermark"]).all()
    assert expired["_delay"].min().total_seconds() > 0
    rejected = SideOutputs(str(state)).rejected()
    assert rejected["_reason"].to_list() == ["happened is null"] * 2
    assert rejected["value"].to_list() == [frame["value"][0], frame["value"][2]]
    audited(what, state)
    go(what, state, RuntimeMode.BATCH)
    assert published(state)["count"].sum() + status.rows.expired + status.rows.rejected == status.rows.read


def test_past_the_allowed_share_of_rejects_the_run_fails_and_commits_nothing(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(100).with_columns(pl.when(pl.int_range(pl.len()) % 2 == 0).then("happened").alias("happened"))
    write_files(source, frame, files=1)
    with pytest.raises(DataError, match="50 of 100 rows were rejected") as refusal:
        go(pipeline(source, max_rejected_share=0.1), state, RuntimeMode.MICRO_BATCH)
    assert refusal.value.code == "DATA_REJECTED"
    assert "happened is null (50 in " in refusal.value.what
    assert read_status(str(state)).state == "failed"
    assert read_status(str(state)).rows.read == 0


def test_an_interval_batch_replaces_exactly_its_windows_however_often_it_runs(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(3_000)
    write_files(source, frame, files=2)
    what = pipeline(source)
    middle = int(frame["happened"].dt.epoch("us").median()) // 60_000_000 * 60_000_000  # type: ignore[arg-type]
    begin, end = 0, 2**52
    for interval in (Interval(begin, middle), Interval(middle, end), Interval(begin, middle)):
        go(what, state, RuntimeMode.BATCH, interval)
    assert as_truth(published(state)).equals(truth(frame))
    go(what, tmp_path / "other", RuntimeMode.MICRO_BATCH)
    with pytest.raises(StateError, match="still open"):
        go(what, tmp_path / "other", RuntimeMode.BATCH, Interval(begin, end))


def test_a_file_that_cannot_be_read_fails_the_run_by_its_name_and_the_next_run_goes_on(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    frame = events(1_000)
    write_files(source, frame[:500], files=1)
    what = pipeline(source)
    go(what, state, RuntimeMode.MICRO_BATCH)
    broken = source / "part-0001.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"part-0001.parquet cannot be read") as refusal:
        go(what, state, RuntimeMode.MICRO_BATCH)
    assert refusal.value.code == "DATA_UNREADABLE"
    frame[500:].write_parquet(broken)
    go(what, state, RuntimeMode.MICRO_BATCH)
    assert read_status(str(state)).rows.read == 1_000


def test_discarding_panes_add_up_and_retracting_panes_cancel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    frame = events(2_000)
    write_files(source, frame, files=3)
    for refinement in (DISCARDING, ACCUMULATING_AND_RETRACTING):
        state = tmp_path / refinement.value
        what = pipeline(source, refinement=refinement, lateness="1h", max_files_per_epoch=1)
        go(what, state, RuntimeMode.MICRO_BATCH)
        go(what, state, RuntimeMode.BATCH)
        sign = pl.when("pane_is_retraction").then(-1).otherwise(1)
        summed = PaneLogReader(str(state)).panes().group_by("key", "window_start").agg((pl.col("count") * sign).sum())
        assert summed["count"].sum() == 2_000
        assert as_truth(published(state)).equals(truth(frame))
