"""Combiners at their limits: sketches and their errors, sums that nothing can poison, what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import Files, FixedWindows, Pipeline, StateError, SubmissionError
from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    First,
    Max,
    Mean,
    Min,
    Quantiles,
    StdDev,
    Sum,
    TopK,
    Variance,
    VectorisedCombiner,
)
from airflow_dataflow_provider.spark.aggregates import Aggregates, combiners_from_json, combiners_to_json
from airflow_dataflow_provider.spark.aggregates.compile_aggregate import compile_aggregate


def pipeline(**combiners: Combiner) -> Pipeline:
    grouped = Pipeline("p", Files("a", event_time="t")).group_by_key_and_window(key="k", window=FixedWindows("1h"))
    return grouped.combine(**combiners)


def result(combiner: Combiner, parts: list[pl.DataFrame], *, retracting: bool = False) -> Any:
    """Over all the parts, each made by itself, as one group."""
    aggregates = Aggregates((compile_aggregate("out", combiner, parts[0].schema, retracting=retracting),))
    made = [part.with_columns(k=pl.lit(0)).group_by("k").agg(aggregates.make()) for part in parts]
    return aggregates.extract(pl.concat(made).group_by("k").agg(aggregates.merge()))["out"][0]


def signed(*changes: tuple[float | None, int]) -> pl.DataFrame:
    return pl.DataFrame(changes, schema={"x": pl.Float64, "_sign": pl.Int8}, orient="row")


def test_a_distinct_sketch_is_within_its_error_and_does_not_depend_on_order_or_cuts() -> None:
    values = np.random.default_rng(3).permutation(np.repeat(np.arange(30_000), 2))
    frame = pl.DataFrame({"x": values})
    combiner = CountDistinct("x", exact=False)
    whole = result(combiner, [frame])
    assert whole == pytest.approx(30_000, rel=5 * 1.04 / 64)
    assert whole == result(combiner, [frame[40_000:], frame[:7], frame[7:40_000]])
    assert whole == result(combiner, [frame.reverse()])


def test_a_quantile_sketch_is_exact_for_few_values_and_then_within_its_error() -> None:
    ranks = (0.0, 0.1, 0.5, 0.99, 1.0)
    few = pl.DataFrame({"x": np.arange(150.0)})
    exact = result(Quantiles("x", ranks, exact=True), [few])
    assert result(Quantiles("x", ranks), [few[:20], few[20:]]).to_list() == exact.to_list()
    many = pl.DataFrame({"x": np.random.default_rng(5).permutation(50_000.0 + np.arange(100_000))})
    found = result(Quantiles("x", ranks), [many[:60_000], many[60_000:]])
    for rank, value in zip(ranks, found, strict=True):
        assert (value - 50_000) / 100_000 == pytest.approx(rank, abs=0.03)


def test_an_empty_text_is_a_value_to_a_sketch_too() -> None:
    assert result(CountDistinct("x", exact=False), [pl.DataFrame({"x": ["", "a", "", None]})]) == 2


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e300, -1e20])
@pytest.mark.parametrize(("combiner", "left"), [(Sum("x"), 1.1), (Mean("x"), 0.55), (Variance("x"), 0.405)])
def test_what_is_taken_back_leaves_no_trace_in_a_floating_point_sum(
    combiner: Combiner, left: float, poison: float
) -> None:
    came, went = signed((1.0, 1), (poison, 1)), signed((poison, -1), (0.1, 1))
    assert result(combiner, [came, went], retracting=True) == pytest.approx(left, rel=1e-15)
    assert result(combiner, [went, came], retracting=True) == pytest.approx(left, rel=1e-15)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20), st.data())
def test_an_exact_sum_is_the_rounded_sum_of_fractions(values: list[float], data: st.DataObject) -> None:
    # A sum that cancels to almost nothing is where a plain one goes wrong.
    values += [-value for value in values if data.draw(st.booleans())]
    try:
        expected = float(sum(map(Fraction, values)))
    except OverflowError:
        expected = math.inf if sum(map(Fraction, values)) > 0 else -math.inf
    rows = signed(*((value, 1) for value in values)) if values else signed((None, 1))
    assert result(Sum("x"), [rows], retracting=True) == pytest.approx(expected, rel=1e-15, abs=0)


def test_the_variance_of_large_numbers_close_together_is_right() -> None:
    values = pl.DataFrame({"x": [1e9 + each for each in (4.0, 7.0, 13.0, 16.0)]})
    assert result(Variance("x"), [values[:1], values[1:]]) == pytest.approx(30.0, rel=1e-12)


def test_an_integer_sum_beyond_64_bits_fails() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError):
        result(Sum("x"), [pl.DataFrame({"x": [2**62, 2**62]})])


def test_nan_is_the_greatest_number() -> None:
    frame = pl.DataFrame({"x": [1.0, math.nan, math.inf]})
    assert result(Min("x"), [frame]) == 1.0
    assert math.isnan(result(Max("x"), [frame]))
    assert result(TopK("x", 2), [frame]).to_list() == pytest.approx([math.nan, math.inf], nan_ok=True)


@dataclass(frozen=True)
class Untyped(Combiner):
    column: str

    def create(self) -> int:
        return 0

    def add(self, accumulator: int, value: Any) -> int:
        return accumulator + value

    def merge(self, left: int, right: int) -> int:
        return left + right

    def extract(self, accumulator: int) -> int:
        return accumulator


@dataclass(frozen=True)
class Logarithms(VectorisedCombiner):
    column: str

    def lift(self) -> dict[str, pl.Expr]:
        return {"logs": pl.col(self.column).str.len_chars()}

    def fold(self, accumulators: Any) -> dict[str, pl.Expr]:
        return {"logs": accumulators["logs"].sum()}

    def result(self, accumulators: Any) -> pl.Expr:
        return accumulators["logs"]


@pytest.mark.parametrize("retracting", [False, True])
@pytest.mark.parametrize(
    ("combiner", "dtype", "code"),
    [
        (Sum("x"), pl.String(), "SUBMIT_COLUMN_TYPE"),
        (Mean("x"), pl.Date(), "SUBMIT_COLUMN_TYPE"),
        (StdDev("x"), pl.String(), "SUBMIT_COLUMN_TYPE"),
        (Quantiles("x", (0.5,)), pl.String(), "SUBMIT_COLUMN_TYPE"),
        (Min("x"), pl.List(pl.Int64()), "SUBMIT_COLUMN_TYPE"),
        (First("x"), pl.Struct({"a": pl.Int64()}), "SUBMIT_COLUMN_TYPE"),
        (Collect("x"), pl.List(pl.Int64()), "SUBMIT_COLUMN_TYPE"),
        (CountDistinct("x"), pl.List(pl.Int64()), "SUBMIT_COLUMN_TYPE"),
        (TopK("n", 2, by="x"), pl.List(pl.Int64()), "SUBMIT_COLUMN_TYPE"),
        (Logarithms("x"), pl.Int64(), "SUBMIT_COLUMN_TYPE"),
        (Untyped("x"), pl.Int64(), "ENGINE_COMBINER"),
    ],
    ids=repr,
)
def test_columns_that_a_combiner_cannot_take_are_refused_before_the_run(
    combiner: Combiner, dtype: pl.DataType, code: str, retracting: bool
) -> None:
    schema = {"k": pl.String(), "x": dtype, "n": pl.Int64()}
    with pytest.raises(SubmissionError) as refused:
        Aggregates.of(pipeline(out=combiner).grouping, schema, retracting=retracting)
    assert refused.value.code == code


BUILT_IN = {
    "a": Count(), "b": Count("x"), "c": Sum("x"), "d": Variance("x", sample=False), "e": StdDev("x"),
    "f": CountDistinct("x", exact=False, lg_k=10), "g": Quantiles("x", (0.5, 0.9), exact=True),
    "h": TopK("x", 3, by="y"), "i": Collect("x"), "j": Quantiles("it's \"x\"", (0.1,), k=400),
}  # fmt: skip


def test_built_in_combiners_stand_in_a_header_as_the_code_that_makes_them() -> None:
    written = json.loads(json.dumps(combiners_to_json(pipeline(**BUILT_IN).grouping)))
    assert written["h"] == {"code": "TopK('x', 3, by='y')"}
    assert combiners_from_json(written) == BUILT_IN


def test_the_users_own_combiners_stand_in_a_header_by_name_and_are_brought_along_by_who_reads() -> None:
    written = json.loads(json.dumps(combiners_to_json(pipeline(own=Untyped("x"), n=Count()).grouping)))
    assert written["own"] == {"code": "Untyped(column='x')", "class": f"{__name__}:Untyped"}
    assert combiners_from_json(written, {"own": Untyped("x")}) == {"own": Untyped("x"), "n": Count()}
    for own in (None, {"own": Untyped("y")}):
        with pytest.raises(StateError) as refused:
            combiners_from_json(written, own)
        assert refused.value.code == "STATE_NEEDS_COMBINER"


@pytest.mark.parametrize(
    "code", ["exit()", "1 + 1", "", "Count(", "Sum(1, 2, 3)", "Combiner()", "Sum(open('x'))", "Sum(*[])"]
)
def test_a_header_that_holds_no_combiner_is_refused(code: str) -> None:
    with pytest.raises(StateError) as refused:
        combiners_from_json({"own": {"code": code}})
    assert refused.value.code == "STATE_UNREADABLE"


def test_a_result_has_the_type_that_the_next_grouping_reads() -> None:
    schema = {"k": pl.String(), "x": pl.Int64(), "y": pl.Decimal(10, 2)}
    combiners = {"n": Count(), "all": Collect("x"), "money": Sum("y"), "middle": Quantiles("x", (0.5,)), "m": Mean("x")}
    for retracting in (False, True):
        aggregates = Aggregates.of(pipeline(**combiners).grouping, schema, retracting=retracting)
        assert aggregates.output_schema == {
            "n": pl.Int64(), "all": pl.List(pl.Int64()), "money": pl.Decimal(38, 2),
            "middle": pl.List(pl.Float64()), "m": pl.Float64(),
        }  # fmt: skip


def test_a_decimal_sum_is_exact() -> None:
    cents = pl.DataFrame({"x": [Decimal("0.10")] * 3}, schema={"x": pl.Decimal(12, 2)})
    assert result(Sum("x"), [cents[:1], cents[1:]]) == Decimal("0.30")
