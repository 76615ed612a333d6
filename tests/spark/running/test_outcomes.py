"""What a run says of itself: why it has published nothing, what it has set aside, and when that is a failure."""

from __future__ import annotations

import datetime as dt
import os
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    AtWatermark,
    Count,
    DataError,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    RuntimeMode,
    SubmissionError,
    Vectorised,
)
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess

LONG_AGO = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
LAST_MINUTE = dt.datetime.now(tz=dt.UTC) - dt.timedelta(minutes=1)


def no_elements(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.head(0)


def counting(folder: Path, *steps: Any, **options: Any) -> Pipeline:
    pipeline = Pipeline("counting", Files(f"{folder}/*.csv", event_time="at", **options))
    for step in steps:
        pipeline = pipeline.par_do(step)
    return pipeline.group_by_key_and_window(
        key="key", window=FixedWindows("1h"), trigger=Repeat(AtWatermark()), allowed_lateness="1d"
    ).combine(count=Count())


def add(folder: Path, *times: str | dt.datetime) -> None:
    """A file that is newer than those before it."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.iterdir()))
    texts = [time if isinstance(time, str) else time.isoformat() for time in times]
    file = folder / f"{number}.csv"
    file.write_text("\n".join(["at,key", *(f"{text},a" for text in texts)]) + "\n")
    os.utime(file, (1_700_000_000 + number,) * 2)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


def go(what: Pipeline, source: Path, mode: RuntimeMode = RuntimeMode.MICRO_BATCH, **options: Any) -> Status:
    state = str(source.parent / "state")
    run(Submission(what, mode, state, workers=ThisProcess(), **options))
    return read_status(state)


def kinds(status: Status) -> list[str]:
    return [finding.kind for finding in status.findings]


def test_old_files_without_arrival_times_tell_why_no_pane_comes_and_what_to_do(source: Path) -> None:
    add(source, *[LONG_AGO] * 3)
    status = go(counting(source), source)
    assert (status.rows.read, status.rows.implausible, status.panes, kinds(status)) == (3, 3, 0, ["no_watermark"])
    (finding,) = status.findings
    assert "delays of all 3 elements are implausible" in finding.what
    for remedy in ("arrival_time=", "BoundedDelay(", "--mode batch"):
        assert remedy in finding.hint
    assert go(counting(source), source, RuntimeMode.BATCH).panes == 1


def test_windows_that_are_open_tell_what_their_panes_wait_for(source: Path) -> None:
    add(source, LAST_MINUTE)
    status = go(counting(source), source)
    end = LAST_MINUTE.replace(minute=0, second=0, microsecond=0) + dt.timedelta(hours=1)
    assert (status.waiting.windows, status.waiting.watermarks) == (1, ((100.0, to_micros(end)),))
    assert kinds(status) == ["windows_open"]
    assert (
        f"1 window is open; the next pane waits for the watermark to reach {end:%Y-%m-%dT%H}" in status.findings[0].what
    )


def test_a_source_without_files_is_said_to_have_had_no_rows(source: Path) -> None:
    source.mkdir()
    assert kinds(go(counting(source), source)) == ["nothing_read"]


def test_steps_that_keep_no_element_are_named_as_a_cause(source: Path) -> None:
    add(source, LAST_MINUTE)
    assert kinds(go(counting(source, Vectorised(no_elements)), source)) == ["nothing_grouped"]


def test_rejected_rows_are_told_with_their_reasons_over_all_runs(source: Path) -> None:
    add(source, LONG_AGO, "soon", "later")
    go(counting(source), source)
    add(source, LONG_AGO, "", "never")
    status = go(counting(source), source, RuntimeMode.BATCH)
    assert status.rows.reasons == (("at is not a time", 3), ("at is null", 1))
    (finding,) = (each for each in status.findings if each.kind == "rejected")
    assert "4 of 6 rows were rejected: at is not a time (3), at is null (1)" in finding.what


def test_a_run_fails_where_all_rows_are_rejected_and_so_does_the_next_one(source: Path) -> None:
    add(source, "soon")
    for _ in range(2):
        with pytest.raises(DataError, match="all 1 rows were rejected: at is not a time") as refusal:
            go(counting(source), source)
        assert refusal.value.code == "DATA_REJECTED"
        failed = read_status(str(source.parent / "state"))
        assert ("all 1 rows were rejected" in failed.detail, failed.findings) == (True, ())
    assert kinds(go(counting(source, max_rejected_share=1), source)) == ["rejected"]


def test_a_run_does_not_begin_where_times_are_written_in_another_way_than_said(source: Path) -> None:
    add(source, "2013-01-01T12:00:00")
    with pytest.raises(SubmissionError) as refusal:
        go(counting(source), source)
    assert refusal.value.code == "SOURCE_NAIVE_TIME"
    assert go(counting(source, max_rejected_share=1), source).rows.rejected == 1


def test_a_bad_file_fails_no_run_that_reads_a_good_one(source: Path) -> None:
    add(source, "soon")
    add(source, LAST_MINUTE)
    what = counting(source, max_files_per_epoch=1)
    assert (go(what, source).rows.rejected, read_status(str(source.parent / "state")).rows.read) == (1, 2)
    add(source, "soon")
    with pytest.raises(DataError, match="all 1 rows"):
        go(what, source)


def test_a_stream_that_has_read_good_rows_goes_on_after_a_bad_file(source: Path) -> None:
    add(source, LAST_MINUTE)
    go(counting(source), source)
    add(source, "soon")
    stopping = threading.Event()

    def stop(record: EpochRecord) -> None:
        if record.rows.rejected:
            stopping.set()

    state = str(source.parent / "state")
    run(Submission(counting(source), RuntimeMode.STREAMING, state, workers=ThisProcess(), on_epoch=stop), stopping)
    assert read_status(state).rows.rejected == 1


def test_an_interval_fails_where_all_rows_are_rejected_and_not_where_none_is_in_it(source: Path) -> None:
    add(source, "soon")
    interval = Interval(to_micros(LONG_AGO), to_micros(LONG_AGO + dt.timedelta(hours=1)))
    with pytest.raises(DataError, match="all 1 rows"):
        go(counting(source), source, RuntimeMode.BATCH, interval=interval)
    add(source, LAST_MINUTE)
    assert kinds(go(counting(source), source, RuntimeMode.BATCH, interval=interval)) == ["rejected"]
