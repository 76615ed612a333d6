"""ParDo on the reference: what elements become before they are grouped, and where windows may be assigned."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    AtEpoch,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    GlobalWindows,
    PerElement,
    Pipeline,
    Repeat,
    SessionWindows,
    SlidingWindows,
    SparkColumns,
    Sum,
    Vectorised,
)
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.par_do import AssignWindows
from airflow_dataflow_provider.reference.interpreter import Interpreter, interpret
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.stream import TestStream

BARE = Pipeline("p", Files("events/*.parquet", event_time="happened"))
MINUTES = FixedWindows("1m")
DAY = FixedWindows("1d")


def expand_prefixes(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The paper's ExpandPrefixes (section 2.2.1): every prefix of the key, with its value."""
    word = row["word"]
    return ({"prefix": word[:length], "value": row["value"]} for length in range(1, len(word) + 1))


PREFIXES = PerElement(expand_prefixes, makes={"prefix": str, "value": int})


def run(pipeline: Pipeline, *rows: dict[str, Any]) -> dict[Any, Any]:
    """The totals at the end of input, by key."""
    panes = TestStream(pipeline).add(*rows).end_of_input().run()
    return {got.key[0]: got.values["total"] for got in panes}


def row(time: str = "12:00:10", **columns: object) -> dict[str, Any]:
    return {"happened": time, **columns}


def totals(pipeline: Pipeline, key: str = "key", **how: Any) -> Pipeline:
    return pipeline.group_by_key_and_window(**{"key": key, "window": DAY, **how}).combine(total=Sum("value"))


# One element at a time


def test_the_papers_prefixes_are_expanded_and_summed() -> None:
    words = row(word="fix", value=1), row(word="fit", value=2)
    assert run(totals(BARE.par_do(PREFIXES), key="prefix"), *words) == {"f": 3, "fi": 3, "fix": 1, "fit": 2}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (None, {}),
        ({"key": "k", "value": 5}, {"k": 5}),
        ([], {}),
        ([{"key": "a"}, {"key": "b", "value": 1}], {"a": 0, "b": 1}),
    ],
)
def test_an_element_becomes_none_one_or_several(made: Any, expected: dict[str, int]) -> None:
    step = PerElement(lambda _: made, makes={"key": str, "value": int})
    assert run(totals(BARE.par_do(step)), row(x=1)) == expected


def test_a_function_sees_what_it_reads_and_a_result_has_what_it_says_it_makes() -> None:
    seen: list[dict[str, Any]] = []

    def function(columns: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(dict(columns))
        return {"key": "k", "unsaid": 1}

    step = PerElement(function, makes={"key": str, "value": int}, reads=("a", "missing"))
    assert step.results({"a": 1, "b": 2}) == [{"key": "k", "value": None}]
    assert seen == [{"a": 1, "missing": None}]


def test_a_result_has_the_times_of_its_element() -> None:
    pipeline = BARE.par_do(PREFIXES).group_by_key_and_window(key="prefix", window=MINUTES).combine(n=Count())
    stream = TestStream(pipeline).add(row("12:00:59", word="a", value=1), row("12:01:00", word="a", value=1))
    assert_panes(stream.end_of_input().run(), [pane("a", "12:00", "12:01", n=1), pane("a", "12:01", "12:02", n=1)])


def test_a_per_element_step_pickles_with_the_columns_that_it_makes() -> None:
    assert pickle.loads(pickle.dumps(PREFIXES)) == PREFIXES
    assert repr(PREFIXES) == "PerElement(test_par_do.expand_prefixes, makes={'prefix': str, 'value': int})"


# Whole frames


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame.with_columns(value=pl.col("value") * 10)])


def test_a_function_of_frames_gets_a_frame_and_keeps_the_times() -> None:
    assert run(totals(BARE.par_do(Vectorised(doubled))), row(key="k", value=1), row(key="k", value=2)) == {"k": 33}


def test_a_function_of_arrow_tables_gets_a_table() -> None:
    step = Vectorised(lambda table: table.slice(0, 1), arrow=True)
    assert run(totals(BARE.par_do(step)), row(key="k", value=1)) == {"k": 1}


def test_a_function_of_frames_may_give_elements_another_event_time() -> None:
    step = Vectorised(lambda frame: frame.with_columns(_event=pl.col("_event") + 60_000_000))
    pipeline = BARE.par_do(step).group_by_key_and_window(key="key", window=MINUTES).combine(n=Count())
    stream = TestStream(pipeline).add(row(key="k")).end_of_input()
    assert_panes(stream.run(), [pane("k", "12:01", "12:02", n=1)])


def test_steps_are_taken_in_their_order() -> None:
    only_longest = Vectorised(lambda frame: frame.filter(pl.col("prefix").str.len_chars() == 3))
    pipeline = totals(BARE.par_do(PREFIXES).par_do(only_longest), key="prefix")
    assert run(pipeline, row(word="fix", value=1), row(word="a", value=2)) == {"fix": 1}


def test_after_a_grouping_a_step_is_taken_on_its_results() -> None:
    pipeline = totals(BARE.par_do(PREFIXES), key="prefix").par_do(
        PerElement(lambda found: {"key": len(found["prefix"]), "value": found["total"]}, {"key": int, "value": int})
    )
    assert run(totals(pipeline), row(word="fix", value=1), row(word="fit", value=2)) == {1: 3, 2: 3, 3: 3}


