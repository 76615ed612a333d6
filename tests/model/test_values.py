"""Every value of the model is frozen, and prints as the code that makes it."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import airflow_dataflow_provider
from airflow_dataflow_provider import (
    AtPeriod,
    BoundedDelay,
    DelayWatermark,
    Files,
    FixedWindows,
    GlobalWindows,
    PaneLog,
    Pipeline,
    Sum,
    Window,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import LONGEST
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.testing import strategies as generated

NAMES = {name: getattr(airflow_dataflow_provider, name) for name in airflow_dataflow_provider.__all__}
NAMES |= {"Clock": Clock, "WatermarkCurve": WatermarkCurve}


def read_back(value: object) -> Any:
    return eval(repr(value), dict(NAMES))


@given(generated.pipelines())
def test_a_pipeline_prints_as_the_code_that_makes_it(pipeline: Pipeline) -> None:
    assert read_back(pipeline) == pipeline


@given(generated.pipelines())
def test_a_pipeline_read_back_from_its_print_has_the_same_fingerprint(pipeline: Pipeline) -> None:
    assert read_back(pipeline).fingerprint() == pipeline.fingerprint()


@given(generated.triggers())
def test_a_trigger_prints_as_the_code_that_makes_it(trigger: object) -> None:
    assert read_back(trigger) == trigger


@given(st.floats(1, 100))
def test_a_trigger_at_any_percentile_prints_as_the_code_that_makes_it(percentile: float) -> None:
    trigger = airflow_dataflow_provider.AtWatermark(percentile)
    assert read_back(trigger) == trigger


@given(st.integers(1, LONGEST), st.integers(-LONGEST, LONGEST))
def test_windows_of_any_size_and_offset_print_as_the_code_that_makes_them(size: int, offset: int) -> None:
    strategy = FixedWindows(f"{size}us", f"{offset}us")
    assert read_back(strategy) == strategy


@pytest.mark.parametrize(
    "value",
    [
        GlobalWindows(),
        Window(-5, 5),
        PaneLog(),
        PaneLog("elsewhere"),
        DelayWatermark(),
        DelayWatermark(plausible="1d", horizons=("1h", "90m"), idle_after="5m"),
        AtPeriod("1h", offset="15m"),
        AtPeriod("1h", offset="-15m"),
        BoundedDelay("10m"),
        BoundedDelay("0s", idle_after="5m"),
        Files("a.csv", event_time="t"),
        Files("a.dat", event_time="t", format="csv"),
        Files("folder", event_time="t", arrival_time="seen", format="csv", time_zone="Europe/Rome", continuous=True),
        Files("a", "t", watermark=DelayWatermark(plausible="1d"), max_files_per_epoch=3, max_rejected_share=0.5),
        Pipeline("bare", Files("a", event_time="t")),
        Clock(7, WatermarkCurve(((97.5, 3), (100.0, 1)))),
        NOTHING_KNOWN,
        *airflow_dataflow_provider.Refinement,
    ],
    ids=repr,
)
def test_a_value_prints_as_the_code_that_makes_it(value: object) -> None:
    assert read_back(value) == value


@given(generated.pipelines())
def test_a_pipeline_is_hashable_and_equal_pipelines_have_equal_hashes(pipeline: Pipeline) -> None:
    assert hash(read_back(pipeline)) == hash(pipeline)


def test_a_pipeline_cannot_be_changed() -> None:
    pipeline = Pipeline("p", Files("a", event_time="t"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        pipeline.name = "q"  # type: ignore[misc]


def test_what_is_done_to_the_mapping_of_combiners_does_not_reach_the_pipeline() -> None:
    grouped = Pipeline("p", Files("a", event_time="t")).group_by_key_and_window(key="k", window=GlobalWindows())
    pipeline = grouped.combine(total=Sum("x"))
    pipeline.grouping.combiners["other"] = Sum("y")
    assert pipeline == grouped.combine(total=Sum("x"))


def test_an_error_keeps_its_code_across_a_process_border() -> None:
    with pytest.raises(airflow_dataflow_provider.DefinitionError) as caught:
        FixedWindows(0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.code, str(again)) == (type(caught.value), caught.value.code, str(caught.value))
