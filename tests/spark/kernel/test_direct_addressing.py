"""Adding up by position gives what hashing gives; keys have one number where they are equal; sessions of any span."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from airflow_dataflow_provider import Count, Files, FixedWindows, Max, Mean, Min, Pipeline, SessionWindows, Sum
from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.spark.kernel import direct_addressing
from airflow_dataflow_provider.spark.kernel.advance import advance
from airflow_dataflow_provider.spark.kernel.codes import key_codes, occurrence, order_by
from airflow_dataflow_provider.spark.kernel.columns import START
from airflow_dataflow_provider.spark.kernel.epoch import Arrived
from airflow_dataflow_provider.spark.kernel.kernel import Kernel
from airflow_dataflow_provider.spark.kernel.windows import components

MINUTE = 60_000_000
LARGEST = 2**63 - 1


def kernel(**combined: Any) -> Kernel:
    grouped = Pipeline("numbers", Files("events/*.parquet", event_time="at")).group_by_key_and_window(
        key="key", window=FixedWindows("1m")
    )
    return Kernel(grouped.combine(**combined).grouping, {"key": pl.Int64(), "value": pl.Int64(), "part": pl.Float64()})


ADDING = kernel(count=Count(), total=Sum("value"), low=Min("value"), high=Max("value"), mean=Mean("part"))


def partials(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, {"key": pl.Int64, START: pl.Int64, "value": pl.Int64}, orient="row")
    frame = frame.with_columns(pl.col(START) * MINUTE, part=pl.col("value") / 4)
    return frame.select(*ADDING.by, *ADDING.lift())


ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-2, 5), st.integers(-1000, 1000)), min_size=1)


@contextmanager
def fitting(fits: bool) -> Iterator[None]:
    """By a table, or by sorting as where a table would be too large."""
    with mock.patch.object(direct_addressing, "_fits", return_value=fits):
        yield


@given(ROWS, st.booleans())
def test_what_is_added_up_by_position_is_what_is_grouped(rows: list[tuple[int, int, int]], fits: bool) -> None:
    with fitting(fits):
        found = direct_addressing.combine(ADDING, partials(rows))
    assert found is not None
    wanted = partials(rows).group_by(ADDING.by).agg(ADDING.merge())
    assert_frame_equal(found, wanted.sort(ADDING.by))


@given(ROWS, ROWS, st.booleans())
def test_what_comes_is_added_to_the_open_windows(
    before: list[tuple[int, int, int]], rows: list[tuple[int, int, int]], fits: bool
) -> None:
    clock = Clock(0, NOTHING_KNOWN)
    opened = advance(ADDING, ADDING.empty_state(), Arrived([partials(before)]), EpochTime(clock, MIN_TIME)).state
    with fitting(fits):
        found = advance(ADDING, opened, Arrived([partials(rows)]), EpochTime(clock, MIN_TIME))
    with mock.patch.object(direct_addressing, "add", return_value=False):
        wanted = advance(ADDING, opened, Arrived([partials(rows)], combined=False), EpochTime(clock, MIN_TIME))
    assert_frame_equal(found.state, wanted.state, check_row_order=False)
    assert_frame_equal(found.changed, wanted.changed, check_row_order=False)


@given(ROWS, st.booleans())
def test_the_newest_row_of_each_window_stays(rows: list[tuple[int, int, int]], fits: bool) -> None:
    frame = partials(rows)
    with fitting(fits):
        found = direct_addressing.newest(ADDING, frame)
    assert found is not None
    assert_frame_equal(found, frame.unique(ADDING.by, keep="last", maintain_order=True))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(0, 0, LARGEST), (1, 0, 1)], "a sum might not fit into 64 bits"),
        ([(0, 0, 1), (2**25, 0, 1), (0, 2**36, 1)], "keys and windows lie too far apart"),
    ],
)
def test_what_does_not_fit_is_left_to_hashing(rows: list[tuple[int, int, int]], why: str) -> None:
    assert direct_addressing.combine(ADDING, partials(rows)) is None, why


def test_where_a_table_is_too_large_rows_are_sorted_if_that_is_wanted() -> None:
    far = partials([(0, 0, 1), (2**20, 0, 2), (0, 2**20, 3), (0, 0, 4)])
    assert direct_addressing.combine(ADDING, far, sparse=False) is None
    found = direct_addressing.combine(ADDING, far)
    assert found is not None
    assert found["total.sum"].to_list() == [5, 3, 2]


def test_what_is_null_or_more_than_a_number_is_left_to_hashing() -> None:
    nothing = partials([(0, 0, 1)]).with_columns(pl.lit(None, dtype=pl.Int64).alias("low.value"))
    assert direct_addressing.combine(ADDING, nothing) is None
    assert kernel(low=Min("part")).folds is None, "NaN has an order of its own"


def test_sums_that_do_not_fit_are_still_refused() -> None:
    both = partials([(0, 0, LARGEST), (0, 0, 1)])
    with pytest.raises(pl.exceptions.InvalidOperationError):
        both.group_by(ADDING.by).agg(ADDING.merge())


VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**62), 2**62)).map(lambda of: pl.Series("key", of, pl.Int64)),
    st.lists(st.none() | st.integers(0, 5)).map(lambda of: pl.Series("key", of, pl.UInt8)),
    st.lists(st.none() | st.text(max_size=2)).map(lambda of: pl.Series("key", of, pl.String)),
    st.lists(st.none() | st.booleans()).map(lambda of: pl.Series("key", of, pl.Boolean)),
)


@given(VALUES)
def test_keys_have_one_number_if_they_are_equal(keys: pl.Series) -> None:
    frame = pl.DataFrame([keys, keys.alias("again")])
    codes = key_codes(frame)
    wanted = [keys.to_list().index(value) for value in keys]
    assert [list(codes).index(code) for code in codes] == wanted
    assert list(occurrence(codes)) == [keys.to_list()[:at].count(value) for at, value in enumerate(keys)]


TIMES = st.integers(0, 20) | st.integers(-(2**62), 2**62)


@given(st.lists(st.tuples(st.integers(0, 3), TIMES, st.integers(1, 9) | st.integers(1, 2**61)), min_size=1))
def test_sessions_are_what_overlaps_whatever_the_spans(windows: list[tuple[int, int, int]]) -> None:
    code, start, length = (np.array(column, dtype=np.int64) for column in zip(*windows, strict=True))
    end = np.minimum(start, 2**62 - length) + length
    start = end - length
    order = order_by(code, start)
    part_of, starts, ends = components(SessionWindows("1s"), code[order], start[order], end[order])
    found = {(int(code[order][part_of == of][0]), int(starts[of]), int(ends[of])) for of in range(len(starts))}
    wanted: set[tuple[int, int, int]] = set()
    for key in set(code.tolist()):
        parts = sorted((int(a), int(b)) for k, a, b in zip(code, start, end, strict=True) if k == key)
        low, high = parts[0]
        for a, b in parts[1:]:
            if a < high:
                high = max(high, b)
            else:
                wanted.add((key, low, high))
                low, high = a, b
        wanted.add((key, low, high))
    assert found == wanted
