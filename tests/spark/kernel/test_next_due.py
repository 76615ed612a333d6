"""An epoch without elements is left out only where it would publish nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import AtWatermark, Count, Files, FixedWindows, Pipeline, Repeat, Risk
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NextDue
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
def test_what_is_read_back_from_the_epoch_log_is_what_was_written(unreached: dict[float, int]) -> None:
    next_due = NextDue(unreached, first_end=7)
    assert NextDue.from_json(json.loads(json.dumps(next_due.to_json()))) == next_due
