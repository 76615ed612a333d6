"""Triggers that look at elements: exact for each one, in arrival order, whatever the clock says."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import AtBytes, AtCount, AtPunctuation, Repeat, Trigger, column
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.triggers.elements import weight
from tests.model.situations import Watched, at, element, numbered

LEAVES = (AtCount(3), AtBytes(20, "text"), AtPunctuation(column("text") == "END"))
EVERY = pytest.mark.parametrize("trigger", LEAVES, ids=repr)


@EVERY
def test_it_looks_at_elements_and_no_clock_makes_it_due(trigger: Trigger) -> None:
    assert trigger.looks_at_elements
    for now in (at(99, now=10_000, signals={"go"}), at(99, now=10_000, boundary=False)):
        assert not trigger.should_fire(trigger.on_clock(trigger.initial(), now), now)


@EVERY
def test_its_firing_is_its_last_and_it_can_start_again(trigger: Trigger) -> None:
    watched = Watched(trigger).add(*[{"text": "END"}] * 9)
    assert watched.finished
    assert len(watched.fired) == 1
    assert watched.state == trigger.initial() == trigger.reset(watched.state)


@EVERY
@given(cut=st.integers(0, 20), texts=st.lists(st.sampled_from(["", "a", "END", None]), max_size=20))
def test_a_boundary_in_between_changes_nothing(trigger: Trigger, cut: int, texts: list[str | None]) -> None:
    rows = [{"text": text} for text in texts]
    whole = Watched(Repeat(trigger)).add(*rows)
    in_two = Watched(Repeat(trigger)).add(*rows[:cut]).boundary(at(99, now=99)).add(*rows[cut:])
    assert in_two.fired == whole.fired


@given(st.integers(1, 10), st.integers(0, 50))
def test_a_count_fires_with_every_nth_element(n: int, elements: int) -> None:
    assert Watched(Repeat(AtCount(n))).add(*numbered(elements)).fired == list(range(n, elements + 1, n))


def test_a_retraction_counts_as_an_element_and_weighs_what_one_does() -> None:
    row = {"text": "seven.."}
    back = Element(row, 0, 0, is_retraction=True)
    now = at(boundary=False)
    for trigger, two in ((AtCount(2), 2), (AtBytes(9, "text"), 14)):
        state = trigger.on_element(trigger.on_element(trigger.initial(), element(**row), now), back, now)
        assert state == two
        assert trigger.should_fire(state, now)


def test_counts_and_bytes_of_windows_that_merge_add_up_and_may_be_due_at_once() -> None:
    assert AtCount(3).on_merge([1, 2], at()) == 3
    assert AtCount(3).should_fire(3, at(boundary=False))
    assert AtBytes(9, "x").on_merge([4, 4], at()) == 8


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [(None, 0), (True, 1), (7, 8), (2**40, 8), (0.5, 8), ("", 0), ("ab", 2), ("é", 2), ("😀", 4), (b"abc", 3)],
)
def test_a_value_weighs_its_bytes(value: object, bytes_: int) -> None:
    assert weight(value) == bytes_


@given(st.integers(1, 30), st.lists(st.tuples(st.none() | st.text(max_size=8), st.none() | st.integers()), max_size=30))
def test_bytes_fire_with_the_element_that_brings_them_to_n(n: int, values: list[tuple[str | None, int | None]]) -> None:
    trigger = AtBytes(n, "text", "number")
    rows = [{"text": text, "number": number} for text, number in values]
    weights = [len((text or "").encode()) + (8 if number is not None else 0) for text, number in values]
    reached = [place for place, total in enumerate(accumulate(weights), 1) if total >= n]
    assert Watched(trigger).add(*rows).fired == reached[:1]
    assert trigger.columns() == ("text", "number")


@given(st.lists(st.sampled_from(["a", "END", None]), max_size=20))
def test_punctuation_fires_with_the_element_for_which_it_holds(texts: list[str | None]) -> None:
    trigger = AtPunctuation(column("text") == "END")
    ends = [place for place, text in enumerate(texts, 1) if text == "END"]
    assert Watched(Repeat(trigger)).add(*({"text": text} for text in texts)).fired == ends
    assert trigger.columns() == ("text",)


def test_punctuation_in_one_of_the_windows_that_merge_is_enough() -> None:
    trigger = AtPunctuation(column("text") == "END")
    assert trigger.on_merge([False, True], at()) is True
    assert trigger.on_merge([False, False], at()) is False


def test_punctuation_may_be_a_python_function_of_the_row() -> None:
    def is_long(row: Any) -> bool:
        return len(row["text"]) > 3

    assert Watched(AtPunctuation(is_long)).add({"text": "abc"}, {"text": "abcd"}).fired == [2]  # type: ignore[arg-type]
