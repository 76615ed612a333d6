"""An epoch without elements is left out only where it would publish nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    AfterDelay,
    AtEpoch,
    AtPeriod,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    Risk,
    Trigger,
)
from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.kernel.triggers import compile_trigger
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
from airflow_dataflow_provider.spark.kernel.triggers.node import NOT_FRESH, Percentiles, Windows
from tests.spark.in_process import InProcess


@pytest.mark.parametrize("percentile", [200 / 3, 99.99999, 1.0000001, 66.6666667])
def test_a_percentile_with_many_digits_is_due_when_its_watermark_says_so(percentile: float) -> None:
    grouped = Pipeline("digits", Files("events/*.parquet", event_time="happened")).group_by_key_and_window(
        key="key", window=FixedWindows("10us"), trigger=Repeat(AtWatermark(percentile)), accept=tuple(Risk)
    )
    engine = InProcess(grouped.combine(rows=Count()))
    row = {"key": "k", "site": 1, "whole": 1, "part": 0.0}
    engine.epoch(Epoch(Clock(0, NOTHING_KNOWN), [Element(row, 1, 0)]))
    reached = Epoch(Clock(1, WatermarkCurve(((percentile, 10), (100.0, MIN_TIME)))))
    assert engine.is_due(reached)
    assert [pane.values["rows"] for pane in engine.epoch(reached)] == [1]


@given(st.dictionaries(st.floats(0, 100, exclude_min=True), st.integers(0, 2**50)))
def test_what_is_read_back_from_the_epoch_log_is_what_was_written(watermarks: dict[float, int]) -> None:
    next_due = NextDue(watermarks, first_end=7)
    assert NextDue.from_json(json.loads(json.dumps(next_due.to_json()))) == next_due


WINDOWS = st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 30), st.booleans()), min_size=1)
CLOCKS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=2).map(
    lambda both: [Clock(max(at[0] for at in both[:n]), curve(max(at[1] for at in both[:n]))) for n in (1, 2)]
)


def curve(watermark: int) -> WatermarkCurve:
    return WatermarkCurve(((100.0, watermark),))


@given(
    st.sampled_from([AtWatermark(), AtPeriod("7us"), AtPeriod("7us", offset="2us"), AfterDelay("5us"), AtEpoch()]),
    WINDOWS,
    CLOCKS,
)
def test_a_trigger_of_clocks_is_next_due_exactly_when_it_fires_a_window(
    trigger: Trigger, open_windows: list[tuple[int, int | None, bool]], clocks: list[Clock]
) -> None:
    percentiles = Percentiles(trigger)
    node = compile_trigger(trigger, percentiles, "_trigger")
    end = np.array([each[0] for each in open_windows])
    first = np.array([NOT_FRESH if each[1] is None else each[1] for each in open_windows])
    passed = np.array([each[2] for each in open_windows]).astype(np.uint32) * percentiles.bit(100.0)
    before, after = (Windows(clock, end - 10, end, first, passed) for clock in clocks)
    waiting = ~node.should_fire({}, before)
    fires = bool((node.should_fire({}, after) & waiting).any())
    assert node.next_due({}, before, waiting).is_due(EpochTime(clocks[1], MIN_TIME), 0) is fires


def test_a_window_whose_trigger_has_finished_is_next_due_when_it_expires() -> None:
    grouped = Pipeline("once", Files("events/*.parquet", event_time="happened")).group_by_key_and_window(
        key="key", window=FixedWindows("10us"), trigger=AtWatermark(), allowed_lateness="5us", accept=tuple(Risk)
    )
    engine = InProcess(grouped.combine(rows=Count()))
    engine.epoch(Epoch(Clock(0, NOTHING_KNOWN), [Element({"key": "k"}, 1, 0)]))
    assert engine.is_due(Epoch(Clock(10, curve(10))))
    engine.epoch(Epoch(Clock(10, curve(10))))
    assert not engine.is_due(Epoch(Clock(14, curve(14))))
    assert engine.is_due(Epoch(Clock(15, curve(15))))
