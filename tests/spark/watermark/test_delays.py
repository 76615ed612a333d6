"""The watermark's estimate: follows the delays, forgets them, is moved by no wrong clock, and claims what is true."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import DelayWatermark
from airflow_dataflow_provider.model.time import MIN_TIME, to_micros
from airflow_dataflow_provider.spark.watermark.delays import Observation

HOUR = 3_600_000_000
DAY = 24 * HOUR
NOW = to_micros("2026-01-01T00:00:00Z")
POLICY = DelayWatermark()
PERCENTILES = (50.0, 90.0, 97.0, 100.0)


def observed(arrivals: list[int], delays: list[int], policy: DelayWatermark = POLICY) -> Observation:
    arrival = np.array(arrivals, dtype=np.int64)
    return Observation.of(policy, arrival - np.array(delays, dtype=np.int64), arrival, NOW)


def test_nothing_observed_claims_nothing() -> None:
    assert {time for _, time in Observation().curve(POLICY, PERCENTILES)} == {MIN_TIME}
    assert observed([], []).curve(POLICY, PERCENTILES).at(100) == MIN_TIME


def test_the_ordinary_watermark_is_the_frontier_minus_the_longest_delay() -> None:
    curve = observed([10 * HOUR, 11 * HOUR], [HOUR, 5]).curve(POLICY, PERCENTILES)
    assert curve.at(100) == 10 * HOUR
    assert curve.at(50) <= 11 * HOUR


def test_a_row_with_a_wrong_clock_moves_no_watermark() -> None:
    right = observed([10 * HOUR] * 3, [HOUR] * 3)
    year_2100 = to_micros("2100-01-01T00:00:00Z")
    for arrival, event in ((year_2100, year_2100), (11 * HOUR, year_2100), (11 * HOUR, -100 * 365 * DAY)):
        wrong = Observation.of(POLICY, np.array([event]), np.array([arrival]), NOW)
        assert right.merged(wrong, POLICY).curve(POLICY, PERCENTILES) == right.curve(POLICY, PERCENTILES)


def test_a_storm_is_believed_at_once_and_forgotten_after_the_longest_horizon() -> None:
    policy = DelayWatermark(horizons=("3h", "1d"))
    seen = observed([HOUR * hour for hour in range(24)], [60_000_000] * 24, policy)
    seen = seen.merged(observed([24 * HOUR] * 5, [10 * HOUR] * 5, policy), policy)
    assert seen.curve(policy, PERCENTILES).at(97) <= 24 * HOUR - 9 * HOUR
    for hour in range(25, 73):
        seen = seen.merged(observed([hour * HOUR] * 5, [60_000_000] * 5, policy), policy)
    assert seen.curve(policy, PERCENTILES).at(100) == 72 * HOUR - 60_000_000


@given(
    parts=st.lists(
        st.lists(st.tuples(st.integers(0, 40 * DAY), st.integers(-HOUR, 20 * HOUR)), min_size=1, max_size=20),
        min_size=1,
        max_size=5,
    )
)
def test_a_curve_never_rises_with_the_percentile_and_survives_the_log(parts: list[list[tuple[int, int]]]) -> None:
    seen = Observation()
    for part in parts:
        seen = seen.merged(observed([arrival for arrival, _ in part], [delay for _, delay in part]), POLICY)
    curve = seen.curve(POLICY, PERCENTILES)
    assert all(early >= late for (_, early), (_, late) in pairwise(curve.points))
    assert Observation.from_json(seen.to_json()) == seen
    assert Observation.from_json(seen.to_json()).curve(POLICY, PERCENTILES) == curve
    assert seen.frontier == max(arrival for part in parts for arrival, _ in part)


def test_a_large_sample_keeps_its_widest_delay_and_its_percentiles() -> None:
    random = np.random.default_rng(0)
    arrival = np.sort(random.integers(0, DAY, 300_000)) + 100 * DAY
    delay = np.minimum((random.pareto(2.0, 300_000) * 60_000_000).astype(np.int64), 20 * DAY)
    curve = Observation.of(POLICY, arrival - delay, arrival, NOW).curve(POLICY, PERCENTILES)
    assert curve.at(100) == arrival.max() - delay.max()
    for percentile in (90, 97):
        share = (delay <= arrival.max() - curve.at(percentile)).mean() * 100
        # The largest over the horizons errs to the safe side.
        assert percentile - 0.2 < share < percentile + 1.5


@pytest.mark.slow
def test_what_is_claimed_of_the_flights_of_winter_is_true_on_the_whole() -> None:
    """Claimed 97 % against what had really departed, for every hour of two months, the frontier in 15-minute steps."""
    from dags_examples.data import load_flights

    flights = load_flights().filter(pl.col("departed").is_not_null() & (pl.col("scheduled").dt.month() <= 2))
    flights = flights.sort("departed")
    event = flights["scheduled"].dt.epoch("us").to_numpy()
    arrival = flights["departed"].dt.epoch("us").to_numpy()
    hours = np.unique(event // HOUR)
    step, seen, told, at, shares = HOUR // 4, Observation(), MIN_TIME, 0, []
    for frontier in range(int(arrival[0]) // step * step + step, int(arrival[-1]) + step, step):
        until = int(np.searchsorted(arrival, frontier))
        begin = int(np.searchsorted(arrival, frontier - step))
        new = Observation.of(POLICY, event[begin:until], arrival[begin:until], NOW)
        seen = seen.merged(new, POLICY)
        told = max(told, seen.curve(POLICY, PERCENTILES).at(97))
        while at < len(hours) and (hours[at] + 1) * HOUR <= told:
            mine = event // HOUR == hours[at]
            shares.append((mine.sum(), (mine & (np.arange(len(event)) < until)).sum()))
            at += 1
    counts = np.array(shares[100:])  # what comes before is learning
    true = counts[:, 1] / counts[:, 0]
    assert counts[:, 1].sum() / counts[:, 0].sum() >= 0.97
    assert (true >= 0.97).mean() >= 0.85
