"""Windows that merge: what stood for each of them is taken back, and nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    AtWatermark,
    Refinement,
    Repeat,
    Risk,
    SequenceOf,
    Window,
)
from airflow_dataflow_provider.model.elements import Key, Pane
from airflow_dataflow_provider.model.time import Micros, duration, to_datetime
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.reference.interpreter import Counts, interpret
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.strategies import event_times
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import moment
from tests.reference.ten_points import as_a_stream, in_one_batch, summing


@dataclass(frozen=True)
class Sessions(WindowStrategy):
    """A user's own strategy: windows that last until nothing has come for a gap."""

    gap: Micros
    merges = True

    def assign(self, event_time: Micros, key: Key = (), row: object = None) -> tuple[Window]:  # noqa: ARG002
        return (Window(event_time, event_time + self.gap),)

    def merge(self, windows: Iterable[Window]) -> Sequence[tuple[Window, frozenset[Window]]]:
        merged: list[tuple[Window, frozenset[Window]]] = []
        for window in sorted(windows):
            if merged and merged[-1][0].intersects(window):
                session, parts = merged[-1]
                merged[-1] = (session.span(window), parts | {window})
            else:
                merged.append((window, frozenset({window})))
        return merged


SESSIONS = Sessions(duration("1m"))
RETRACTING = summing(SESSIONS, refinement=ACCUMULATING_AND_RETRACTING)


def told(panes: Sequence[Pane]) -> list[str]:
    return [f"{'-' if got.is_retraction else '+'}{got.values['total']} {got.timing}" for got in panes]


def test_sessions_over_the_ten_points_in_one_batch_are_two() -> None:
    assert_panes(
        in_one_batch(RETRACTING).run(),
        [
            pane("k", "12:00:26", "12:05:19", total=39, pane_timing="ON_TIME", pane_index=0, pane_is_last=True),
            pane("k", "12:06:39", "12:08:46", total=12, pane_timing="ON_TIME", pane_index=0, pane_is_last=True),
        ],
    )


def test_the_late_nine_joins_two_sessions_and_both_their_panes_are_retracted_before_the_new_one() -> None:
    panes = as_a_stream(RETRACTING).run()
    assert told(panes) == ["+5 ON_TIME", "+25 ON_TIME", "-5 LATE", "-25 LATE", "+39 LATE", "+12 ON_TIME"]
    assert_panes(
        panes,
        [
            pane("k", "12:00:26", "12:01:26", total=5, pane_index=0, processing_time="12:06:05"),
            pane("k", "12:02:24", "12:05:19", total=25, pane_index=0, processing_time="12:07:40"),
            pane(
                "k", "12:00:26", "12:01:26", total=5, pane_is_retraction=True, pane_index=0, processing_time="12:08:19"
            ),
            pane(
                "k", "12:02:24", "12:05:19", total=25, pane_is_retraction=True, pane_index=0, processing_time="12:08:19"
            ),
            pane("k", "12:00:26", "12:05:19", total=39, pane_is_first=True, pane_index=0, processing_time="12:08:19"),
            pane("k", "12:06:39", "12:08:46", total=12, pane_index=0, processing_time="12:10"),
        ],
    )


def test_a_session_that_grows_moves_its_pane_even_where_the_value_stays() -> None:
    stream = TestStream(RETRACTING).advance_watermark("12:05").add(("k", 1, "12:00:10")).add(("k", None, "12:00:10"))
    grown = stream.advance_processing_time("12:01").add(("k", None, "12:00:20"))
    assert_panes(stream.run(), [pane("k", "12:00:10", "12:01:10", total=1, pane_index=0)])
    assert_panes(
        grown.run(),
        [
            pane("k", "12:00:10", "12:01:10", total=1, pane_index=0),
            pane("k", "12:00:10", "12:01:10", total=1, pane_index=0, pane_is_retraction=True),
            pane("k", "12:00:10", "12:01:20", total=1, pane_index=0, pane_is_first=True, pane_timing="LATE"),
        ],
    )


