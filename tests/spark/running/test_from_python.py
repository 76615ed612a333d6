"""A run from Python: what a script or a notebook writes, and what it gets back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import (
    BoundedDelay,
    Count,
    DefinitionError,
    Files,
    FixedWindows,
    PaneLogReader,
    Pipeline,
    run,
)
from airflow_dataflow_provider.spark.running import submit
from airflow_dataflow_provider.spark.running.workers import ThisProcess


@pytest.fixture
def hourly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Two rows in two hours; runs need no Spark."""
    of_spark = submit.run
    monkeypatch.setattr(submit, "run", lambda submission: of_spark(replace(submission, workers=ThisProcess())))
    rows = {"key": ["k", "k"], "at": ["2013-01-01T10:30:00Z", "2013-01-01T11:30:00Z"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "1.parquet")
    source = Files(f"{tmp_path}/*.parquet", event_time="at", watermark=BoundedDelay("10m"))
    grouped = Pipeline("hourly", source).group_by_key_and_window(key="key", window=FixedWindows("1h"))
    return grouped.combine(n=Count())


def test_a_run_from_python_gives_the_status_and_leaves_results_to_be_read(hourly: Pipeline, tmp_path: Path) -> None:
    state = f"{tmp_path}/state"
    status = run(hourly, "batch", state=state)
    assert (status.pipeline, status.rows.read) == ("hourly", 2)
    assert PaneLogReader(state).current()["n"].to_list() == [1, 1]


def test_a_run_from_python_takes_an_interval_as_people_write_times(hourly: Pipeline, tmp_path: Path) -> None:
    state = f"{tmp_path}/state"
    run(hourly, "BATCH", state=state, interval=("2013-01-01T10:00:00Z", "2013-01-01T11:00:00Z"))
    assert PaneLogReader(state).current()["n"].to_list() == [1]


def test_a_mode_that_is_none_is_refused(hourly: Pipeline, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refusal:
        run(hourly, "nightly", state=f"{tmp_path}/state")
    assert refusal.value.code == "SUBMIT_MODE"
