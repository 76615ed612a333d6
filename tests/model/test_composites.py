"""Composite triggers: what each makes of its parts, and what becomes of their states."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    AfterDelay,
    AfterWatermark,
    AllOf,
    AnyOf,
    AtCount,
    AtEpoch,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
    column,
)
from tests.model.situations import Watched, at, element, numbered

NOW = at(boundary=False)
END = AtPunctuation(column("kind") == "END")
LEAVES = (
    AtWatermark(), AtWatermark(97), AtPeriod("10us"), AfterDelay("10us"), AtEpoch(), AtSignal("go"), AtCount(2), END,
)  # fmt: skip
TREES = st.recursive(
    st.sampled_from(LEAVES),
    lambda below: st.one_of(
        st.builds(Repeat, below),
        st.builds(RepeatUntil, below, below),
        *(
            st.lists(below, min_size=1, max_size=3).map(lambda parts, kind=kind: kind(*parts))
            for kind in (AnyOf, AllOf, SequenceOf)
        ),
    ),
    max_leaves=6,
)
SITUATIONS = st.builds(
    at,
    st.integers(0, 12),
    now=st.integers(0, 40),
    first=st.none() | st.integers(0, 20),
    signals=st.sampled_from([(), ("go",)]),
    boundary=st.booleans(),
)
STEPS = st.lists(st.sampled_from(["a", "END"]) | SITUATIONS, max_size=12)


def play(trigger: Trigger, steps: list[object]) -> Watched:
    watched = Watched(trigger)
    for step in steps:
        if isinstance(step, str):
            watched.add({"kind": step})
        else:
            watched.boundary(step)  # type: ignore[arg-type]
    return watched


# Repeat


def test_repeat_starts_its_inner_trigger_again_and_never_finishes() -> None:
    trigger = Repeat(SequenceOf(AtWatermark(97), AtWatermark()))
    state = trigger.initial()
    states = [state]
    for _ in range(3):
        state, finished = trigger.on_fire(state, at(10))
        assert not finished
        states.append(state)
    assert states == [(0, None), (1, None), (0, None), (1, None)]


@given(TREES, STEPS)
def test_what_is_repeated_fires_first_where_it_fires_alone(tree: Trigger, steps: list[object]) -> None:
    alone, repeated = play(tree, steps), play(Repeat(tree), steps)
    assert repeated.fired[: len(alone.fired)] == alone.fired
    assert not repeated.finished


# AnyOf


def test_any_of_fires_with_the_first_and_finishes_with_it() -> None:
    either = AnyOf(AtCount(3), END)
    assert Watched(either).add({}, {}, {}, {}).fired == [3]
    watched = Watched(either).add({}, {"kind": "END"}, {}, {})
    assert watched.fired == [2]
    assert watched.finished


def test_repeated_any_of_starts_all_its_triggers_again() -> None:
    watched = Watched(Repeat(AnyOf(AtCount(3), END)))
    assert watched.add({}, {}, {"kind": "END"}, {}, {}, {}).fired == [3, 6]
    watched = Watched(Repeat(AnyOf(AtCount(3), END)))
    assert watched.add({}, {"kind": "END"}, {}, {}, {}).fired == [2, 5]  # the count began anew with the firing


def test_any_of_goes_on_where_what_was_due_has_not_finished() -> None:
    watched = Watched(AnyOf(Repeat(AtCount(2)), END)).add({}, {}, {}, {})
    assert watched.fired == [2, 4]
    assert watched.add({"kind": "END"}).finished


@given(TREES, TREES, STEPS)
def test_any_of_is_due_where_one_of_its_parts_is(left: Trigger, right: Trigger, steps: list[object]) -> None:
    alone, other, both = (play(tree, steps) for tree in (left, right, AnyOf(left, right)))
    firsts = [watched.fired[0] for watched in (alone, other) if watched.fired]
    assert both.fired[:1] == ([min(firsts)] if firsts else [])


# AllOf


def test_all_of_waits_for_the_last_and_what_is_due_stays_due_meanwhile() -> None:
    watched = Watched(AllOf(AtCount(2), END)).add({"kind": "END"}, {}, {})
    assert watched.fired == [2]
    assert watched.finished
    assert Watched(AllOf(AtCount(2), END)).add({}, {}, {}, {"kind": "END"}).fired == [4]


def test_all_of_counts_what_has_finished_as_due_and_finishes_when_all_have() -> None:
    trigger = AllOf(Repeat(AtCount(2)), END)
    watched = Watched(trigger).add({}, {}, {"kind": "END"}, {}, {}, {})
    assert watched.fired == [3, 5]  # the punctuation has finished, so the count decides alone
    assert not watched.finished


def test_all_of_finished_in_one_window_that_merges_and_not_in_the_other_has_not_finished() -> None:
    trigger = AllOf(AtCount(3), END)
    both_done, fresh = ((True, 0), (True, False)), trigger.initial()
    assert trigger.on_merge([both_done, both_done], NOW) == both_done
    assert trigger.on_merge([both_done, fresh], NOW) == fresh
    assert trigger.on_merge([((False, 1), (True, False)), ((False, 2), (False, True))], NOW) == (
        (False, 3), (False, True),
    )  # fmt: skip


def test_all_of_clocks_and_elements_fires_at_the_boundary_after_the_last_element_came() -> None:
    watched = Watched(AllOf(AtWatermark(), AtCount(2))).add({}, {}, clock=at(10, boundary=False))
    assert watched.fired == []
    assert watched.boundary(at(10)).fired == [2]


# RepeatUntil


def test_repeat_until_fires_when_its_until_fires_and_that_is_the_end() -> None:
    watched = Watched(RepeatUntil(AtCount(2), END)).add({}, {}, {}, {"kind": "END"}, {}, {})
    assert watched.fired == [2, 4]
    assert watched.finished


def test_the_until_sees_everything_from_the_start_and_is_not_started_again() -> None:
    watched = Watched(RepeatUntil(AtCount(2), AtCount(5))).add(*numbered(9))
    assert watched.fired == [2, 4, 5]
    assert watched.finished


def test_where_both_are_due_there_is_one_pane_and_it_is_the_last() -> None:
    watched = Watched(RepeatUntil(AtCount(2), AtCount(4))).add(*numbered(9))
    assert watched.fired == [2, 4]
    assert watched.finished


# SequenceOf


def test_sequence_of_moves_on_when_a_part_has_finished_and_finishes_with_the_last() -> None:
    trigger = SequenceOf(AtWatermark(97), AtWatermark())
    state = trigger.initial()
    assert trigger.should_fire(state, at(5, w97=10))
    state, finished = trigger.on_fire(state, at(5, w97=10))
    assert not finished
    assert not trigger.should_fire(state, at(5, w97=10, passed={97.0}))
    assert trigger.should_fire(state, at(10, first=None, passed={97.0}))
    state, finished = trigger.on_fire(state, at(10))
    assert finished
    assert not trigger.should_fire(state, at(10))


def test_only_the_trigger_whose_turn_it_is_sees_elements_and_clocks() -> None:
    assert Watched(SequenceOf(AtCount(2), AtCount(3), END)).add(*numbered(9)).fired == [2, 5]
    trigger = SequenceOf(AtCount(2), AtSignal("go"))
    watched = Watched(trigger).add({}).boundary(at(signals={"go"})).add({}).boundary(at())
    assert watched.fired == [2]  # the signal came before its turn


def test_merged_sequences_go_on_where_the_one_that_has_come_least_far_stands() -> None:
    trigger = SequenceOf(AtWatermark(97), AtWatermark())
    assert trigger.on_merge([(1, None), (0, None), (2, None)], at(5)) == (0, None)
    assert trigger.on_merge([(1, None), (2, None)], at(5)) == (1, None)
    assert trigger.on_merge([(2, None), (2, None)], at(5)) == (2, None)
    counts = SequenceOf(AtCount(5), AtCount(5))
    assert counts.on_merge([(0, 2), (1, 4), (0, 1)], at(5)) == (0, 3)


# All of them


@given(TREES, STEPS)
def test_a_tree_that_cannot_lose_data_never_finishes(tree: Trigger, steps: list[object]) -> None:
    watched = play(tree, steps)
    if tree.may_lose_data() is None:
        assert not watched.finished


@given(TREES, STEPS)
def test_what_is_due_stays_due_until_a_pane_is_fired_as_clocks_go_on(tree: Trigger, steps: list[object]) -> None:
    """Composites count on it, and so do engines that ask only at boundaries."""
    state, due = tree.initial(), False
    watermark = processing_time = 0
    for step in steps:
        if isinstance(step, str):
            state = tree.on_element(state, element(kind=step), at(boundary=False))
        else:
            watermark = max(watermark, step.clock.watermark)  # type: ignore[attr-defined]
            processing_time = max(processing_time, step.clock.processing_time)  # type: ignore[attr-defined]
            now = at(watermark, now=processing_time, signals=step.clock.signals)  # type: ignore[attr-defined]
            state = tree.on_clock(state, now)
        now = at(watermark, now=processing_time)
        assert tree.should_fire(state, now) or not due
        due = tree.should_fire(state, now)


@given(TREES, st.lists(STEPS, min_size=1, max_size=3))
def test_merging_one_window_changes_nothing_and_the_order_of_several_does_not_matter(
    tree: Trigger, stories: list[list[object]]
) -> None:
    going = [watched.state for watched in (play(tree, steps) for steps in stories) if not watched.finished]
    for state in going:
        assert tree.on_merge([state], NOW) == state
    if going:
        assert tree.on_merge(going, NOW) == tree.on_merge(going[::-1], NOW)


@given(TREES, STEPS)
def test_states_are_immutable_values_that_pickle(tree: Trigger, steps: list[object]) -> None:
    state = play(tree, steps).state
    hash(state)
    assert pickle.loads(pickle.dumps(state)) == state


@given(TREES)
def test_a_tree_is_made_of_what_it_walks(tree: Trigger) -> None:
    nodes = list(tree.walk())
    leaves = [node for node in nodes if not node.children()]
    assert nodes[0] is tree
    assert tree.looks_at_elements is any(leaf.looks_at_elements for leaf in leaves)
    assert tree.percentiles() == {leaf.percentile for leaf in leaves if isinstance(leaf, AtWatermark)}
    assert tree.signals() == {leaf.name for leaf in leaves if isinstance(leaf, AtSignal)}
    assert {*tree.columns()} == {name for leaf in leaves for name in leaf.columns()}


@given(TREES, TREES)
def test_a_tree_may_never_fire_exactly_where_its_parts_leave_it_no_choice(left: Trigger, right: Trigger) -> None:
    never = [tree.may_never_fire() is not None for tree in (left, right)]
    assert (AnyOf(left, right).may_never_fire() is not None) is all(never)
    assert (AllOf(left, right).may_never_fire() is not None) is any(never)
    assert (RepeatUntil(left, right).may_never_fire() is not None) is all(never)
    assert (SequenceOf(left, right).may_never_fire() is not None) is never[0]
    assert (Repeat(left).may_never_fire() is not None) is never[0]


@pytest.mark.parametrize(
    ("tree", "loses"),
    [
        (AnyOf(Repeat(AtCount(2)), AtWatermark()), True),
        (AnyOf(Repeat(AtCount(2)), Repeat(AtWatermark())), False),
        (AllOf(Repeat(AtCount(2)), AtWatermark()), False),
        (AllOf(AtCount(2), AtWatermark()), True),
        (RepeatUntil(AtCount(2), AtWatermark()), True),
        (SequenceOf(RepeatUntil(AtCount(2), AtWatermark()), Repeat(AtWatermark())), False),
    ],
    ids=repr,
)
def test_a_composite_says_whether_elements_could_come_after_its_last_firing(tree: Trigger, loses: bool) -> None:
    assert (tree.may_lose_data() is not None) is loses


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (AfterWatermark(), Repeat(AtWatermark())),
        (AfterWatermark(early=AtCount(2)), SequenceOf(RepeatUntil(AtCount(2), AtWatermark()), Repeat(AtWatermark()))),
        (AfterWatermark(late=AtCount(2)), SequenceOf(AtWatermark(), Repeat(AtCount(2)))),
        (
            AfterWatermark(early=AtPeriod("1m"), late=AtCount(2)),
            SequenceOf(RepeatUntil(AtPeriod("1m"), AtWatermark()), Repeat(AtCount(2))),
        ),
    ],
)
def test_the_short_form_of_the_commonest_trigger_is_what_it_stands_for_and_loses_nothing(
    short: Trigger, long: Trigger
) -> None:
    assert short == long
    assert repr(short) == repr(long)
    assert short.may_lose_data() is None
