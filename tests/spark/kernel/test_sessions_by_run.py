"""Sessions under triggers that look at elements, with many elements of a key in an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AnyOf,
    AtCount,
    AtPeriod,
    AtWatermark,
    Collect,
    Count,
    Files,
    Mean,
    Pipeline,
    Refinement,
    Repeat,
    RepeatUntil,
    Risk,
    SequenceOf,
    SessionWindows,
    Sum,
    Trigger,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME
from airflow_dataflow_provider.model.triggers import Situation
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.spark.kernel.session_runs import last_of, runs_of
from airflow_dataflow_provider.testing.strategies import (
    Case,
    cases,
    element_triggers,
    pipelines,
    trees,
    triggers,
    windows,
)
from tests.spark.comparison import MANY_SMALL, Way, compare


@dataclass(frozen=True)
class AtLength(Trigger):
    """A user's own: where a session has become so much longer since it fired, and by all that it may see."""

    length: int
    looks_at_elements = True

    def initial(self) -> tuple[int, int]:
        return 0, 0

    def on_element(self, state: tuple[int, int], element: Element, now: Situation) -> tuple[int, int]:
        length, seen = state
        first = now.first_arrival or 0
        return length, (seen * 31 + element.row["whole"] + now.window.end + first + len(now.passed)) % 1_000_003

    def on_merge(self, states: Sequence[tuple[int, int]], now: Situation) -> tuple[int, int]:
        if len(states) == 1:
            return states[0]
        seen = sum(seen for _, seen in states) + now.window.start + len(now.passed) + (now.first_arrival or 0)
        return max(length for length, _ in states), seen % 1_000_003

    def should_fire(self, state: tuple[int, int], now: Situation) -> bool:
        length, seen = state
        return now.window.end - now.window.start >= length + self.length or seen % 5 == 0

    def on_fire(self, state: tuple[int, int], now: Situation) -> tuple[tuple[int, int], bool]:
        return (now.window.end - now.window.start, (state[1] + len(now.passed) + now.is_firing) % 1_000_003), False


SECOND = 1_000_000
NOW = 10_000 * SECOND
TRIGGERS: dict[str, Trigger] = {
    "count": Repeat(AtCount(3)),
    "until": SequenceOf(RepeatUntil(AtCount(2), AtWatermark(97)), Repeat(AtWatermark())),
    "own": AtLength(40 * SECOND),
    "own until": SequenceOf(RepeatUntil(AtLength(20 * SECOND), AtWatermark(97)), Repeat(AtWatermark())),
    "count or tick": Repeat(AnyOf(AtCount(4), AtPeriod("1m"))),
}
ORDERS = {
    # The second half joins the first half's sessions, from the left to the right: as many merges deep as there are.
    "bridges": [15 * at for at in range(60)] + [15 * at + 7 for at in range(60)],
    "from both ends": [at for pair in zip(range(0, 600, 8), range(1_200, 600, -8), strict=True) for at in pair] + [600],
    "halves": [15 * (at * 37 % 64) for at in range(64)] + [15 * (at * 29 % 64) + 7 for at in range(64)],
    "one after the other": [at * 4 + at // 20 * 30 for at in range(120)],
}


def arriving(seconds: Sequence[int]) -> list[Element]:
    return [
        Element({"key": "k", "site": 1, "whole": number % 7, "part": 0.25}, at * SECOND, number * SECOND)
        for number, at in enumerate(seconds)
    ]


@pytest.mark.parametrize("refinement", [DISCARDING, ACCUMULATING, ACCUMULATING_AND_RETRACTING])
@pytest.mark.parametrize("trigger", TRIGGERS.values(), ids=list(TRIGGERS))
@pytest.mark.parametrize("order", ORDERS.values(), ids=list(ORDERS))
def test_sessions_that_merge_deep_have_the_panes_of_the_reference(
    order: list[int], trigger: Trigger, refinement: Refinement
) -> None:
    grouped = Pipeline("deep", Files("events/*.parquet", event_time="happened")).group_by_key_and_window(
        key="key", window=SessionWindows("10s"), trigger=trigger, refinement=refinement, accept=tuple(Risk)
    )
    pipeline = grouped.combine(rows=Count(), total=Sum("whole"), mean=Mean("part"), all=Collect("whole"))
    elements = arriving(order)
    known = WatermarkCurve(((97.0, 400 * SECOND), (100.0, 100 * SECOND)))
    third = len(elements) // 3
    epochs = [
        Epoch(Clock(NOW, NOTHING_KNOWN), elements[:third]),
        Epoch(Clock(2 * NOW, known), elements[third:]),
        Epoch(Clock(3 * NOW, WatermarkCurve.flat(MAX_TIME))),
    ]
    compare(pipeline, epochs, Way(partitions=1))


@settings(MANY_SMALL, max_examples=25)
@given(
    case=cases(
        pipelines(window=windows("sessions"), trigger=triggers("mixed") | trees(element_triggers(), depth=2)),
        max_size=80, with_batches=True,
    )
)  # fmt: skip
def test_many_elements_have_the_panes_of_the_reference(case: Case) -> None:
    compare(*case, Way(partitions=1))


def columns(*of: Sequence[int]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    return tuple(np.array(column, dtype=np.int64) for column in of)


def test_a_run_ends_where_an_element_joins_sessions() -> None:
    keys, starts = [0, 0, 1, 0, 0, 0], [0, 15, 15, 3, 8, 30]
    runs = runs_of(columns(keys, starts, [at + 10 for at in starts]), columns([0], [30], [40]), MIN_TIME)
    assert runs.of.tolist() == [1, 2, 3, 1, 4, 0]
    assert runs.parent.tolist() == [-1, 4, 4, -1, -1]
    assert runs.level.tolist() == [0, 0, 0, 0, 1]
    assert list(zip(runs.start.tolist(), runs.end.tolist(), strict=True)) == [
        (0, 10), (15, 25), (15, 25), (0, 13), (0, 25), (30, 40),
    ]  # fmt: skip
    assert last_of(runs.parent).tolist() == [0, 4, 4, 3, 4]


def test_an_element_whose_session_has_expired_joins_none() -> None:
    runs = runs_of(columns([0, 0], [0, 5], [10, 15]), columns([0], [14], [24]), 12)
    assert runs.of.tolist() == [-1, 0]
    assert runs.parent.tolist() == [-1]
