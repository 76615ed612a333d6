"""The one epoch of an interval publishes what a batch over the same input does, in its data and at its end."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    AtCount,
    AtEpoch,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Max,
    Pipeline,
    RepeatUntil,
    Risk,
    Sum,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, NOTHING_KNOWN
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.strategies import elements, pipelines, result_steps, triggers, windows
from tests.spark.comparison import MANY_SMALL
from tests.spark.in_process import InProcess

DAY = 86_400_000_000
NOW = 1_400_000_000_000_000
EVERYTHING = Interval(0, NOW)


def without_at_epoch(pipeline: Pipeline) -> bool:
    """An interval is one epoch and a batch two, so that one trigger may tell them apart."""
    return not any(isinstance(node, AtEpoch) for node in pipeline.grouping.trigger.walk())


WINDOWS, TRIGGERS = windows("fixed", "sliding", "sessions"), triggers("elements", "mixed")
STEPS_ON_RESULTS = pipelines(
    window=WINDOWS,
    trigger=TRIGGERS,
    combiner=st.sampled_from((Count(), Sum("whole"), Max("whole"))),
    then=result_steps(),
)


@settings(MANY_SMALL, max_examples=200)
@given(
    pipeline=st.one_of(pipelines(window=WINDOWS, trigger=TRIGGERS), STEPS_ON_RESULTS).filter(without_at_epoch),
    arriving=elements(max_size=20),
)  # fmt: skip
def test_an_interval_has_the_panes_of_a_batch(pipeline: Pipeline, arriving: list[Element]) -> None:
    arrived = [replace(element, arrival_time=number) for number, element in enumerate(arriving)]
    reference = Interpreter(pipeline)
    batch = (
        Epoch(Clock(NOW, NOTHING_KNOWN, timers_until=MIN_TIME), arrived),
        Epoch(Clock(NOW, END_OF_INPUT, timers_until=MAX_TIME), horizon=MIN_TIME),
    )
    wanted = [pane for epoch in batch for pane in reference.epoch(epoch)]
    assert_panes(InProcess(pipeline, partitions=1).interval(arrived, NOW, EVERYTHING), wanted)


def test_a_pane_of_a_part_of_the_window_does_not_claim_to_be_complete() -> None:
    grouped = Pipeline("interval", Files("events/*.parquet", event_time="happened")).group_by_key_and_window(
        key="key", window=FixedWindows("1d"), trigger=RepeatUntil(AtCount(1), AtWatermark()), accept=tuple(Risk)
    )
    row = {"key": "k", "site": 1, "whole": 1, "part": 0.0}
    arriving = [Element(row, at, at) for at in range(4)]
    panes = InProcess(grouped.combine(rows=Count())).interval(arriving, NOW, EVERYTHING)
    assert [(pane.values["rows"], pane.timing, pane.completeness) for pane in panes] == [
        (1, "EARLY", 0.0), (2, "EARLY", 0.0), (3, "EARLY", 0.0), (4, "EARLY", 0.0), (4, "ON_TIME", 1.0),
    ]  # fmt: skip
