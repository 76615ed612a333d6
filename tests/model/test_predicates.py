"""Predicates are values that answer for one row; a missing value answers every comparison with no."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import Predicate, column
from airflow_dataflow_provider.model.predicates import PythonPredicate, predicate

ROWS = st.fixed_dictionaries({"a": st.none() | st.integers(-3, 3), "b": st.none() | st.sampled_from("xyz")})
SIGNS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
COMPARISONS = st.builds(lambda sign, value: sign(column("a"), value), st.sampled_from(SIGNS), st.integers(-3, 3))
LEAVES = st.one_of(
    COMPARISONS,
    st.sampled_from(["a", "b"]).map(lambda name: column(name).is_null()),
    st.lists(st.sampled_from("xyz"), max_size=3).map(lambda values: column("b").is_in(values)),
)
PREDICATES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.builds(operator.and_, below, below), st.builds(operator.or_, below, below), st.builds(operator.invert, below)
    ),
    max_leaves=8,
)


@given(PREDICATES)
def test_a_predicate_prints_as_the_code_that_makes_it(written: Predicate) -> None:
    assert eval(repr(written), {"column": column}) == written


@given(PREDICATES)
def test_a_predicate_is_hashable_and_pickles(written: Predicate) -> None:
    assert pickle.loads(pickle.dumps(written)) == written
    assert hash(eval(repr(written), {"column": column})) == hash(written)


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.__name__)
@given(row=ROWS, value=st.integers(-3, 3))
def test_a_comparison_is_pythons_own_and_no_for_a_missing_value(
    sign: Callable[[Any, Any], Any], row: dict[str, Any], value: int
) -> None:
    assert sign(column("a"), value).matches(row) is (row["a"] is not None and sign(row["a"], value))


@given(PREDICATES, PREDICATES, ROWS)
def test_and_or_and_not_are_those_of_two_truth_values(left: Predicate, right: Predicate, row: dict[str, Any]) -> None:
    assert (left & right).matches(row) is (left.matches(row) and right.matches(row))
    assert (left | right).matches(row) is (left.matches(row) or right.matches(row))
    assert (~left).matches(row) is not left.matches(row)


def test_the_negation_of_a_comparison_holds_for_a_missing_value() -> None:
    assert not (column("a") == 1).matches({"a": None})
    assert (~(column("a") == 1)).matches({"a": None})
    assert not (column("a") != 1).matches({"a": None})
    assert not (column("a") != 1).matches({})


def test_a_column_that_is_not_there_is_null() -> None:
    assert column("a").is_null().matches({})
    assert not column("a").is_in([1, 2]).matches({"a": None})
    assert column("a").is_in(iter([1, 2])).matches({"a": 2})


def test_what_a_predicate_looks_at_is_known() -> None:
    written = (column("a") > 1) & ~column("b").is_null() | column("c").is_in([1])
    assert written.columns() == ("a", "b", "c")


def is_even(row: Mapping[str, Any]) -> bool:
    return row["a"] % 2 == 0


def test_a_python_function_of_the_row_is_a_predicate_and_sees_the_columns_that_it_reads() -> None:
    assert predicate(is_even) == PythonPredicate(is_even)
    assert predicate(is_even).matches({"a": 2, "b": 3})
    seen: list[Mapping[str, Any]] = []
    PythonPredicate(lambda row: not seen.append(row), reads=("a",)).matches({"a": 2, "b": 3})
    assert seen == [{"a": 2}]
    assert PythonPredicate(is_even, reads=("a",)).columns() == ("a",)
