"""Watermark curves: one time per percentile, never rising with the percentile, never going back."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, from_iso
from airflow_dataflow_provider.model.watermarks import (
    END_OF_INPUT,
    NOTHING_KNOWN,
    WatermarkCurve,
    percentile,
    percentile_text,
)

SHARES = st.floats(1, 100)
TIMES = st.integers(from_iso("1900-01-01T00:00:00Z"), from_iso("2100-01-01T00:00:00Z"))


@st.composite
def curves(draw: st.DrawFn) -> WatermarkCurve:
    shares = sorted({*draw(st.lists(SHARES, max_size=6)), 100.0})
    times = sorted(draw(st.lists(TIMES, min_size=len(shares), max_size=len(shares))), reverse=True)
    return WatermarkCurve(tuple(zip(shares, times, strict=True)))


@given(curves(), SHARES, SHARES)
def test_who_asks_for_more_completeness_waits_longer(curve: WatermarkCurve, one: float, other: float) -> None:
    assert curve.at(min(one, other)) >= curve.at(max(one, other))


@given(curves())
def test_a_known_percentile_is_answered_exactly(curve: WatermarkCurve) -> None:
    assert [curve.at(share) for share in curve.percentiles] == [time for _, time in curve]


@given(curves(), SHARES)
def test_between_two_known_percentiles_the_higher_one_answers(curve: WatermarkCurve, share: float) -> None:
    assert curve.at(share) == max(time for known, time in curve if known >= share)


@given(curves(), TIMES)
def test_completeness_is_the_greatest_share_whose_watermark_has_come(curve: WatermarkCurve, time: int) -> None:
    share = 100 * curve.completeness(time)
    reached = [known for known in curve.percentiles if curve.at(known) >= time]
    assert share == 0 if not reached else abs(share - reached[-1]) < 1e-9


@given(curves(), TIMES, TIMES)
def test_completeness_never_rises_with_time(curve: WatermarkCurve, one: int, other: int) -> None:
    assert curve.completeness(min(one, other)) >= curve.completeness(max(one, other))


@given(curves(), curves(), SHARES)
def test_raising_a_curve_goes_back_at_no_percentile(old: WatermarkCurve, new: WatermarkCurve, share: float) -> None:
    raised = old.raised_to(new)
    assert raised.at(share) >= old.at(share)
    assert raised.at(share) >= new.at(share)


@given(curves(), curves())
def test_raising_gives_the_later_of_the_two_at_each_known_percentile(
    one: WatermarkCurve, other: WatermarkCurve
) -> None:
    raised = one.raised_to(other)
    assert {*raised.percentiles} == {*one.percentiles, *other.percentiles}
    assert all(time == max(one.at(share), other.at(share)) for share, time in raised)


@given(curves(), curves(), curves())
def test_the_order_of_raising_does_not_matter(one: WatermarkCurve, two: WatermarkCurve, three: WatermarkCurve) -> None:
    assert one.raised_to(two) == two.raised_to(one)
    assert one.raised_to(two).raised_to(three) == one.raised_to(two.raised_to(three))
    assert one.raised_to(one) == one


@given(curves())
def test_a_curve_reads_back_from_its_json(curve: WatermarkCurve) -> None:
    assert WatermarkCurve.from_json(curve.to_json()) == curve


def test_the_two_ends_of_time_read_back_from_json() -> None:
    assert WatermarkCurve.from_json(NOTHING_KNOWN.to_json()) == NOTHING_KNOWN
    assert WatermarkCurve.from_json(END_OF_INPUT.to_json()) == END_OF_INPUT
    assert (NOTHING_KNOWN.at(100), END_OF_INPUT.at(100)) == (MIN_TIME, MAX_TIME)


@given(SHARES, SHARES)
def test_two_percentiles_never_have_one_name(one: float, other: float) -> None:
    assume(one != other)
    assert percentile_text(one) != percentile_text(other)


def test_whole_percentiles_are_named_without_a_point() -> None:
    assert [percentile_text(share) for share in (97, 97.0, 99.5, 100.0)] == ["97", "97", "99.5", "100"]


@pytest.mark.parametrize(("share", "meant"), [(0.97, "97"), (0.995, "99.5"), ("0.07", "7"), (0.29, "29")])
def test_a_share_is_not_taken_for_a_percentile(share: float | str, meant: str) -> None:
    with pytest.raises(DefinitionError, match="not shares from 0 to 1") as refusal:
        percentile(share)
    assert refusal.value.hint.startswith(f"say {meant} for {meant} % of the events")
