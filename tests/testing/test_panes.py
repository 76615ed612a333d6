"""Pane assertions: they pass on what was expected, and say what came otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_dataflow_provider import ACCUMULATING_AND_RETRACTING, FixedWindows, Pipeline
from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.model.windows.window import GLOBAL_WINDOW, Window
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret
from airflow_dataflow_provider.testing.panes import ExpectedPane, assert_panes, canonical_order, pane
from airflow_dataflow_provider.testing.strategies import cases
from airflow_dataflow_provider.testing.times import moment
from tests.reference.ten_points import FIGURES as ALL_FIGURES
from tests.reference.ten_points import as_a_stream, summing

FIGURES = {figure.number: figure for figure in ALL_FIGURES}
PANES = as_a_stream(summing(FixedWindows("2m"), refinement=ACCUMULATING_AND_RETRACTING)).run()
EXPECTED = [
    pane("k", "12:00", "12:02", total=5),
    pane("k", "12:00", "12:02", total=5, pane_is_retraction=True),
    pane("k", "12:00", "12:02", total=14),
    pane("k", "12:02", "12:04", total=22),
    pane("k", "12:04", "12:06", total=3),
    pane("k", "12:06", "12:08", total=12),
]


def complaint(actual: Sequence[Pane], expected: Sequence[Pane | ExpectedPane]) -> list[str]:
    """The lines that say what is wrong, each up to its values, with single blanks."""
    with pytest.raises(AssertionError) as caught:
        assert_panes(actual, expected)
    return [" ".join(line.split()) for line in str(caught.value).splitlines()]


def test_panes_that_are_expected_pass() -> None:
    assert_panes(PANES, EXPECTED)


@given(cases(), st.randoms())
def test_panes_are_as_expected_of_themselves_in_any_order(
    case: tuple[Pipeline, tuple[Epoch, ...]], random: st.random.Random
) -> None:
    panes = list(interpret(*case).panes)
    shuffled = panes.copy()
    random.shuffle(shuffled)
    assert_panes(panes, shuffled)
    assert_panes(shuffled, panes)


@given(cases(), st.data())
def test_one_pane_less_or_twice_is_noticed(case: tuple[Pipeline, tuple[Epoch, ...]], data: st.DataObject) -> None:
    panes = list(interpret(*case).panes)
    assume(panes)
    chosen = data.draw(st.integers(0, len(panes) - 1))
    without = panes[:chosen] + panes[chosen + 1 :]
    complaint(panes, without)
    complaint(without, panes)
    complaint([*panes, panes[chosen]], panes)


@pytest.mark.parametrize(
    "change",
    [
        {"key": ("other",)},
        {"key": (1,)},
        {"window": Window(moment("12:00"), moment("12:01"))},
        {"values": {"total": 23}},
        {"values": {"total": 22, "more": 1}},
        {"timing": PaneTiming.LATE},
        {"index": 1},
        {"is_first": False},
        {"is_last": True},
        {"is_retraction": True},
        {"watermark": 0},
        {"completeness": 0.5},
        {"processing_time": 0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_difference_in_any_field_is_noticed(change: dict[str, object]) -> None:
    changed = [replace(got, **change) if got.values["total"] == 22 else got for got in PANES]  # type: ignore[arg-type]
    complaint(changed, PANES)
    complaint(PANES, changed)


@pytest.mark.parametrize(
    "said",
    [
        {"pane_timing": "EARLY"},
        {"pane_index": 7},
        {"pane_is_first": False},
        {"pane_is_last": True},
        {"watermark": "12:05"},
        {"completeness": 0.5},
        {"processing_time": "12:05"},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_is_said_of_an_expected_pane_must_hold(said: dict[str, object]) -> None:
    wrong = [pane("k", "12:02", "12:04", total=22, **said) if got.values["total"] == 22 else got for got in EXPECTED]
    [_, _, expected, came] = complaint(PANES, wrong)
    assert expected.startswith("expected 'k' [2013-01-01T12:02:00Z, 2013-01-01T12:04:00Z) + total=22")
    assert came.startswith("came, with other ")


def test_a_complaint_shows_what_is_missing_and_what_was_not_expected() -> None:
    lines = complaint(PANES[1:], [*EXPECTED[:-1], pane("k", "12:08", "12:10", total=1)])
    told = "ON_TIME 0 first 2013-01-01T12:08:00Z 100.00% 2013-01-01T12:09:30Z"
    assert lines == [
        "the panes are not as expected (4 are)",
        "key window values timing index first/last watermark completeness fired at",
        "missing 'k' [2013-01-01T12:00:00Z, 2013-01-01T12:02:00Z) + total=5",
        f"unexpected 'k' [2013-01-01T12:06:00Z, 2013-01-01T12:08:00Z) + total=12 {told}",
        "missing 'k' [2013-01-01T12:08:00Z, 2013-01-01T12:10:00Z) + total=1",
    ]


def test_a_complaint_is_a_table_whose_columns_are_aligned() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_panes(PANES, [])
    head, *rows = str(caught.value).splitlines()[1:]
    at = head.index("timing")
    assert len(rows) == len(PANES)
    assert {row[at - 1 : at + 7].strip() for row in rows} == {"ON_TIME", "LATE"}


def test_expected_panes_of_a_window_without_an_index_come_in_the_order_in_which_they_are_written() -> None:
    late_first = [EXPECTED[2], EXPECTED[1], EXPECTED[0], *EXPECTED[3:]]
    assert "expected 'k' [2013-01-01T12:00:00Z, 2013-01-01T12:02:00Z) + total=14" in complaint(PANES, late_first)


def test_expected_panes_of_a_window_with_an_index_may_be_written_in_any_order() -> None:
    first, retraction, second = (
        replace(wanted, index=index) for wanted, index in zip(EXPECTED, (0, 0, 1), strict=False)
    )
    assert_panes(PANES, [second, retraction, first, *EXPECTED[3:]])


def test_a_window_without_ends_is_the_global_one() -> None:
    assert pane("k", None, None).window == pane("k", "-inf", "+inf").window == GLOBAL_WINDOW


def test_an_expected_pane_takes_times_of_day_and_complete_ones() -> None:
    assert pane("k", "12:00", "12:02") == pane("k", "2013-01-01T12:00:00Z", "2013-01-01T13:02:00+01:00")


def test_the_canonical_order_is_by_window_key_and_index_with_nulls_first_and_a_pane_before_its_retraction() -> None:
    ordered = [
        pane("z", "12:00", "12:01", pane_index=3),
        pane(None, "12:00", "12:02", pane_index=1),
        pane("a", "12:00", "12:02", pane_index=0),
        pane("a", "12:00", "12:02", pane_index=0, pane_is_retraction=True),
        pane("a", "12:00", "12:02", pane_index=1),
        pane("b", "12:00", "12:02", pane_index=0),
        pane("a", "12:01", "12:02", pane_index=0),
    ]
    backwards = ordered[::-1]
    assert sorted(backwards, key=canonical_order) == ordered


AMOUNTS = [replace(PANES[0], values={"total": 0.1 + 0.2, "parts": [0.1 + 0.2, 1.0], "rows": 2})]


def test_a_complaint_names_the_values_that_differ() -> None:
    [_, _, expected, came] = complaint(AMOUNTS, [pane("k", "12:00", "12:02", total=0.1 + 0.2, parts=[], more=None)])
    assert expected.endswith("+ total=0.30000000000000004, parts=[], more=None")
    assert came.startswith("came, with other parts, more, rows ")


def test_a_value_may_be_expected_to_be_about_right() -> None:
    about = pane("k", "12:00", "12:02", total=pytest.approx(0.3), parts=pytest.approx([0.3, 1]), rows=2)
    assert_panes(AMOUNTS, [about])
    [_, _, expected, came] = complaint(AMOUNTS, [replace(about, values={**about.values, "total": pytest.approx(0.4)})])
    assert "total=0.4 ± 4.0e-07" in expected
    assert came.startswith("came, with other total ")


def test_floats_may_differ_by_a_share_of_their_size_and_nothing_else_may() -> None:
    wanted = pane("k", "12:00", "12:02", total=0.3, parts=[0.3, 1.0], rows=2)
    assert_panes(AMOUNTS, [wanted], relative=1e-15)
    complaint(AMOUNTS, [wanted])
    for other in ({"total": 0.31}, {"parts": [0.3]}, {"parts": [0.3, 1.1]}, {"rows": 3}):
        with pytest.raises(AssertionError):
            assert_panes(AMOUNTS, [replace(wanted, values={**wanted.values, **other})], relative=1e-2)


def test_no_number_is_no_number() -> None:
    nothing = [replace(PANES[0], values={"total": float("nan")})]
    assert_panes(nothing, [pane("k", "12:00", "12:02", total=float("nan"))])
    complaint(nothing, [pane("k", "12:00", "12:02", total=0.0)])
    complaint(nothing, [pane("k", "12:00", "12:02", total=None)])


def test_a_null_is_not_a_value_that_is_missing() -> None:
    complaint([replace(PANES[0], values={"total": None})], [pane("k", "12:00", "12:02")])


def test_a_column_in_which_nothing_is_said_is_left_out() -> None:
    assert complaint([], [pane("k", "12:00", "12:02", total=1)])[1] == "key window values"


def test_the_order_across_windows_is_checked_where_it_is_asked_for() -> None:
    merged = FIGURES[14].stream.run()
    assert_panes(merged, FIGURES[14].panes, in_order=True)
    taken_back_too_late = sorted(merged, key=lambda came: came.is_retraction)
    assert_panes(taken_back_too_late, FIGURES[14].panes)
    with pytest.raises(AssertionError, match="the panes of \\('k',\\) came in another order"):
        assert_panes(taken_back_too_late, FIGURES[14].panes, in_order=True)


def test_the_order_among_keys_is_nobodys() -> None:
    one_after_the_other = [replace(got, key=(key,)) for key in "ab" for got in PANES]
    in_turns = [replace(got, key=(key,)) for got in PANES for key in "ba"]
    assert_panes(in_turns, one_after_the_other, in_order=True)


def test_a_retraction_that_is_missing_after_a_merge_stands_out() -> None:
    merged = FIGURES[14].stream.run()
    gone = next(number for number, came in enumerate(merged) if came.is_retraction)
    [summary, _, missing] = complaint(merged[:gone] + merged[gone + 1 :], FIGURES[14].panes)
    assert summary == f"the panes are not as expected ({len(merged) - 1} are)"
    assert missing.startswith("missing 'k' [2013-01-01T12:02:24Z, 2013-01-01T12:03:24Z) - total=7")
