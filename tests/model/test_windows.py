"""Windows that do not look at the calendar: fixed, sliding, sessions, global, and what all of them promise."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
)
from airflow_dataflow_provider.model.hashing import key_hash
from airflow_dataflow_provider.model.time import ELEMENT_TIMES, LONGEST, duration_text, to_micros
from airflow_dataflow_provider.model.windows import merge_intersecting
from airflow_dataflow_provider.model.windows.window import GLOBAL_WINDOW

TIMES = st.integers(ELEMENT_TIMES[0], ELEMENT_TIMES[1] - 1)
SIZES = st.integers(1, LONGEST)
OFFSETS = st.integers(-LONGEST, LONGEST)
KEYS = st.tuples(st.text(max_size=5) | st.integers() | st.none())
FIXED = st.builds(FixedWindows, SIZES.map(duration_text), OFFSETS.map(duration_text), shifted_by_key=st.booleans())
SHORT = st.integers(1, 1000).map(duration_text)
SLIDING = st.builds(SlidingWindows, SHORT, SHORT, st.integers(-5000, 5000).map(duration_text))
SESSIONS = st.builds(SessionWindows, SIZES.map(duration_text))
SMALL_TIMES = st.integers(-10_000, 10_000)
EVERY = FIXED | SLIDING | SESSIONS | st.just(GlobalWindows()) | st.just(CalendarWindows("month", "Europe/Rome"))
CALENDAR_TIMES = st.integers(to_micros("1900-01-01T00:00:00Z"), to_micros("2100-01-01T00:00:00Z"))


# All of them


@given(EVERY, CALENDAR_TIMES, KEYS)
def test_a_window_holds_the_time_it_was_assigned_for(
    strategy: WindowStrategy, time: int, key: tuple[object, ...]
) -> None:
    for window in strategy.assign(time, key):
        assert window.start <= time < window.end


@given(EVERY, CALENDAR_TIMES, KEYS)
def test_no_window_ends_longer_after_its_element_than_the_strategy_says(
    strategy: WindowStrategy, time: int, key: tuple[object, ...]
) -> None:
    for window in strategy.assign(time, key):
        assert strategy.longest is None or window.end - time <= strategy.longest


@given(EVERY, st.lists(CALENDAR_TIMES, max_size=10))
def test_every_window_is_part_of_exactly_one_result_of_a_merge(strategy: WindowStrategy, times: list[int]) -> None:
    windows = {window for time in times for window in strategy.assign(time)}
    merged = strategy.merge(windows)
    assert sorted(part for _, parts in merged for part in parts) == sorted(windows)
    if not strategy.merges:
        assert {*merged} == {(window, frozenset({window})) for window in windows}


def test_windows_that_only_touch_do_not_intersect() -> None:
    assert not Window(0, 5).intersects(Window(5, 9))
    assert Window(0, 6).intersects(Window(5, 9))
    assert Window(0, 6).span(Window(5, 9)) == Window(0, 9)


# Fixed


@given(FIXED, TIMES, KEYS, st.data())
def test_every_time_within_a_fixed_window_is_assigned_that_window(
    strategy: FixedWindows, time: int, key: tuple[object, ...], data: st.DataObject
) -> None:
    (window,) = strategy.assign(time, key)
    assert window.end - window.start == strategy.size
    assert strategy.assign(data.draw(st.integers(window.start, window.end - 1)), key) == (window,)


@given(FIXED, TIMES, KEYS)
def test_fixed_windows_lie_side_by_side_and_a_border_belongs_to_the_later_one(
    strategy: FixedWindows, time: int, key: tuple[object, ...]
) -> None:
    (window,) = strategy.assign(time, key)
    (after,) = strategy.assign(window.end, key)
    assert after.start == window.end
    assert not window.intersects(after)


@given(st.integers(1, LONGEST // 10), st.integers(-LONGEST // 2, LONGEST // 2), TIMES, st.integers(-5, 5))
def test_an_offset_moves_every_border_and_whole_sizes_of_it_do_not_matter(
    size: int, offset: int, time: int, sizes: int
) -> None:
    strategy = FixedWindows(f"{size}us", f"{offset}us")
    (window,) = strategy.assign(time)
    assert (window.start - strategy.offset) % size == 0
    assert FixedWindows(f"{size}us", f"{offset + sizes * size}us") == strategy


def test_hours_begin_at_whole_hours() -> None:
    (window,) = FixedWindows("1h").assign(to_micros("2013-01-01T12:34:56Z"))
    assert str(window) == "[2013-01-01T12:00:00Z, 2013-01-01T13:00:00Z)"


@given(SIZES, OFFSETS, TIMES, KEYS)
def test_a_window_shifted_by_its_key_is_moved_by_the_hash_of_the_key(
    size: int, offset: int, time: int, key: tuple[object, ...]
) -> None:
    (window,) = FixedWindows(f"{size}us", f"{offset}us", shifted_by_key=True).assign(time, key)
    assert (window.start - offset - key_hash(key)) % size == 0
    assert FixedWindows(f"{size}us", f"{offset}us").assign(time, key) == FixedWindows(
        f"{size}us", f"{offset}us"
    ).assign(time)


def test_windows_shifted_by_key_do_not_all_close_at_once() -> None:
    strategy = FixedWindows("1h", shifted_by_key=True)
    ends = {strategy.assign(0, (f"user {number}",))[0].end for number in range(1000)}
    assert len(ends) > 990
    by_quarter = [sum(end // (15 * 60_000_000) == quarter for end in ends) for quarter in range(4)]
    assert all(200 < count < 300 for count in by_quarter)


@given(TIMES)
def test_the_global_window_holds_every_time(time: int) -> None:
    assert GlobalWindows().assign(time) == (GLOBAL_WINDOW,)
    assert GLOBAL_WINDOW.start < time < GLOBAL_WINDOW.end


# Sliding


@given(SLIDING, SMALL_TIMES)
def test_sliding_windows_are_all_those_around_the_time_and_start_every_period(
    strategy: SlidingWindows, time: int
) -> None:
    nearby = range(time - 3 * strategy.size - strategy.period, time + strategy.period)
    starts = [at for at in nearby if (at - strategy.offset) % strategy.period == 0 and at <= time < at + strategy.size]
    assert strategy.assign(time) == [Window(start, start + strategy.size) for start in starts]


@given(st.integers(1, 500), st.integers(1, 20), SMALL_TIMES)
def test_with_a_period_that_divides_the_size_each_time_is_in_as_many_windows(
    period: int, times: int, time: int
) -> None:
    assert len(SlidingWindows(f"{period * times}us", f"{period}us").assign(time)) == times


@given(SIZES, OFFSETS, TIMES)
def test_with_a_period_of_the_size_sliding_windows_are_fixed_ones(size: int, offset: int, time: int) -> None:
    assert tuple(SlidingWindows(f"{size}us", f"{size}us", f"{offset}us").assign(time)) == FixedWindows(
        f"{size}us", f"{offset}us"
    ).assign(time)


def test_with_a_period_above_the_size_a_time_in_a_gap_is_in_no_window() -> None:
    strategy = SlidingWindows("5us", "10us")
    assert [strategy.assign(time) for time in (-1, 0, 4, 5, 9, 10)] == [
        [], [Window(0, 5)], [Window(0, 5)], [], [], [Window(10, 15)],
    ]  # fmt: skip


@given(SLIDING, SMALL_TIMES)
def test_times_in_one_slice_share_all_their_windows(strategy: SlidingWindows, time: int) -> None:
    first = time - (time - strategy.offset) % strategy.slice
    assert strategy.assign(first) == strategy.assign(time) == strategy.assign(first + strategy.slice - 1)


# Sessions


def test_two_elements_exactly_one_gap_apart_are_in_two_sessions() -> None:
    sessions = SessionWindows("10us")
    apart = {*sessions.assign(0), *sessions.assign(10)}
    assert [session for session, _ in sessions.merge(apart)] == [Window(0, 10), Window(10, 20)]
    closer = {*sessions.assign(0), *sessions.assign(9)}
    assert [session for session, _ in sessions.merge(closer)] == [Window(0, 19)]


@given(st.integers(1, 50), st.lists(st.integers(0, 500), min_size=1, max_size=30))
def test_sessions_are_runs_of_elements_with_less_than_a_gap_between_them(gap: int, times: list[int]) -> None:
    runs: list[list[int]] = []
    for time in sorted(times):
        if runs and time - runs[-1][-1] < gap:
            runs[-1].append(time)
        else:
            runs.append([time])
    sessions = SessionWindows(f"{gap}us")
    merged = sessions.merge({window for time in times for window in sessions.assign(time)})
    assert [session for session, _ in merged] == [Window(run[0], run[-1] + gap) for run in runs]


@given(st.integers(1, 50), st.lists(st.integers(0, 500), max_size=30), st.data())
def test_merging_sessions_in_steps_gives_what_merging_them_at_once_gives(
    gap: int, times: list[int], data: st.DataObject
) -> None:
    sessions = SessionWindows(f"{gap}us")
    so_far: set[Window] = set()
    for time in data.draw(st.permutations(times)):
        so_far = {session for session, _ in sessions.merge({*so_far, *sessions.assign(time)})}
    at_once = sessions.merge({window for time in times for window in sessions.assign(time)})
    assert so_far == {session for session, _ in at_once}


@given(st.sets(st.builds(lambda start, length: Window(start, start + length), SMALL_TIMES, st.integers(1, 2000))))
def test_merged_windows_do_not_intersect_and_span_their_parts(windows: set[Window]) -> None:
    merged = merge_intersecting(windows)
    for (left, _), (right, _) in pairwise(merged):
        assert left.end <= right.start
    for span, parts in merged:
        assert (span.start, span.end) == (min(part.start for part in parts), max(part.end for part in parts))


@pytest.mark.parametrize(
    "strategy", [FixedWindows("7s"), SlidingWindows("7s", "3s"), GlobalWindows(), CalendarWindows("day")]
)
def test_only_sessions_merge(strategy: WindowStrategy) -> None:
    assert not strategy.merges
    assert SessionWindows("7s").merges
