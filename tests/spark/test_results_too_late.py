"""A result that comes too late for the next grouping is set aside and counted, on every engine: nothing opens anew."""

from __future__ import annotations

from airflow_dataflow_provider import Count, Files, FixedWindows, Pipeline, SessionWindows, Sum, WindowStrategy
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret
from airflow_dataflow_provider.testing.strategies.window_kinds import Validity
from tests.spark.comparison import Way, compare

NOON = 1_357_041_600_000_000
MINUTE = 60_000_000


def counted(second: WindowStrategy, *, may_shrink: bool) -> Pipeline:
    """What holds until the next element comes, counted by the time at which it ended."""
    return (
        Pipeline("counted", Files("events/*.parquet", event_time="happened"))
        .group_by_key_and_window(key=("key", "site"), window=Validity(may_shrink=may_shrink))
        .combine(n=Count())
        .group_by_key_and_window(key="key", window=second)
        .combine(n=Sum("n"))
    )


def epochs(what: Pipeline) -> list[Epoch]:
    """Two minutes go by; then it turns out that the first window ended after ten seconds, and the next after twenty."""

    def epoch(now: Micros, watermark: Micros, *seconds: int) -> Epoch:
        row = {"key": "a", "site": 1, "whole": 0, "part": 0.0}
        came = [Element(row, NOON + second * 1_000_000, now) for second in seconds]
        return Epoch(Clock(now, WatermarkCurve.flat(watermark, what.percentiles())), came)

    late = NOON + 2 * MINUTE
    return [epoch(NOON, MIN_TIME, 0), epoch(late, late), epoch(late, late, 10), epoch(late, late, 30)]


def test_of_a_strategy_that_lies_about_shrinking_results_are_set_aside() -> None:
    for second in (FixedWindows("1m"), SessionWindows("1m")):
        what = counted(second, may_shrink=False)
        outcome = interpret(what, epochs(what))
        assert outcome.counts.expired == len(outcome.expired) == 2
        assert outcome.panes == ()
        for partitions in (1, 3):
            compare(what, epochs(what), Way(partitions=partitions))


def test_of_one_that_says_so_every_result_finds_its_window() -> None:
    what = counted(FixedWindows("1m"), may_shrink=True)
    outcome = interpret(what, epochs(what))
    assert outcome.counts.expired == 0
    assert [pane.values["n"] for pane in outcome.panes] == [1, 2]
    compare(what, epochs(what), Way())
