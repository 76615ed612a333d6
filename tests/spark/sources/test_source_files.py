"""Files as Spark lists them: whatever their names are, each is read once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import AtWatermark, Count, Files, FixedWindows, Pipeline, Repeat, RuntimeMode
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.spark.running.submit import Submission, run
from tests.spark.events import events


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_files_with_odd_names_are_read_each_once(tmp_path: Path) -> None:
    source = tmp_path / "so ur%20ce #1"
    source.mkdir()
    names = ("plain", "with space", "per%20cent", "hash#tag", "question?", "ümlaut", "plus+and&")
    for number, name in enumerate(names):
        events(10, seed=number).write_parquet(source / f"{name}.parquet")
    pl.DataFrame({"other": [1]}).write_parquet(source / "_hidden.parquet")
    counting = (
        Pipeline("odd", Files(str(source), event_time="happened", arrival_time="arrived"))
        .group_by_key_and_window(key="key", window=FixedWindows("1h"), trigger=Repeat(AtWatermark()))
        .combine(count=Count())
    )
    run(Submission(counting, RuntimeMode.MICRO_BATCH, str(tmp_path / "state")))
    assert read_status(str(tmp_path / "state")).rows.read == 10 * len(names)
