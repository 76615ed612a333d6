"""The reference takes a sample of real size: its work does not grow with the square of the windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from airflow_dataflow_provider import AtCount, AtWatermark, Count, Files, Pipeline, Repeat, Sum, Trigger, Window
from airflow_dataflow_provider.model.elements import Key
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.testing.stream import TestStream


@dataclass(frozen=True)
class Seconds(WindowStrategy):
    """Windows that never merge; being asked is an error."""

    may_shrink = False

    def assign(self, event_time: Micros, key: Key = (), row: object = None) -> tuple[Window]:  # noqa: ARG002
        start = event_time - event_time % 1_000_000
        return (Window(start, start + 1_000_000),)

    def merge(self, windows: Iterable[Window]) -> Sequence[tuple[Window, frozenset[Window]]]:
        raise AssertionError(f"all windows of a key were looked through for one element: {list(windows)}")


@pytest.mark.parametrize("trigger", [Repeat(AtWatermark()), Repeat(AtCount(1))])
def test_windows_that_never_merge_are_not_looked_through_for_each_element(trigger: Trigger) -> None:
    source = Files("events/*.parquet", event_time="happened")
    grouped = Pipeline("seconds", source).group_by_key_and_window(key="key", window=Seconds(), trigger=trigger)
    stream = TestStream(grouped.combine(rows=Count(), total=Sum("value")))
    for minute in range(10):
        stream = stream.add(*(("k", 1, f"12:{minute:02}:{second:02}") for second in range(60)))
    panes = stream.end_of_input().run()
    assert [pane.values["rows"] for pane in panes] == [1] * 600
