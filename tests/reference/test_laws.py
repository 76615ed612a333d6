"""Laws that hold for every pipeline and every script, whatever the clocks do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    Combiner,
    Count,
    Max,
    Min,
    Pipeline,
    Refinement,
    Sum,
    Window,
)
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element, Key, Pane, PaneTiming
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, NOTHING_KNOWN
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter, interpret
from airflow_dataflow_provider.testing.strategies import (
    TRIGGER_FAMILIES,
    cases,
    elements,
    pipelines,
    scripts,
    triggers,
    windows,
)

Case = tuple[Pipeline, tuple[Epoch, ...]]
Table = dict[tuple[Key, Window], dict[str, Any]]

END = Epoch(Clock(2**50, END_OF_INPUT))


@dataclass(frozen=True)
class Collected(Combiner):
    """Every element by its number: what a pane is made of."""

    column: str = "number"

    def create(self) -> tuple[int, ...]:
        return ()

    def add(self, accumulator: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*accumulator, value)

    def merge(self, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
        return left + right

    def extract(self, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(accumulator))


def numbered(epochs: Iterable[Epoch]) -> tuple[list[Epoch], int]:
    """The same script, each element with a number of its own; and how many there are."""
    numbers, renumbered = 0, []
    for epoch in epochs:
        of_epoch = []
        for element in epoch.elements:
            of_epoch.append(replace(element, row={**element.row, "number": numbers}))
            numbers += 1
        renumbered.append(Epoch(epoch.clock, of_epoch, epoch.horizon))
    return renumbered, numbers


def nothing_expires_until_the_end(epochs: Iterable[Epoch]) -> list[Epoch]:
    return [*(Epoch(epoch.clock, epoch.elements, horizon=MIN_TIME) for epoch in epochs), END]


def refined(pipeline: Pipeline, refinement: Refinement) -> Pipeline:
    return replace(pipeline, groupings=(replace(pipeline.grouping, refinement=refinement),))


def latest(panes: Iterable[Pane]) -> Table:
    return {(pane.key, pane.window): dict(pane.values) for pane in panes}


def changed_by(table: Table, panes: Iterable[Pane]) -> None:
    """Apply a changelog, and insist that each row is taken back as it stands before another replaces it."""
    for pane in panes:
        if pane.is_retraction:
            assert table.pop((pane.key, pane.window)) == pane.values
        else:
            assert (pane.key, pane.window) not in table
            table[pane.key, pane.window] = dict(pane.values)


@given(pipelines(refinement=st.just(ACCUMULATING)), elements(max_size=20), st.data())
def test_the_last_accumulating_pane_depends_neither_on_order_nor_on_cuts_nor_on_clocks(
    pipeline: Pipeline, arriving: list[Element], data: st.DataObject
) -> None:
    def table(order: Sequence[Element]) -> Table:
        return latest(interpret(pipeline, nothing_expires_until_the_end(data.draw(scripts(pipeline, order)))).panes)

    assert table(arriving) == table(data.draw(st.permutations(arriving)))


@given(pipelines(), elements(max_size=20), st.data())
def test_the_result_of_a_batch_is_the_final_result_of_a_stream(
    pipeline: Pipeline, arriving: list[Element], data: st.DataObject
) -> None:
    def final(epochs: Iterable[Epoch]) -> Table:
        table: Table = {}
        for epoch in ([pane] for pane in interpret(retracting, epochs).panes):
            changed_by(table, epoch)
        return table

    retracting = refined(pipeline, ACCUMULATING_AND_RETRACTING)
    streamed = nothing_expires_until_the_end(data.draw(scripts(pipeline, arriving)))
    assert final([Epoch(Clock(0, NOTHING_KNOWN), arriving), END]) == final(streamed)


@given(cases(with_batches=True))
def test_the_discarding_panes_add_up_to_the_last_accumulating_one(case: Case) -> None:
    pipeline, epochs = case
    combiners = (
        ("n", Count()),
        ("known", Count("whole")),
        ("total", Sum("part")),
        ("low", Min("part")),
        ("high", Max("whole")),
    )
    pipeline = replace(pipeline, groupings=(replace(pipeline.grouping, aggregates=combiners),))
    added: Table = {}
    for pane in interpret(refined(pipeline, DISCARDING), [*epochs, END]).panes:
        row = added.get((pane.key, pane.window))
        added[pane.key, pane.window] = (
            dict(pane.values)
            if row is None
            else {name: combiner.merge(row[name], pane.values[name]) for name, combiner in combiners}
        )
    assert added == latest(interpret(refined(pipeline, ACCUMULATING), [*epochs, END]).panes)


@given(cases(with_batches=True))
def test_after_every_epoch_inserts_less_retractions_are_what_accumulating_says(case: Case) -> None:
    pipeline, epochs = case
    accumulating = Interpreter(refined(pipeline, ACCUMULATING))
    retracting = Interpreter(refined(pipeline, ACCUMULATING_AND_RETRACTING))
    said: Table = {}
    stands: Table = {}
    for epoch in (*epochs, END):
        said |= latest(accumulating.epoch(epoch))
        changed_by(stands, retracting.epoch(epoch))
        assert stands == said


@given(cases(with_batches=True))
def test_every_element_is_in_exactly_one_discarding_pane_or_expired(case: Case) -> None:
    pipeline, epochs = case
    grouping = replace(pipeline.grouping, refinement=DISCARDING, aggregates=(("numbers", Collected()),))
    script, count = numbered(epochs)
    outcome = interpret(replace(pipeline, groupings=(grouping,)), [*script, END])
    published = Counter(number for pane in outcome.panes for number in pane.values["numbers"])
    expired = Counter(gone.element.row["number"] for gone in outcome.expired)
    assert published + expired == Counter(range(count))
    assert (outcome.counts.read, outcome.counts.expired) == (count, expired.total())


@given(cases(with_batches=True))
def test_every_element_is_in_the_last_accumulating_pane_or_expired(case: Case) -> None:
    pipeline, epochs = case
    grouping = replace(pipeline.grouping, refinement=ACCUMULATING, aggregates=(("numbers", Collected()),))
    script, count = numbered(epochs)
    outcome = interpret(replace(pipeline, groupings=(grouping,)), [*script, END])
    published = Counter(number for row in latest(outcome.panes).values() for number in row["numbers"])
    expired = Counter(gone.element.row["number"] for gone in outcome.expired)
    assert published + expired == Counter(range(count))


@given(cases(with_batches=True))
def test_panes_of_a_window_are_counted_from_zero_and_the_last_is_marked_where_there_is_one(case: Case) -> None:
    pipeline, epochs = case
    panes: dict[tuple[Key, Window], list[Pane]] = {}
    for pane in interpret(pipeline, epochs).panes:
        if not pane.is_retraction:
            panes.setdefault((pane.key, pane.window), []).append(pane)
    for of_window in panes.values():
        assert [pane.index for pane in of_window] == list(range(len(of_window)))
        assert [pane.is_first for pane in of_window] == [pane.index == 0 for pane in of_window]
        assert not any(pane.is_last for pane in of_window[:-1])


@given(cases())
def test_no_window_is_on_time_twice_or_early_again_once_it_was_on_time(case: Case) -> None:
    pipeline, epochs = case
    timings: dict[tuple[Key, Window], list[PaneTiming]] = {}
    for pane in interpret(pipeline, epochs).panes:
        if not pane.is_retraction:
            timings.setdefault((pane.key, pane.window), []).append(pane.timing)
    for of_window in timings.values():
        assert of_window.count(PaneTiming.ON_TIME) <= 1
        assert of_window == sorted(of_window, key=list(PaneTiming).index)


@given(
    cases(pipelines(window=windows("fixed"), trigger=triggers(*TRIGGER_FAMILIES)), with_batches=True),
)
def test_a_window_whose_trigger_has_finished_says_nothing_more_until_it_expires(case: Case) -> None:
    pipeline, epochs = case
    interpreter = Interpreter(pipeline)
    [stage] = interpreter.stages
    finished: set[tuple[Key, Window]] = set()
    for epoch in epochs:
        for pane in interpreter.epoch(epoch):
            assert pane.is_last or pane.is_retraction or (pane.key, pane.window) not in finished
        states = [state for of_key in stage._windows.values() for state in of_key.values()]
        finished |= {(state.key, state.window) for state in states if state.finished}


@given(cases(with_batches=True))
def test_the_same_script_gives_the_same_panes(case: Case) -> None:
    assert interpret(*case) == interpret(*case)
