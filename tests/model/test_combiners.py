"""Combiners are associative and commutative, and agree with Python's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Quantiles,
    StdDev,
    Sum,
    TopK,
    Variance,
)
from airflow_dataflow_provider.model.errors import DefinitionError

VALUES = st.lists(st.none() | st.integers(-1000, 1000) | st.integers(-4000, 4000).map(lambda quarters: quarters / 4))
FEW = settings(max_examples=25)
COMBINERS = [
    Count(), Count("x"), Sum("x"), Mean("x"), Min("x"), Max("x"), First("x"), Last("x"), Collect("x"), Variance("x"),
    StdDev("x", sample=False), CountDistinct("x"), Quantiles("x", (0.0, 0.5, 1.0)), TopK("x", 3),
]  # fmt: skip
EVERY = pytest.mark.parametrize("combiner", COMBINERS + [each.retractable() for each in COMBINERS], ids=repr)


def accumulated(combiner: Combiner, values: list[Any]) -> Any:
    accumulator = combiner.create()
    for value in values:
        read = combiner.value_of({"x": value})
        if read is not None:
            accumulator = combiner.add(accumulator, read)
    return accumulator


@EVERY
@FEW
@given(values=VALUES, cut=st.integers(0, 30))
def test_merging_the_parts_gives_the_whole_in_either_order(combiner: Combiner, values: list[Any], cut: int) -> None:
    left, right = accumulated(combiner, values[:cut]), accumulated(combiner, values[cut:])
    whole = combiner.extract(accumulated(combiner, values))
    assert combiner.extract(combiner.merge(left, right)) == pytest.approx(whole)
    assert combiner.extract(combiner.merge(right, left)) == pytest.approx(whole)


@EVERY
@FEW
@given(values=VALUES, data=st.data())
def test_the_order_of_the_values_does_not_matter(combiner: Combiner, values: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(values))
    whole = combiner.extract(accumulated(combiner, values))
    assert combiner.extract(accumulated(combiner, shuffled)) == pytest.approx(whole)


@EVERY
@FEW
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


@pytest.mark.parametrize("combiner", COMBINERS, ids=repr)
@FEW
@given(rest=VALUES, gone=VALUES)
def test_values_that_are_taken_back_are_as_if_they_had_never_come(
    combiner: Combiner, rest: list[Any], gone: list[Any]
) -> None:
    retractable = combiner.retractable()
    taken_back = retractable.create()
    for value in gone:
        read = retractable.value_of({"x": value})
        taken_back = taken_back if read is None else retractable.uncombine(taken_back, read)
    # Before what they take back has come: parts are merged in any order.
    left = retractable.merge(taken_back, accumulated(retractable, gone + rest))
    assert retractable.extract(left) == pytest.approx(combiner.extract(accumulated(combiner, rest)))
    assert retractable.retractable() is retractable


def test_what_cannot_be_undone_says_so() -> None:
    with pytest.raises(DefinitionError) as refused:
        Min("x").uncombine(3, 3)
    assert refused.value.code == "DEFINITION_COMBINER"


def test_the_first_and_last_are_so_by_event_time_and_then_by_value() -> None:
    rows = [(30, "d"), (10, "b"), (10, "a"), (30, "c"), (20, "z"), (5, None)]
    results = []
    for combiner in (First("x"), Last("x"), Collect("x")):
        accumulator = combiner.create()
        for at, value in rows:
            read = combiner.value_of({"x": value}, at)
            accumulator = accumulator if read is None else combiner.add(accumulator, read)
        results.append(combiner.extract(accumulator))
    assert results == ["a", "d", ["a", "b", "z", "c", "d"]]


def test_the_greatest_rows_by_another_column() -> None:
    combiner = TopK("name", 2, by="score")
    accumulator = combiner.create()
    for name, score in (("a", 1), ("b", 9), ("c", None), ("d", 9), (None, 10)):
        read = combiner.value_of({"name": name, "score": score})
        accumulator = accumulator if read is None else combiner.add(accumulator, read)
    assert combiner.columns == ("name", "score")
    assert combiner.extract(accumulator) == ["d", "b"]


@pytest.mark.parametrize(
    "write",
    [
        lambda: TopK("x", 0),
        lambda: TopK(("x", "x"), 2),
        lambda: Last(()),
        lambda: First(("x", "")),
        lambda: Collect(("x", 1)),  # type: ignore[arg-type]
        lambda: TopK("x", True),
        lambda: TopK("x", 3, by=""),
        lambda: Quantiles("x", ()),
        lambda: Quantiles("x", (0.5, 1.5)),
        lambda: Quantiles("x", 0.5),  # type: ignore[arg-type]
        lambda: Quantiles("x", "0.5"),  # type: ignore[arg-type]
        lambda: Quantiles("x", (0.5,), k=7),
        lambda: CountDistinct("x", exact="no"),  # type: ignore[arg-type]
        lambda: CountDistinct("x", lg_k=6),
        lambda: Variance("x", sample=1),  # type: ignore[arg-type]
        lambda: StdDev(""),
        lambda: First(None),  # type: ignore[arg-type]
        lambda: Collect(7),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused(write: Callable[[], Combiner]) -> None:
    with pytest.raises(DefinitionError) as refused:
        write()
    assert refused.value.code == "DEFINITION_COMBINER"
    assert refused.value.hint


@pytest.mark.parametrize(
    "combiner",
    [*COMBINERS, TopK("x", 2, by="y"), CountDistinct("x", exact=False, lg_k=9), Quantiles("x", (0.5,), exact=True)],
    ids=repr,
)
def test_a_combiner_prints_as_the_code_that_makes_it(combiner: Combiner) -> None:
    assert eval(repr(combiner)) == combiner


def test_the_last_row_is_one_that_came_where_the_last_of_each_column_is_not() -> None:
    rows = [(0, {"price": 5, "url": "a"}), (0, {"price": 3, "url": "b"}), (10, {"price": None, "url": "c"})]

    def of(combiner: Combiner, some: list[tuple[int, dict[str, Any]]]) -> Any:
        held = combiner.create()
        for at, row in some:
            value = combiner.value_of(row, at)
            held = held if value is None else combiner.add(held, value)
        return combiner.extract(held)

    both = ("price", "url")
    for order in permutations(rows):
        assert (of(Last("price"), [*order]), of(Last("url"), [*order])) == (5, "c")
        assert of(Last(both), [*order]) == {"price": None, "url": "c"}
        assert of(First(both), [*order]) == {"price": 3, "url": "b"}
        assert of(Collect(both), [*order]) == [rows[1][1], rows[0][1], rows[2][1]]
        assert of(TopK(both, 2, by="price"), [*order]) == [rows[0][1], rows[1][1]]
        assert of(TopK(both, 3), [*order]) == [rows[0][1], rows[1][1], rows[2][1]]
    assert (of(Last(both), []), of(Collect(both), []), of(TopK(both, 2), [])) == (None, [], [])
    assert repr(Last(both)) == "Last(('price', 'url'))"
