"""Pane assertions: they pass on what was expected, and say what came otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_dataflow_provider import ACCUMULATING_AND_RETRACTING, FixedWindows, Pipeline
from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.model.windows import GLOBAL_WINDOW, Window
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret
from airflow_dataflow_provider.testing.panes import ExpectedPane, assert_panes, canonical_order, pane
from airflow_dataflow_provider.testing.strategies import cases
from airflow_dataflow_provider.testing.times import moment
from tests.reference.ten_points import as_a_stream, summing

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