def test_a_step_after_a_grouping_sees_retractions_and_what_it_makes_of_them_is_taken_back() -> None:
    first = totals(BARE, window=MINUTES, allowed_lateness="1h")
    named = first.par_do(PerElement(lambda found: {"key": f"{found['total']}", "value": 1}, {"key": str, "value": int}))
    pipeline = totals(named, refinement=ACCUMULATING_AND_RETRACTING, trigger=Repeat(AtEpoch()))
    stream = TestStream(pipeline).add(row(key="k", value=1)).advance_watermark("12:05").add(row(key="k", value=4))
    assert [(got.key, got.values["total"], got.is_retraction) for got in stream.run()] == [
        (("1",), 1, False), (("1",), 1, True), (("5",), 1, False),
    ]  # fmt: skip


# Spark's expressions


def test_sparks_expressions_are_asked_of_whoever_can_evaluate_them() -> None:
    step = SparkColumns("value > 1", value="value * 10")
    pipeline = totals(BARE.par_do(step))

    def evaluate(asked: SparkColumns, elements: Sequence[Element]) -> list[Element]:
        assert asked == step
        return [
            replace(element, row={**element.row, "value": element.row["value"] * 10})
            for element in elements
            if element.row["value"] > 1
        ]

    stream = TestStream(pipeline).add(row(key="k", value=1), row(key="k", value=2)).end_of_input()
    interpreter = Interpreter(pipeline, evaluate)
    panes = [got for epoch in stream.epochs() for got in interpreter.epoch(epoch)]
    assert [got.values["total"] for got in panes] == [20]
    assert interpreter.counts.read == 2


def test_without_anybody_to_ask_they_are_refused() -> None:
    stream = TestStream(totals(BARE.par_do(SparkColumns("value > 1")))).add(row(key="k", value=1))
    with pytest.raises(DataflowError) as caught:
        interpret(stream.pipeline, stream.epochs())
    assert caught.value.code == "ENGINE_PAR_DO"


# Windows assigned before the grouping


LATER_BY_A_MINUTE = Vectorised(lambda frame: frame.with_columns(_event=pl.col("_event") + 60_000_000))


@pytest.mark.parametrize(
    ("steps", "start", "end"),
    [
        ([AssignWindows(MINUTES), LATER_BY_A_MINUTE], "12:00", "12:01"),
        ([LATER_BY_A_MINUTE, AssignWindows(MINUTES)], "12:01", "12:02"),
    ],
)
def test_windows_are_those_of_the_event_time_where_they_are_assigned(steps: list[Any], start: str, end: str) -> None:
    pipeline = BARE
    for step in steps:
        pipeline = pipeline.assign_windows(step.window) if isinstance(step, AssignWindows) else pipeline.par_do(step)
    grouped = pipeline.group_by_key_and_window(key="key").combine(n=Count())
    assert grouped.grouping.window == MINUTES
    assert_panes(TestStream(grouped).add(row(key="k")).end_of_input().run(), [pane("k", start, end, n=1)])


def test_an_element_in_several_windows_goes_on_as_several_one_in_each() -> None:
    def tag(columns: Mapping[str, Any]) -> dict[str, Any]:
        calls.append(columns["key"])
        return {"key": columns["key"]}

    calls: list[str] = []
    pipeline = BARE.assign_windows(SlidingWindows("2m", "1m")).par_do(PerElement(tag, {"key": str}))
    grouped = pipeline.group_by_key_and_window(key="key").combine(n=Count())
    panes = TestStream(grouped).add(row(key="k")).end_of_input().run()
    assert_panes(panes, [pane("k", "11:59", "12:01", n=1), pane("k", "12:00", "12:02", n=1)])
    assert calls == ["k", "k"]


@pytest.mark.parametrize("window", [MINUTES, SlidingWindows("2m", "1m"), SessionWindows("30s"), GlobalWindows()])
def test_assigning_just_before_the_grouping_is_assigning_at_the_grouping(window: Any) -> None:
    rows = [row("12:00:00", key="k"), row("12:00:29", key="k"), row("12:00:59", key="k"), row("12:03", key="k")]
    early = BARE.assign_windows(window).group_by_key_and_window(key="key").combine(n=Count())
    usual = BARE.group_by_key_and_window(key="key", window=window).combine(n=Count())
    early_panes, usual_panes = (TestStream(p).add(*rows).end_of_input().run() for p in (early, usual))
    assert early_panes == usual_panes


def test_sessions_that_are_assigned_early_merge_at_the_grouping_by_its_key() -> None:
    pipeline = BARE.assign_windows(SessionWindows("1m")).par_do(PREFIXES)
    grouped = pipeline.group_by_key_and_window(key="prefix").combine(n=Count())
    stream = TestStream(grouped).add(row("12:00:00", word="ab", value=1), row("12:00:30", word="ac", value=1))
    assert_panes(
        stream.end_of_input().run(),
        [
            pane("a", "12:00:00", "12:01:30", n=2),
            pane("ab", "12:00:00", "12:01:00", n=1),
            pane("ac", "12:00:30", "12:01:30", n=1),
        ],
    )


def test_an_element_dropped_before_it_is_grouped_is_counted_as_read() -> None:
    pipeline = totals(BARE.par_do(PerElement(lambda _: None, {"key": str, "value": int})))
    stream = TestStream(pipeline).add(row(x=1)).end_of_input()
    assert interpret(pipeline, stream.epochs()).counts.read == 1
