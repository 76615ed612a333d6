"""Combiners are associative and commutative, and agree with Python's own arithmetic."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import Combiner, Count, Max, Mean, Min, Sum

VALUES = st.lists(st.none() | st.integers(-1000, 1000) | st.integers(-4000, 4000).map(lambda quarters: quarters / 4))
EVERY = pytest.mark.parametrize("combiner", [Count(), Count("x"), Sum("x"), Mean("x"), Min("x"), Max("x")], ids=repr)


def accumulated(combiner: Combiner, values: list[Any]) -> Any:
    accumulator = combiner.create()
    for value in values:
        read = combiner.value_of({"x": value})
        if read is not None:
            accumulator = combiner.add(accumulator, read)
    return accumulator


@EVERY
@given(values=VALUES, cut=st.integers(0, 30))
def test_merging_the_parts_gives_the_whole_in_either_order(combiner: Combiner, values: list[Any], cut: int) -> None:
    left, right = accumulated(combiner, values[:cut]), accumulated(combiner, values[cut:])
    whole = combiner.extract(accumulated(combiner, values))
    assert combiner.extract(combiner.merge(left, right)) == whole
    assert combiner.extract(combiner.merge(right, left)) == whole


@EVERY
@given(values=VALUES, data=st.data())
def test_the_order_of_the_values_does_not_matter(combiner: Combiner, values: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(values))
    assert combiner.extract(accumulated(combiner, shuffled)) == combiner.extract(accumulated(combiner, values))


@EVERY
@given(values=VALUES)
def test_nothing_merged_in_changes_nothing(combiner: Combiner, values: list[Any]) -> None:
    accumulator = accumulated(combiner, values)
    assert combiner.merge(accumulator, combiner.create()) == accumulator
    assert combiner.merge(combiner.create(), accumulator) == accumulator


@given(VALUES)
def test_results_are_those_of_plain_python_over_the_values_that_are_not_null(values: list[Any]) -> None:
    known = [value for value in values if value is not None]
    results = [
        combiner.extract(accumulated(combiner, values))
        for combiner in (Count(), Count("x"), Sum("x"), Mean("x"), Min("x"), Max("x"))
    ]
    mean = fmean(known) if known else None
    assert results == [len(values), len(known), sum(known), mean, min(known, default=None), max(known, default=None)]


def test_over_nothing_a_count_and_a_sum_are_zero_and_the_others_are_none() -> None:
    combiners = (Count(), Count("x"), Sum("x"), Mean("x"), Min("x"), Max("x"))
    assert [combiner.extract(combiner.create()) for combiner in combiners] == [0, 0, 0, None, None, None]


def test_least_and_greatest_work_on_text() -> None:
    assert accumulated(Min("x"), ["b", None, "a"]) == "a"
    assert accumulated(Max("x"), ["b", None, "a"]) == "b"
