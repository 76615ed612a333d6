"""The reference interpreter asks Spark what its expressions mean."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from airflow_dataflow_provider import Count, Files, FixedWindows, Max, Min, Pipeline, SparkColumns, Sum
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.testing.expressions import evaluator
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.stream import TestStream

SOURCE = Pipeline("p", Files("events/*.parquet", event_time="happened"))


def grouped(*steps: SparkColumns) -> Pipeline:
    before = SOURCE
    for step in steps:
        before = before.par_do(step)
    return before.group_by_key_and_window(key="key", window=FixedWindows("1m")).combine(
        rows=Count(), total=Sum("double"), least=Min("value"), most=Max("value")
    )


def test_a_pipeline_without_expressions_needs_no_spark() -> None:
    assert evaluator(SOURCE.group_by_key_and_window(key="k", window=FixedWindows("1m")).combine(n=Count())) is None


def evaluated(step: SparkColumns, *rows: dict[str, object]) -> list[tuple[int, dict[str, object]]]:
    """The rows after a step, each with the event time of the element that it is made of."""
    evaluate = evaluator(grouped(step))
    assert evaluate is not None
    return [
        (result.event_time, dict(result.row))
        for result in evaluate(step, [Element(row, number, -number) for number, row in enumerate(rows)])
    ]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_columns_are_added_and_replaced_and_the_expressions_see_them_as_they_were(self) -> None:
        step = SparkColumns(value="value + 1", double="value * 2")
        assert evaluated(step, {"value": 1, "a b": "kept"}, {"value": None, "a b": None}) == [
            (0, {"a b": "kept", "value": 2, "double": 2}),
            (1, {"a b": None, "value": None, "double": None}),
        ]

    def test_rows_for_which_the_condition_is_not_true_are_dropped_and_the_others_stay_in_order(self) -> None:
        rows = [{"value": number % 3 or None} for number in range(20)]
        kept = evaluated(SparkColumns("value < 2"), *rows)
        assert kept == [(number, {"value": 1}) for number in range(20) if number % 3 == 1]

    def test_values_come_back_as_what_they_were(self) -> None:
        at = dt.datetime(2013, 1, 1, 12, 0, 26, 5, tzinfo=dt.UTC)
        row = {"a": at, "b": dt.date(2013, 1, 1), "c": Decimal("1.25"), "d": True, "e": b"\x00", "f": 0.1, "g": None}
        [(_, came)] = evaluated(SparkColumns(more="a + interval 1 hour"), row)
        assert came == row | {"more": at + dt.timedelta(hours=1)}

    def test_no_elements_are_none(self) -> None:
        assert evaluated(SparkColumns(x="1")) == []

    def test_a_stream_runs_on_the_reference_through_several_steps(self) -> None:
        pipeline = grouped(SparkColumns("value > 1", key="upper(key)"), SparkColumns(double="value * 2"))
        stream = TestStream(pipeline)
        for key, value in [("a", 1), ("A", 3), ("b", 2), ("a", 5)]:
            stream = stream.add({"key": key, "value": value, "happened": "12:00:26"})
        assert_panes(
            stream.end_of_input().run(),
            [
                pane("A", "12:00", "12:01", rows=2, total=16, least=3, most=5),
                pane("B", "12:00", "12:01", rows=1, total=4, least=2, most=2),
            ],
        )