def test_a_session_that_does_not_grow_goes_on_counting_its_panes() -> None:
    stream = TestStream(summing(SESSIONS, Repeat(AtWatermark(50)), ACCUMULATING_AND_RETRACTING))
    stream = stream.advance_watermark("12:05", percentile=50).add(("k", 1, "12:00:10"), ("k", 2, "12:01:00"))
    assert_panes(
        stream.advance_processing_time("12:06").add(("k", 4, "12:00:30")).run(),
        [
            pane("k", "12:00:10", "12:02:00", total=3, pane_index=0, pane_timing="EARLY"),
            pane("k", "12:00:10", "12:02:00", total=3, pane_index=0, pane_is_retraction=True),
            pane("k", "12:00:10", "12:02:00", total=7, pane_index=1, pane_is_first=False, pane_timing="EARLY"),
        ],
    )


def test_sessions_of_different_keys_do_not_merge() -> None:
    stream = (
        TestStream(RETRACTING).add(("a", 1, "12:00:10"), (None, 2, "12:00:20"), ("a", 4, "12:00:30")).end_of_input()
    )
    assert_panes(
        stream.run(),
        [pane("a", "12:00:10", "12:01:30", total=5), pane(None, "12:00:20", "12:01:20", total=2)],
    )


def test_sessions_that_only_touch_stay_apart() -> None:
    stream = TestStream(RETRACTING).add(("k", 1, "12:00:00"), ("k", 2, "12:01:00")).end_of_input()
    assert_panes(stream.run(), [pane("k", "12:00", "12:01", total=1), pane("k", "12:01", "12:02", total=2)])


def test_an_element_whose_own_window_has_expired_is_taken_where_it_joins_a_session_that_is_still_open() -> None:
    stream = TestStream(RETRACTING).add(("k", 1, "12:59:30")).advance_watermark("13:59:50")
    joins, comes_too_late = stream.add(("k", 2, "12:58:45")), stream.add(("k", 2, "12:58:30"))
    assert interpret(RETRACTING, joins.epochs()).counts == Counts(read=2, late=1, expired=0)
    outcome = interpret(RETRACTING, comes_too_late.epochs())
    assert outcome.counts == Counts(read=2, late=0, expired=1)
    assert [gone.window for gone in outcome.expired] == [Window(moment("12:58:30"), moment("12:59:30"))]


def test_a_session_that_grows_ahead_of_the_watermark_is_on_time_once_more() -> None:
    stream = TestStream(RETRACTING).add(("k", 1, "12:00:10")).advance_watermark("12:01:10").add(("k", 2, "12:00:50"))
    assert told(stream.advance_watermark("12:02").run()) == ["+1 ON_TIME", "-1 ON_TIME", "+3 ON_TIME"]


def test_a_retraction_says_how_complete_its_own_window_was_claimed_to_be() -> None:
    stream = TestStream(summing(SESSIONS, Repeat(AtWatermark(50)), ACCUMULATING_AND_RETRACTING))
    stream = stream.add(("k", 1, "12:00:10")).advance_watermark("12:05", percentile=50).advance_watermark("12:01:10")
    assert_panes(
        stream.add(("k", 2, "12:00:20")).run(),
        [
            pane("k", "12:00:10", "12:01:10", total=1, pane_timing="EARLY", completeness=0.5),
            pane("k", "12:00:10", "12:01:10", total=1, pane_is_retraction=True, completeness=1.0),
            pane("k", "12:00:10", "12:01:20", total=3, pane_timing="EARLY", completeness=0.5),
        ],
    )


def test_a_session_made_of_one_whose_trigger_has_finished_and_one_whose_has_not_fires_again() -> None:
    stream = (
        TestStream(summing(SESSIONS, AtWatermark(50), ACCUMULATING_AND_RETRACTING, accept=(Risk.MAY_LOSE_DATA,)))
        .add(("k", 1, "12:00:00"), ("k", 2, "12:01:30"))
        .advance_watermark("12:01", percentile=50)  # fires the first, not the second
        .add(("k", 4, "12:00:45"))  # joins them
        .advance_watermark("12:02:30", percentile=50)
        .add(("k", 8, "12:00:45"))  # now it has finished
        .advance_watermark("12:02:30")
    )
    assert told(stream.run()) == ["+1 EARLY", "-1 EARLY", "+7 EARLY"]
    assert told(stream.end_of_input().run())[3:] == ["-7 ON_TIME", "+15 ON_TIME"]


