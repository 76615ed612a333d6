"""Two groupings that change their mind: whatever was published on the way, the final table is DuckDB's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    AtCount,
    AtEpoch,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    RepeatUntil,
    RuntimeMode,
    SequenceOf,
    SessionWindows,
    Sum,
    Trigger,
    Vectorised,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, to_datetime
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import events, write_files
from tests.spark.in_process import InProcess

GAP, MINUTE, SECOND = 30_000_000, 60_000_000, 1_000_000
NOON = 1_357_041_600_000_000
Row = tuple[str, int, Micros]
Table = list[tuple[int, int, int, int]]
"""Of each minute and number of views: the sessions, and the sum over their events."""

EVERY_EPOCH = SequenceOf(RepeatUntil(AtEpoch(), AtWatermark()), Repeat(AtWatermark()))
TRIGGERS: tuple[Trigger, ...] = (EVERY_EPOCH, Repeat(AtWatermark()), Repeat(AtCount(2)))


def histogram(source: Files, first: Trigger, then: Trigger) -> Pipeline:
    """Sessions of each key, and of those with few events how many there are, in the minute in which each ends."""
    return (
        Pipeline("sessions", source)
        .group_by_key_and_window(
            key="key",
            window=SessionWindows("30s"),
            trigger=first,
            refinement=ACCUMULATING_AND_RETRACTING,
            allowed_lateness="1d",
        )
        .combine(views=Count(), total=Sum("value"))
        .par_do(Vectorised(few_views))
        .group_by_key_and_window(
            key="views",
            window=FixedWindows("1m"),
            trigger=then,
            refinement=ACCUMULATING_AND_RETRACTING,
            allowed_lateness="1d",
        )
        .combine(sessions=Count(), total=Sum("total"))
    )


def few_views(sessions: pl.DataFrame) -> pl.DataFrame:
    return sessions.filter(pl.col("views") < 5)


def in_duckdb(rows: pl.DataFrame) -> Table:
    """The same of all rows at once, as gaps and islands."""
    query = f"""
        WITH marked AS (
            SELECT *, moment - lag(moment) OVER (PARTITION BY key ORDER BY moment) >= {GAP} AS after_a_gap FROM rows
        ), numbered AS (
            SELECT *, sum(coalesce(after_a_gap, true)::INT) OVER (PARTITION BY key ORDER BY moment) AS session
            FROM marked
        ), sessions AS (
            SELECT max(moment) + {GAP} - 1 AS last, count(*) AS views, sum(value) AS total FROM numbered
            GROUP BY key, session HAVING count(*) < 5
        )
        SELECT last // {MINUTE} * {MINUTE} AS minute, views, count(*), sum(total)::BIGINT
        FROM sessions GROUP BY minute, views ORDER BY minute, views
    """
    return duckdb.sql(query).fetchall()


def standing(panes: Iterable[Pane]) -> Table:
    """What stands after all panes; each retraction takes back exactly what stood."""
    stands: dict[tuple[Micros, int], tuple[int, int]] = {}
    for pane in panes:
        place, said = (pane.window.start, pane.key[0]), (pane.values["sessions"], pane.values["total"])
        if pane.is_retraction:
            assert stands.pop(place) == said
        else:
            assert place not in stands
            stands[place] = said
    return [(*place, *said) for place, said in sorted(stands.items())]


@st.composite
def scripts(draw: st.DrawFn) -> tuple[list[Row], tuple[Epoch, ...]]:
    """Events in any order, cut into epochs, under watermarks that rise as they like; nothing comes too late."""
    seconds = st.integers(0, 400).map(lambda second: NOON + second * SECOND)
    rows = draw(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9), seconds), max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    marks = sorted(draw(st.lists(seconds | st.just(MIN_TIME), min_size=len(cuts) + 1, max_size=len(cuts) + 1)))
    borders = [0, *cuts, len(rows)]
    epochs = [
        Epoch(Clock(NOON + 3_600 * SECOND + number, WatermarkCurve.flat(mark)), map(element, rows[first:last]))
        for number, ((first, last), mark) in enumerate(zip(pairwise(borders), marks, strict=True))
    ]
    end = Clock(NOON + 7_200 * SECOND, END_OF_INPUT)
    return rows, (*epochs, Epoch(end))


def element(row: Row) -> Element:
    key, value, at = row
    return Element({"key": key, "value": value, "happened": to_datetime(at)}, at, NOON + 3_600 * SECOND)


def on_the_reference(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[Pane]:
    interpreter = Interpreter(pipeline)
    return [pane for epoch in epochs for pane in interpreter.epoch(epoch)]


def on_the_engine(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[Pane]:
    engine = InProcess(pipeline, {"key": pl.String(), "value": pl.Int64()}, partitions=1)
    return [pane for of_epoch in engine.run(epochs) for pane in of_epoch]


@pytest.mark.parametrize("run_epochs", [on_the_reference, on_the_engine])
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(script=scripts(), first=st.sampled_from(TRIGGERS), then=st.sampled_from(TRIGGERS))
def test_the_final_table_is_that_of_one_query_over_the_same_rows(
    run_epochs: object, script: tuple[list[Row], tuple[Epoch, ...]], first: Trigger, then: Trigger
) -> None:
    rows, epochs = script
    pipeline = histogram(Files("events/*.parquet", event_time="happened"), first, then)
    frame = pl.DataFrame(rows, {"key": pl.String, "value": pl.Int64, "moment": pl.Int64}, orient="row")
    assert standing(run_epochs(pipeline, epochs)) == in_duckdb(frame)  # type: ignore[operator]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_on_spark_the_final_table_is_that_query_s_too_and_much_was_taken_back_on_the_way(tmp_path: Path) -> None:
    rows = events(2_000, keys=60, seed=7)
    write_files(tmp_path / "source", rows, files=8)
    source = Files(
        f"{tmp_path}/source/*.parquet", event_time="happened", arrival_time="arrived", max_files_per_epoch=1
    )  # fmt: skip
    pipeline, state = histogram(source, EVERY_EPOCH, EVERY_EPOCH), str(tmp_path / "state")
    run(Submission(pipeline, RuntimeMode.MICRO_BATCH, state))
    run(Submission(pipeline, RuntimeMode.BATCH, state))
    reader = PaneLogReader(state)
    assert reader.panes()["pane_is_retraction"].sum() > 20
    minute = pl.col("window_start").dt.epoch("us")
    table = reader.current().sort("window_start", "views").select(minute, "views", "sessions", "total")
    assert table.rows() == in_duckdb(rows.with_columns(moment=pl.col("happened").dt.epoch("us")))


def test_the_query_knows_a_gap_from_a_session() -> None:
    rows = [("a", 1, NOON), ("a", 2, NOON + GAP - 1), ("a", 4, NOON + 2 * GAP - 1), ("b", 8, NOON)]
    frame = pl.DataFrame(rows, {"key": pl.String, "value": pl.Int64, "moment": pl.Int64}, orient="row")
    assert in_duckdb(frame) == [(NOON, 1, 1, 8), (NOON, 2, 1, 3), (NOON + MINUTE, 1, 1, 4)]
