"""Splits: packed by size, the same way each time; whatever their names are, they are read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import AtWatermark, Count, Files, FixedWindows, Pipeline, Repeat, RuntimeMode
from airflow_dataflow_provider.progress.status import read_status
from airflow_dataflow_provider.spark.splits import Split, packed
from airflow_dataflow_provider.spark.submit import Submission, run
from tests.spark.events import events

_LENGTHS = st.lists(st.integers(0, 300 * 2**20), max_size=40)


@given(lengths=_LENGTHS, parallelism=st.integers(1, 8))
def test_every_split_is_in_one_task_and_no_task_has_much_more_than_another(
    lengths: list[int], parallelism: int
) -> None:
    splits = [Split(f"/{number}", length) for number, length in enumerate(lengths)]
    tasks = packed(splits, parallelism)
    assert sorted(split for task in tasks for split in task) == sorted(splits)
    assert all(tasks)
    assert len(tasks) >= min(len(splits), parallelism)
    sizes = [sum(split.length for split in task) for task in tasks]
    if sizes:
        assert max(sizes) - min(sizes) <= max(lengths)
    assert packed(splits[::-1], parallelism) == tasks


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
