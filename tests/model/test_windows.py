"""Fixed windows tile all of time; the global window is all of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import FixedWindows, GlobalWindows, Window
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.model.windows import GLOBAL_WINDOW

TIMES = st.integers(-(2**60), 2**60)
SIZES = st.integers(1, 2**60)
STRATEGIES = st.builds(FixedWindows, SIZES, TIMES)


@given(STRATEGIES, TIMES)
def test_a_fixed_window_holds_the_time_it_was_assigned_for(strategy: FixedWindows, time: int) -> None:
    (window,) = strategy.assign(time)
    assert window.start <= time < window.end
    assert window.end - window.start == strategy.size


@given(STRATEGIES, TIMES, st.data())
def test_every_time_within_a_fixed_window_is_assigned_that_window(
    strategy: FixedWindows, time: int, data: st.DataObject
) -> None:
    (window,) = strategy.assign(time)
    assert strategy.assign(data.draw(st.integers(window.start, window.end - 1))) == (window,)


@given(STRATEGIES, TIMES)
def test_fixed_windows_lie_side_by_side(strategy: FixedWindows, time: int) -> None:
    (window,) = strategy.assign(time)
    (after,) = strategy.assign(window.end)
    assert after.start == window.end
    assert not window.intersects(after)


@given(STRATEGIES, TIMES, st.integers(-5, 5))
def test_an_offset_moves_every_border_and_whole_sizes_of_it_do_not_matter(
    strategy: FixedWindows, time: int, sizes: int
) -> None:
    (window,) = strategy.assign(time)
    assert (window.start - strategy.offset) % strategy.size == 0
    assert FixedWindows(strategy.size, strategy.offset + sizes * strategy.size) == strategy


def test_hours_begin_at_whole_hours() -> None:
    (window,) = FixedWindows("1h").assign(to_micros("2013-01-01T12:34:56Z"))
    assert str(window) == "[2013-01-01T12:00:00Z, 2013-01-01T13:00:00Z)"


@given(TIMES)
def test_the_global_window_holds_every_time(time: int) -> None:
    assert GlobalWindows().assign(time) == (GLOBAL_WINDOW,)
    assert GLOBAL_WINDOW.start < time < GLOBAL_WINDOW.end


@given(st.lists(TIMES, max_size=10), STRATEGIES)
def test_windows_that_do_not_merge_are_made_of_themselves(times: list[int], strategy: FixedWindows) -> None:
    windows = {window for time in times for window in strategy.assign(time)}
    assert {*strategy.merge(windows)} == {(window, frozenset({window})) for window in windows}


def test_windows_that_only_touch_do_not_intersect() -> None:
    assert not Window(0, 5).intersects(Window(5, 9))
    assert Window(0, 6).intersects(Window(5, 9))
    assert Window(0, 6).span(Window(5, 9)) == Window(0, 9)