@pytest.mark.parametrize("seconds", [("12:00:00", "12:00:45"), ("12:00:45", "12:00:00")])
def test_what_the_epoch_itself_has_opened_has_no_say_in_where_a_session_stands_so_that_order_has_none(
    seconds: tuple[str, str],
) -> None:
    stream = TestStream(
        summing(SESSIONS, SequenceOf(AtWatermark(50), Repeat(AtWatermark())), ACCUMULATING_AND_RETRACTING)
    )
    stream = (
        stream.advance_watermark("12:05", percentile=50)
        .add(("k", 2, "12:01:30"))  # fires at once: it waits for the ordinary watermark now
        .advance_processing_time("12:06")
        .add(*(("k", 4, second) for second in seconds))  # one bridges the other, an earlier session, and the first
    )
    assert told(stream.run()) == ["+2 EARLY"]
    assert told(stream.advance_watermark("12:05").run()) == ["+2 EARLY", "-2 ON_TIME", "+10 ON_TIME"]


def test_a_sequence_goes_on_where_the_part_of_the_session_that_has_come_least_far_stands() -> None:
    stream = TestStream(
        summing(SESSIONS, SequenceOf(AtWatermark(50), Repeat(AtWatermark())), ACCUMULATING_AND_RETRACTING)
    )
    old_first = (
        stream.add(("k", 1, "12:00:00"), ("k", 2, "12:01:30"))
        .advance_watermark("12:01", percentile=50)  # fires the earlier session, not the later one
        .add(("k", 4, "12:00:45"))  # joins them
        .advance_watermark("12:02:30", percentile=50)
    )
    assert told(old_first.run()) == ["+1 EARLY", "-1 EARLY", "+7 EARLY"]


ARRIVALS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-9, 9), event_times()), max_size=15)


def with_a_pane_for_every_change(
    refinement: Refinement, arrivals: Sequence[tuple[str, int, Micros]], cuts: Sequence[bool]
) -> list[Pane]:
    stream = TestStream(
        summing(SESSIONS, Repeat(AtWatermark(50)), refinement, accept=(Risk.NEEDS_RETRACTION,))
    ).advance_watermark("13:00", percentile=50)
    for (key, value, time), cut in zip(arrivals, cuts, strict=True):
        stream = stream.add({"key": key, "value": value, "happened": to_datetime(time)})
        if cut:
            stream = stream.advance_processing_time("00:00")
    return stream.end_of_input().run()


@given(ARRIVALS, st.data())
def test_the_final_sessions_depend_neither_on_order_nor_on_cuts_and_retractions_leave_just_them(
    arrivals: list[tuple[str, int, Micros]], data: st.DataObject
) -> None:
    def final(rows: Sequence[tuple[str, int, Micros]]) -> dict[object, int]:
        cuts = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
        table: dict[object, int] = {}
        for got in with_a_pane_for_every_change(ACCUMULATING_AND_RETRACTING, rows, cuts):
            if got.is_retraction:
                assert table.pop((got.key, got.window)) == got.values["total"]
            else:
                assert (got.key, got.window) not in table
                table[got.key, got.window] = got.values["total"]
        return table

    sessions = final(arrivals)
    assert final(data.draw(st.permutations(arrivals))) == sessions
    assert sum(sessions.values()) == sum(value for _, value, _ in arrivals)


@given(ARRIVALS)
def test_discarded_sessions_add_up_to_all_that_came(arrivals: list[tuple[str, int, Micros]]) -> None:
    panes = with_a_pane_for_every_change(DISCARDING, arrivals, [True] * len(arrivals))
    assert sum(got.values["total"] for got in panes) == sum(value for _, value, _ in arrivals)
