"""Steps after the last grouping: what they publish, and the table that it adds up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.combiners import Count, Max, Sum
from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.errors import DataError, DefinitionError, SubmissionError
from airflow_dataflow_provider.model.par_do import PerElement, SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sinks import PaneLog, Sink
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.triggers import AtCount, Repeat
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.model.windows import FixedWindows, SessionWindows
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.spark.running.submit import check_plan
from airflow_dataflow_provider.spark.sinks.pane_writer import PaneWriter
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.tasks.user_code import check_named
from airflow_dataflow_provider.spark.values.frames import from_blob
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.strategies import (
    SECOND,
    START,
    Case,
    cases,
    pipelines,
    result_steps,
    triggers,
    windows,
)
from tests.spark.comparison import MANY_SMALL
from tests.spark.in_process import SCHEMA, InProcess
from tests.spark.pane_logs import compaction, publish_frames

BARE = Pipeline("steps", Files("events/*.parquet", event_time="happened"))
COUNTING = BARE.group_by_key_and_window(key="key", window=FixedWindows("1m")).combine(n=Count(), total=Sum("whole"))


def at_least_two(row: Any) -> Any:
    return row if row["n"] >= 2 else None


def renamed(row: Any) -> Any:
    return {**row, "key": "other"}


def scaled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("_element", tens=10 * pl.col("n"))


def moved(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("window_start") + pl.duration(minutes=1))


HAVING = PerElement(at_least_two, makes={"n": int})


# The definition


def test_a_pipeline_with_steps_after_its_last_grouping_can_be_written() -> None:
    pipeline = COUNTING.par_do(HAVING).write(PaneLog("elsewhere"))
    assert pipeline.result_steps == (HAVING,)
    assert pipeline.pane_log == PaneLog("elsewhere")


def test_the_steps_are_part_of_what_prints_and_of_the_fingerprint() -> None:
    pipeline = COUNTING.par_do(HAVING).write(PaneLog())
    assert repr(pipeline) == f"{COUNTING!r}.par_do({HAVING!r}).write(PaneLog())"
    assert pipeline.shape()["par_do of results"] == repr(HAVING)
    assert pipeline.fingerprint() != COUNTING.fingerprint()


@pytest.mark.parametrize("use", [
    lambda pipeline: pipeline.write(PaneLog()),
    lambda pipeline: pipeline.shape(),
    Interpreter,
    lambda pipeline: check_plan(pipeline, None),
    lambda pipeline: Stages.of(pipeline, SCHEMA),
])  # fmt: skip
def test_windows_after_the_last_grouping_are_refused(use: Any) -> None:
    with pytest.raises(DefinitionError, match="nothing groups by these windows") as refused:
        use(COUNTING.assign_windows(FixedWindows("1h")))
    assert refused.value.code == "DEFINITION_WINDOW"


def test_windows_after_a_grouping_are_taken_by_the_next_one() -> None:
    assigned = COUNTING.assign_windows(FixedWindows("1h")).group_by_key_and_window(key="key").combine(n=Count())
    assert assigned.grouping.window == FixedWindows("1h")


def test_spark_columns_after_the_last_grouping_are_refused() -> None:
    with pytest.raises(SubmissionError) as refused:
        check_plan(COUNTING.par_do(SparkColumns("n > 1")), None)
    assert refused.value.code == "ENGINE_PAR_DO"


def test_a_lambda_after_the_last_grouping_is_refused() -> None:
    with pytest.raises(SubmissionError) as refused:
        check_named(COUNTING.par_do(PerElement(lambda row: row, makes={"n": int})))
    assert refused.value.code == "SUBMIT_FUNCTION"


@pytest.mark.parametrize("step", [
    PerElement(at_least_two, makes={"pane_index": int}),
    PerElement(at_least_two, makes={"n": int}, reads=("never",)),
])  # fmt: skip
def test_a_step_that_makes_a_column_of_the_pane_or_reads_what_is_not_there_is_refused(step: PerElement) -> None:
    with pytest.raises(SubmissionError) as refused:
        Stages.of(COUNTING.par_do(step), SCHEMA)
    assert refused.value.code == "SUBMIT_PAR_DO"


# What is published


class Published:
    """An engine whose panes are committed to a log, epoch by epoch."""

    def __init__(self, pipeline: Pipeline, folder: str) -> None:
        self.engine = InProcess(pipeline)
        state = Store.open(folder)
        self.writer = PaneWriter(state, "state", pipeline)
        self.writer.open(self.engine.stages)
        self.pipeline = pipeline

    def epoch(self, number: int, epoch: Epoch) -> None:
        few = [from_blob(blob) for blob in self.engine.blobs(epoch)]
        publish_frames(self.writer, number, few)
        if few:  # so that tables of snapshots go on, too
            compaction(self.writer.url, commits=2).run(number + 1, 0)

    def current(self) -> list[Pane]:
        return panes_of(PaneLogReader(self.writer.url).current(), self.pipeline.grouping)


def table(panes: Iterable[Pane], pipeline: Pipeline) -> list[Pane]:
    """The table of the last grouping before its steps: where panes accumulate, the last one of each window."""
    if pipeline.grouping.refinement is DISCARDING:
        return [*panes]
    rows: dict[Any, Pane] = {}
    for pane in panes:
        rows[pane.key, pane.window] = pane
    return [pane for pane in rows.values() if not pane.is_retraction]


def rows(panes: Iterable[Pane]) -> list[str]:
    return sorted(repr((pane.key, pane.window, sorted(pane.values.items()))) for pane in panes)


def compare_tables(pipeline: Pipeline, epochs: Sequence[Epoch], folder: str) -> None:
    """``R[t] = q(A[t])``, after every epoch: the table is what the steps make of the table without them."""
    without = replace(pipeline, pending=())
    reference, log = Interpreter(without), Published(pipeline, folder)
    panes: list[Pane] = []
    for number, epoch in enumerate(epochs):
        panes += reference.epoch(epoch)
        log.epoch(number, epoch)
        steps = Interpreter(pipeline).results
        wanted = [row for pane in table(panes, pipeline) for row in steps.of([replace(pane, window=pane.window)])]
        assert rows(log.current()) == rows(wanted)


def test_the_table_is_what_the_steps_make_of_the_table_without_them(tmp_path: Path) -> None:
    chosen = pipelines(
        window=windows("fixed", "sliding", "sessions", "global", "calendar"),
        trigger=triggers(),
        combiner=st.sampled_from((Count(), Sum("whole"), Max("whole"))),
        then=result_steps(),
    )
    folders = (str(tmp_path / str(number)) for number in range(10**6))

    @settings(MANY_SMALL, max_examples=100)
    @given(case=cases(chosen, max_size=12))
    def check(case: Case) -> None:
        compare_tables(*case, next(folders))

    check()


def _elements(*times: int) -> list[Element]:
    row = {"key": "a", "site": 1, "whole": 1, "part": 1.0}
    return [Element(row, START + at * SECOND, START + at * SECOND) for at in times]


def _epochs(*batches: list[Element]) -> list[Epoch]:
    clocks = [Clock(START + 120 * SECOND, WatermarkCurve.flat(START - SECOND, (100.0,))) for _ in batches]
    return [Epoch(clock, batch) for clock, batch in zip(clocks, batches, strict=True)]


def few(row: Any) -> Any:
    return row if row["n"] < 2 else None


def all_so_far(row: Any) -> Any:
    return [{"n": row["n"], "number": number} for number in range(row["n"])]


def by_count(step: PerElement | Vectorised, refinement: Refinement) -> Pipeline:
    grouped = BARE.group_by_key_and_window(
        key="key", window=FixedWindows("1m"), trigger=Repeat(AtCount(1)), refinement=refinement
    )
    return grouped.combine(n=Count()).par_do(step)


def test_where_panes_accumulate_one_that_is_dropped_takes_back_the_row_that_stood(tmp_path: Path) -> None:
    pipeline = by_count(PerElement(few, makes={"n": int}), ACCUMULATING)
    log = Published(pipeline, str(tmp_path))
    for number, epoch in enumerate(_epochs(_elements(1), _elements(2, 3))):
        log.epoch(number, epoch)
    panes = PaneLogReader(str(tmp_path)).panes()
    assert panes.select("n", "pane_index", "pane_is_retraction").rows() == [(1, 0, False), (1, 0, True)]
    assert log.current() == []


def test_sessions_that_fire_with_elements_take_back_the_row_that_stood(tmp_path: Path) -> None:
    grouped = BARE.group_by_key_and_window(
        key="key", window=SessionWindows("1m"), trigger=Repeat(AtCount(1)), accept=(Risk.NEEDS_RETRACTION,)
    )
    pipeline = grouped.combine(n=Count()).par_do(PerElement(few, makes={"n": int}))
    # The second element is in the session's bounds, or the pane would be of another window.
    compare_tables(pipeline, _epochs(_elements(1, 1), _elements(1), _elements(30)), str(tmp_path / "state"))


def test_where_panes_accumulate_one_that_is_replaced_is_not_taken_back(tmp_path: Path) -> None:
    pipeline = by_count(PerElement(all_so_far, makes={"n": int, "number": int}), ACCUMULATING)
    log = Published(pipeline, str(tmp_path))
    for number, epoch in enumerate(_epochs(_elements(1), _elements(2))):
        log.epoch(number, epoch)
    assert PaneLogReader(str(tmp_path)).panes()["pane_is_retraction"].sum() == 0
    assert [pane.values for pane in log.current()] == [{"n": 2, "number": 0}, {"n": 2, "number": 1}]


def test_where_panes_are_discarding_the_rows_of_all_of_them_stand(tmp_path: Path) -> None:
    pipeline = by_count(PerElement(all_so_far, makes={"n": int, "number": int}), DISCARDING)
    log = Published(pipeline, str(tmp_path))
    for number, epoch in enumerate(_epochs(_elements(1), _elements(2))):
        log.epoch(number, epoch)
    assert [pane.values for pane in log.current()] == [{"n": 1, "number": 0}, {"n": 1, "number": 0}]


def test_a_row_is_retracted_as_the_steps_have_made_it(tmp_path: Path) -> None:
    pipeline = by_count(Vectorised(scaled), ACCUMULATING_AND_RETRACTING)
    log = Published(pipeline, str(tmp_path))
    for number, epoch in enumerate(_epochs(_elements(1), _elements(2))):
        log.epoch(number, epoch)
    panes = PaneLogReader(str(tmp_path)).panes()
    assert panes.select("tens", "pane_is_retraction").rows() == [(10, False), (10, True), (20, False)]
    assert panes.columns[:4] == ["window_start", "window_end", "key", "tens"]
    assert PaneLogReader(str(tmp_path)).aggregates == ["tens"]


@pytest.mark.parametrize("step", [PerElement(renamed, {"key": str}), Vectorised(moved)])
def test_a_step_that_changes_the_key_or_the_window_of_a_result_is_refused_everywhere(step: Any) -> None:
    pipeline = by_count(step, ACCUMULATING)
    (epoch,) = _epochs(_elements(1))
    for engine in (InProcess(pipeline), Interpreter(pipeline)):
        with pytest.raises(DataError, match="a step after the last grouping changes") as refused:
            engine.epoch(epoch)
        assert refused.value.code == "DATA_PAR_DO"


def test_an_accumulating_grouping_with_steps_needs_a_sink_that_takes_retractions() -> None:
    class Upserts(Sink):
        __slots__ = ()

    with pytest.raises(DefinitionError) as refused:
        by_count(HAVING, ACCUMULATING).write(Upserts())
    assert refused.value.code == "DEFINITION_NEEDS_RETRACTION"
    by_count(HAVING, DISCARDING).write(Upserts())
