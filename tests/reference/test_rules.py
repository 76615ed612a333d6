"""The twelve rules of the semantics, one test each; those about panes hold on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AfterDelay,
    AtCount,
    AtEpoch,
    AtWatermark,
    Count,
    DataflowError,
    Files,
    FixedWindows,
    Max,
    Mean,
    Min,
    PaneLog,
    Pipeline,
    Repeat,
    Risk,
    SequenceOf,
    SessionWindows,
    Sum,
    Trigger,
    Window,
    WindowStrategy,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element, Pane, PaneTiming
from airflow_dataflow_provider.model.time import to_datetime
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.strategies import (
    START,
    TRIGGER_FAMILIES,
    WINDOW_FAMILIES,
    cases,
    elements,
    pipelines,
    scripts,
    triggers,
    windows,
)
from tests.reference.ten_points import FIGURES, Figure

Engine = Callable[[Pipeline, Sequence[Epoch]], list[list[Pane]]]
SECOND, MINUTE = 1_000_000, 60_000_000
SOURCE = Files("events/*.parquet", event_time="happened")
ANY_WINDOW = windows(*WINDOW_FAMILIES)
ANY_TRIGGER = triggers(*TRIGGER_FAMILIES)
COUNTING = st.just(Count())
FEW = settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def grouping(
    window: WindowStrategy, trigger: Trigger = Repeat(AtEpoch()), **how: Any  # noqa: B008
) -> Pipeline:  # fmt: skip
    grouped = Pipeline("rule", SOURCE).group_by_key_and_window(
        **{"key": "key", "window": window, "trigger": trigger, "accept": tuple(Risk), **how}
    )
    return grouped.combine(rows=Count(), total=Sum("whole"))


def element(at: int, whole: int = 1, *, arrived: int = 0, key: str = "k") -> Element:
    row = {"key": key, "site": 1, "whole": whole, "part": 0.0, "happened": to_datetime(at)}
    return Element(row, at, arrived)


def epoch(*arriving: Element, watermark: int | None = None, now: int = 0) -> Epoch:
    watermarks = NOTHING_KNOWN if watermark is None else WatermarkCurve.flat(watermark)
    return Epoch(Clock(now, watermarks), arriving)


def end(now: int = 2**50) -> Epoch:
    return Epoch(Clock(now, END_OF_INPUT))


def rows(panes: Iterable[Sequence[Pane]]) -> list[tuple[Window, int]]:
    return [(got.window, got.values["rows"]) for of_epoch in panes for got in of_epoch]


def final(panes: Iterable[Sequence[Pane]]) -> dict[Any, Any]:
    """The last word about each key and window; a retraction takes it back."""
    table: dict[Any, Any] = {}
    for of_epoch in panes:
        for got in of_epoch:
            if got.is_retraction:
                del table[got.key, got.window]
            else:
                table[got.key, got.window] = dict(got.values)
    return table


@FEW
@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4))
def test_rule_1_time_is_whole_microseconds_and_windows_are_half_open(engine: Engine, tick: int, size: int) -> None:
    border = tick * size
    panes = engine(grouping(FixedWindows(f"{size}us")), [epoch(element(border - 1), element(border)), end()])
    assert {*rows(panes)} == {(Window(border - size, border), 1), (Window(border, border + size), 1)}


def test_rule_2_an_element_has_an_event_time_for_windows_and_an_arrival_time_for_timers(engine: Engine) -> None:
    first, second = element(5 * MINUTE, arrived=10 * MINUTE), element(5 * MINUTE, arrived=12 * MINUTE)
    pipeline = grouping(FixedWindows("1m"), Repeat(AfterDelay("1m")), refinement=DISCARDING)
    panes = engine(pipeline, [epoch(first, now=10 * MINUTE), epoch(second, now=12 * MINUTE), epoch(now=13 * MINUTE)])
    assert [[got.values["rows"] for got in of_epoch] for of_epoch in panes] == [[], [2], []]
    assert {got.window for of_epoch in panes for got in of_epoch} == {Window(5 * MINUTE, 6 * MINUTE)}


@FEW
@given(st.lists(st.integers(0, 60).map(lambda tens: tens * 10 * SECOND), min_size=1, max_size=12), st.data())
def test_rule_3_windows_are_assigned_and_merged_and_two_events_one_gap_apart_stay_apart(
    engine: Engine, times: list[int], data: st.DataObject
) -> None:
    sessions: list[list[int]] = []
    for time in sorted(times):
        if sessions and time - sessions[-1][-1] < 30 * SECOND:
            sessions[-1].append(time)
        else:
            sessions.append([time])
    pipeline = grouping(SessionWindows("30s"), refinement=ACCUMULATING_AND_RETRACTING)
    arriving = data.draw(st.permutations(times))
    panes = engine(pipeline, [*(epoch(element(time)) for time in arriving), end()])
    assert {window: row["rows"] for (_, window), row in final(panes).items()} == {
        Window(session[0], session[-1] + 30 * SECOND): len(session) for session in sessions
    }


def test_rule_4_a_window_is_complete_at_its_end_expired_after_the_lateness_and_expired_data_is_not_lost(
    engine: Engine,
) -> None:
    pipeline = grouping(FixedWindows("1m"), Repeat(AtWatermark()), allowed_lateness="1m")
    script = [
        epoch(element(0)), epoch(watermark=MINUTE - 1), epoch(watermark=MINUTE), epoch(element(1), watermark=MINUTE),
        epoch(element(2), watermark=2 * MINUTE - 1), epoch(element(3), watermark=2 * MINUTE),
    ]  # fmt: skip
    panes = engine(pipeline, script)
    assert [[(got.values["rows"], got.timing) for got in of_epoch] for of_epoch in panes] == [
        [], [], [(1, PaneTiming.ON_TIME)], [(2, PaneTiming.LATE)], [(3, PaneTiming.LATE)], [],
    ]  # fmt: skip
    outcome = interpret(pipeline, script)
    assert [(gone.element.event_time, gone.window, gone.watermark) for gone in outcome.expired] == [
        (3, Window(0, MINUTE), 2 * MINUTE)
    ]
    assert (outcome.counts.read, outcome.counts.late, outcome.counts.expired) == (4, 2, 1)


@FEW
@given(st.data(), st.sampled_from([50.0, 90.0, 97.0]))
def test_rule_5_a_lower_percentile_is_reached_no_later_and_watermarks_never_go_back(
    engine: Engine, data: st.DataObject, percentile: float
) -> None:
    sooner, later = (grouping(FixedWindows("1m"), AtWatermark(p), allowed_lateness="1d") for p in (percentile, 100))
    script = data.draw(scripts(sooner, data.draw(elements(max_size=8))))
    for before, after in pairwise(script):
        assert all(after.clock.watermarks.at(p) >= mark for p, mark in before.clock.watermarks)
    for clock in (each.clock for each in script):
        assert [mark for _, mark in clock.watermarks] == sorted((m for _, m in clock.watermarks), reverse=True)
    fired = [
        {(got.key, got.window): number for number, of_epoch in reversed([*enumerate(panes)]) for got in of_epoch}
        for panes in (engine(sooner, script), engine(later, script))
    ]
    assert all(fired[0][window] <= number for window, number in fired[1].items())


@FEW
@given(triggers("elements"), ANY_WINDOW, elements(max_size=12), st.data())
def test_rule_6_data_driven_triggers_are_exact_per_element_however_the_elements_were_cut(
    engine: Engine, trigger: Trigger, window: WindowStrategy, arriving: list[Element], data: st.DataObject
) -> None:
    pipeline = grouping(window, trigger, refinement=DISCARDING)
    arriving = [replace(one, arrival_time=number) for number, one in enumerate(arriving)]

    def cut(after: list[bool]) -> Any:
        epochs: list[list[Element]] = [[]]
        for one, ends in zip(arriving, after, strict=True):
            epochs[-1].append(one)
            if ends:
                epochs.append([])
        panes = engine(pipeline, [epoch(*of_epoch) for of_epoch in epochs])
        stories: dict[Any, list[Any]] = {}
        for got in (got for of_epoch in panes for got in of_epoch):
            stories.setdefault((got.key, got.window), []).append((got.index, got.values))
        return stories

    cuts = st.lists(st.booleans(), min_size=len(arriving), max_size=len(arriving))
    assert cut(data.draw(cuts)) == cut([True] * len(arriving)) == cut([False] * len(arriving))


@FEW
@given(cases(pipelines(window=windows("fixed", "sliding", "global"), trigger=ANY_TRIGGER, combiner=COUNTING)))
def test_rule_7_panes_carry_timing_index_first_last_the_watermark_and_processing_time(
    engine: Engine, case: tuple[Pipeline, tuple[Epoch, ...]]
) -> None:
    pipeline, script = case
    stories: dict[Any, list[Pane]] = {}
    for now, panes in zip(script, engine(pipeline, script), strict=True):
        for got in panes:
            assert (got.watermark, got.processing_time) == (now.clock.watermark, now.clock.processing_time)
            assert got.completeness == now.clock.watermarks.completeness(got.window.end)
            if not got.is_retraction:
                assert (got.timing is PaneTiming.EARLY) is (now.clock.watermark < got.window.end)
                stories.setdefault((got.key, got.window), []).append(got)
    for of_window in stories.values():
        assert [got.index for got in of_window] == list(range(len(of_window)))
        assert [got.is_first for got in of_window] == [got.index == 0 for got in of_window]
        assert not any(got.is_last for got in of_window[:-1])
        assert [got.timing for got in of_window].count(PaneTiming.ON_TIME) <= 1


@FEW
@given(
    cases(
        pipelines(window=ANY_WINDOW, trigger=ANY_TRIGGER, refinement=st.just(ACCUMULATING_AND_RETRACTING)),
        with_batches=True,
    )
)
def test_rule_8_a_retraction_carries_what_was_emitted_and_precedes_what_replaces_it(
    engine: Engine, case: tuple[Pipeline, tuple[Epoch, ...]]
) -> None:
    pipeline, script = case
    stands: dict[Any, dict[str, Any]] = {}
    for of_epoch in engine(pipeline, script):
        for got in of_epoch:
            place = (got.key, got.window)
            if got.is_retraction:
                assert stands.pop(place) == got.values
                continue
            assert place not in stands
            stands[place] = dict(got.values)
            # Of sessions nothing else stands any more that shares an instant with the pane. (One that shrinks may have
            # to wait for its own firing before what it said of a longer one is taken back.)
            if isinstance(pipeline.grouping.window, SessionWindows):
                others = [window for key, window in stands if key == got.key and window != got.window]
                assert not any(window.intersects(got.window) for window in others) or expired(of_epoch, script)


def expired(of_epoch: Sequence[Pane], script: Sequence[Epoch]) -> bool:
    """Whether windows may have expired by then: those do not merge any more."""
    return any(each.horizon > 0 and each.clock.processing_time <= of_epoch[0].processing_time for each in script)


@FEW
@given(elements(max_size=12), st.data())
def test_rule_9_combiners_are_associative_and_commutative_and_take_back_what_they_took(
    engine: Engine, arriving: list[Element], data: st.DataObject
) -> None:
    combined = {"n": Count(), "sum": Sum("whole"), "mean": Mean("part"), "least": Min("part"), "most": Max("whole")}
    grouped = Pipeline("rule", SOURCE).group_by_key_and_window(key="key", window=FixedWindows("1d"))
    pipeline = grouped.combine(**combined)

    def table(order: Sequence[Element], cuts: Sequence[int]) -> dict[Any, Any]:
        borders = [0, *sorted(cuts), len(order)]
        return final(engine(pipeline, [*(epoch(*order[a:b]) for a, b in pairwise(borders)), end()]))

    cuts = data.draw(st.lists(st.integers(0, len(arriving)), max_size=3))
    assert table(data.draw(st.permutations(arriving)), cuts) == table(arriving, [])
    for combiner in combined.values():
        able = combiner.retractable()
        values = [value for one in arriving if (value := able.value_of(one.row, one.event_time)) is not None]
        held = able.create()
        for value in (*values, *values[:3]):
            held = able.add(held, value)
        for value in values[:3]:
            held = able.uncombine(held, value)
        plain = able.create()
        for value in values:
            plain = able.add(plain, value)
        assert able.extract(held) == able.extract(plain)


@FEW
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.data())
def test_rule_9_sums_of_floats_differ_by_rounding_alone_whatever_the_order_and_the_cuts(
    engine: Engine, values: list[float], data: st.DataObject
) -> None:
    grouped = Pipeline("rule", SOURCE).group_by_key_and_window(key="key", window=FixedWindows("1d"))
    pipeline = grouped.combine(sum=Sum("part"), mean=Mean("part"))
    row = {"key": "a", "site": 1, "whole": 1}
    order = data.draw(st.permutations(values))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=3)))
    arriving = [Element({**row, "part": value}, START + at, START + at) for at, value in enumerate(order)]
    parts = [arriving[start:stop] for start, stop in pairwise([0, *cuts, len(order)])]
    (found,) = final(engine(pipeline, [*(epoch(*part) for part in parts), end()])).values()
    exact, unit = sum(map(Fraction, values)), Fraction(1, 2**53)
    # Each of at most n additions, and the division, rounds once.
    most = 2 * len(values) * unit * sum(abs(Fraction(value)) for value in values)
    assert abs(Fraction(found["sum"]) - exact) <= most
    assert abs(Fraction(found["mean"]) - exact / len(values)) <= most / len(values)


@FEW
@given(elements(max_size=12), st.data())
def test_rule_10_a_second_grouping_gives_what_one_batch_gives_and_nothing_is_late_because_of_the_first(
    engine: Engine, arriving: list[Element], data: st.DataObject
) -> None:
    sessions = grouping(SessionWindows("30s"), refinement=ACCUMULATING_AND_RETRACTING, allowed_lateness="1d")
    histogram = sessions.group_by_key_and_window(
        key="rows", window=FixedWindows("1m"), trigger=SequenceOf(AtCount(1), Repeat(AtWatermark())),
        refinement=ACCUMULATING_AND_RETRACTING, accept=tuple(Risk),
    ).combine(sessions=Count())  # fmt: skip
    script = data.draw(scripts(histogram, arriving))
    assert final(engine(histogram, [*script, end()])) == final(engine(histogram, [epoch(*arriving), end()]))


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"trigger": AtCount(5)}, "DEFINITION_MAY_LOSE_DATA"),
        ({"trigger": SequenceOf(Repeat(AtCount(5)), AtWatermark())}, "DEFINITION_MAY_NEVER_FIRE"),
        ({"window": SessionWindows("1m")}, "DEFINITION_NEEDS_RETRACTION"),
    ],
)
def test_rule_11_a_plan_that_may_go_wrong_is_refused_before_it_runs_with_the_reason_and_the_way_out(
    how: dict[str, Any], code: str
) -> None:
    with pytest.raises(DataflowError) as caught:
        grouping(**{"window": FixedWindows("1m"), **how, "accept": ()}).write(PaneLog())
    assert caught.value.code == code
    assert caught.value.reason
    assert "accept=" in caught.value.hint


@pytest.mark.parametrize("figure", FIGURES, ids=str)
def test_rule_12_the_ten_points_have_the_answers_of_the_figure(engine: Engine, figure: Figure) -> None:
    panes = engine(figure.stream.pipeline, figure.stream.epochs())
    assert_panes([got for of_epoch in panes for got in of_epoch], figure.panes)
