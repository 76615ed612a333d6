"""The queries: every engine, and the reference, give the same answer to each; at sizes that prove nothing of speed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.stream import TestStream
from tests.benchmarks.check import Answer, compare, write_truth
from tests.benchmarks.engines import Ours, Polars, SparkAggregation, SparkForeachBatch
from tests.benchmarks.engines.handwritten_spark import HandwrittenSpark
from tests.benchmarks.engines.ours import state_of
from tests.benchmarks.generate import LONGEST_DELAY, Events, Workload, generate
from tests.benchmarks.queries import QUERIES, Query
from tests.benchmarks.queries.fixed_sums import TIMELY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def asked(query: Query, folder: Path, files: int = 4) -> Events:
    return generate(Workload(rows=20_000, keys=50, files=files, bursts=query.bursts), folder / "events")


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_duckdb_and_polars_give_the_same_answer_to_every_query(name: str, tmp_path: Path) -> None:
    query = QUERIES[name]
    events = asked(query, tmp_path)
    assert write_truth(query, events, tmp_path / "truth.parquet") > 20
    Polars().run(query, events, tmp_path)
    assert compare(query, "polars", Polars().answer(query, events, tmp_path), tmp_path / "truth.parquet") == 0


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_what_a_pipeline_means_is_what_its_sql_says(name: str, tmp_path: Path) -> None:
    query = QUERIES[name]
    events = generate(Workload(rows=2_000, keys=7, files=4, bursts=query.bursts), tmp_path / "events")
    write_truth(query, events, tmp_path / "truth.parquet")
    stream = TestStream(query.pipeline(events), day="2024-01-01")
    for path in events.paths:
        rows = pl.read_parquet(path)
        newest = rows["arrival_time"].max()
        stream = stream.advance_processing_time(newest).add(*rows.drop("arrival_time").to_dicts())
        behind = TIMELY if name == "Q3" else LONGEST_DELAY
        stream = stream.advance_watermark(newest - dt.timedelta(microseconds=behind))
    standing = {}
    panes = stream.end_of_input().run("reference")
    for pane in panes:
        group = (pane.index,) if name == "Q5" else (pane.window.start, pane.window.end)
        if pane.is_retraction:
            del standing[*pane.key, *group]
        else:
            standing[*pane.key, *group] = [pane.values[value] for value in query.values]
    if name == "Q3":
        # The clock moves on its own here: on time nothing has changed, and what has not is not published again.
        assert {pane.timing.name for pane in panes} == {"EARLY", "LATE"}
        assert any(pane.is_retraction for pane in panes)
    answer = pl.DataFrame([(*group, *values) for group, values in standing.items()], list(query.columns), orient="row")
    answer.write_parquet(tmp_path / "answer.parquet")
    assert compare(query, "reference", Answer(tmp_path / "answer.parquet"), tmp_path / "truth.parquet") == 0


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param("Q2", SparkAggregation("append"), id="Q2"),
        pytest.param("Q3", SparkAggregation("update"), id="Q3"),
        pytest.param("Q4", SparkAggregation("append"), id="Q4"),
        pytest.param("Q5", SparkForeachBatch(), id="Q5"),
        pytest.param("Q6", SparkAggregation("append"), id="Q6"),
        pytest.param("Q7", SparkAggregation("append"), id="Q7"),
    ],
)
def test_hand_written_spark_gives_the_right_answer(
    name: str, engine: HandwrittenSpark, spark: SparkSession, tmp_path: Path
) -> None:
    query = QUERIES[name]
    assert engine.answers(query)
    events = asked(query, tmp_path)
    write_truth(query, events, tmp_path / "truth.parquet")
    answer = engine.rehearse(query, events, tmp_path) or engine.answer(query, events, tmp_path)
    assert answer is not None
    owed = pl.scan_parquet(tmp_path / "truth.parquet").select(pl.len()).collect().item()
    assert compare(query, engine.name, answer, tmp_path / "truth.parquet") < owed


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(QUERIES.keys() - {"Q1"}))
def test_ours_gives_the_right_answer(name: str, spark: SparkSession, tmp_path: Path) -> None:
    query = QUERIES[name]
    # Enough epochs for something to come after a window was published as complete.
    events = asked(query, tmp_path, files=40 if name == "Q3" else 12)
    write_truth(query, events, tmp_path / "truth.parquet")
    Ours().run(query, events, tmp_path)
    answer = Ours().answer(query, events, tmp_path)
    assert compare(query, "ours", answer, tmp_path / "truth.parquet") == 0
    assert answer.state is not None
    assert answer.state.open_windows > 0
    assert answer.state.stands > 0
    if name == "Q3":
        panes = PaneLogReader(state_of(tmp_path)).panes()
        assert {*panes["pane_timing"]} == {"EARLY", "ON_TIME", "LATE"}
        assert panes["pane_is_retraction"].any()
