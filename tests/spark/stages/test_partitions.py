"""Which state partition a key lives in does not show: what soaking found, shrunk."""

from __future__ import annotations

from airflow_dataflow_provider import (
    DISCARDING,
    LATEST,
    AtCount,
    AtPeriod,
    AtWatermark,
    Count,
    Files,
    GlobalWindows,
    Pipeline,
    Repeat,
    Risk,
    SequenceOf,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch
from tests.spark.comparison import Way, compare

NOON = 1_357_041_600_000_000
ACCEPTED = (Risk.MAY_LOSE_DATA, Risk.MAY_NEVER_FIRE, Risk.NEEDS_RETRACTION)


def element(key: str, arrived: int) -> Element:
    return Element({"key": key, "site": 1, "whole": 0, "part": 0.0}, NOON, NOON + arrived * 1_000_000)


def test_a_window_of_the_second_grouping_is_asked_under_the_clock_before_whether_elements_came_or_not() -> None:
    trigger = Repeat(SequenceOf(AtPeriod("10s"), AtWatermark(), AtCount(1)))
    what = (
        Pipeline("periods", Files("events/*.parquet", event_time="happened"))
        .group_by_key_and_window(
            key=("key", "site"), window=GlobalWindows(), trigger=AtPeriod("10s"), refinement=DISCARDING,
            output_time=LATEST, accept=ACCEPTED,
        )
        .combine(n=Count())
        .group_by_key_and_window(
            key="key", window=GlobalWindows(), trigger=trigger, refinement=DISCARDING, accept=ACCEPTED
        )
        .combine(n=Count())
    )  # fmt: skip
    epochs = [
        Epoch(
            Clock(NOON + at * 1_000_000, WatermarkCurve.flat(watermark, what.percentiles())),
            [element(key, arrived) for key, arrived in came],
        )
        for at, watermark, came in [
            (607, MIN_TIME, [("a", 593), ("b", 600)]),
            (617, NOON, [("a", 617)]),
            (627, NOON, []),
        ]
    ]
    for partitions in (1, 2, 3, 5):
        compare(what, epochs, Way(partitions=partitions))
