from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, to_micros
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES, WatermarkCurve
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord, Prepared
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from tests.progress.samples import NOON, interval_record, plan, record

_moments = st.integers(to_micros("0001-01-01T00:00:00Z"), to_micros("9999-12-31T23:59:59Z"))
_times = _moments | st.just(MIN_TIME) | st.just(MAX_TIME)
_curves = st.lists(_times, min_size=len(DEFAULT_PERCENTILES), max_size=len(DEFAULT_PERCENTILES)).map(
    lambda times: WatermarkCurve(tuple(zip(DEFAULT_PERCENTILES, sorted(times, reverse=True), strict=True)))
)
_counts = st.integers(0, 2**40)
_splits = st.builds(Split, st.text(), st.integers(0, 2**40), st.integers(0, 2**60))
_left_out = st.builds(lambda files: LeftOut(tuple(files), of=2**60), st.lists(_splits, min_size=1))
_rows = st.builds(RowCounts, _counts, _counts, _counts, _counts)
_json = st.none() | st.integers() | st.text() | st.lists(st.booleans())
_checkpoints = st.dictionaries(st.text(), _json).filter(lambda keys: not keys.keys() & EpochResult().to_json().keys())
_written = st.lists(st.builds(WrittenFile, st.text(), _counts, st.text())).map(tuple)
_results = st.builds(
    EpochResult,
    rows=_rows,
    files=st.lists(st.text()).map(tuple),
    expired_files=_written,
    rejected_files=_written,
    panes=_counts,
    pane_files=_written,
    workers=st.dictionaries(st.integers(0, 9), st.text()),
    frontier=_moments,
    left_out=st.none() | _left_out,
    checkpoint=_checkpoints,
)


def _through_text(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@given(_moments, _curves, st.none() | _curves, st.none() | st.lists(_splits).map(tuple), st.lists(st.text()))
def test_a_plan_is_read_back_exactly(
    now: int,
    curve: WatermarkCurve,
    estimate: WatermarkCurve | None,
    splits: tuple[Split, ...] | None,
    forgotten: list[str],
) -> None:
    written = plan(
        3, clock=Clock(now, curve), planned_at=now, splits=splits, estimate=estimate, forgotten=tuple(forgotten)
    )
    assert EpochPlan.from_json(_through_text(written.to_json())) == written


@given(st.none() | _results)
def test_a_prepared_result_is_read_back_exactly(result: EpochResult | None) -> None:
    written = Prepared(3, 1, result)
    assert Prepared.from_json(_through_text(written.to_json())) == written


@given(
    st.fixed_dictionaries(
        {
            "clock": st.builds(Clock, _moments, _curves, timers_until=st.none() | _moments),
            "published": _curves,
            "rows": _rows,
            "frontier": st.none() | _moments,
            "backlog": st.none() | _counts,
            "left_out": st.none() | _left_out,
            "claimable": st.floats(0, 100),
        }
    )
)
def test_a_commit_is_read_back_exactly(facts: dict[str, Any]) -> None:
    written = record(7, **facts).following(interval_record(6, NOON, NOON + 1).following(None))
    assert EpochRecord.from_json(_through_text(written.to_json())) == written


@given(st.lists(_rows, min_size=1, max_size=5))
def test_totals_are_the_sums_from_the_first_epoch_on(rows: list[RowCounts]) -> None:
    last = None
    for epoch, counts in enumerate(rows):
        last = record(epoch, rows=counts, panes=epoch).following(last)
    assert last is not None
    assert last.totals == sum(rows, start=RowCounts())
    assert last.panes_total == sum(range(len(rows)))


@given(st.lists(_curves, min_size=2, max_size=5))
def test_published_watermarks_never_go_back(curves: list[WatermarkCurve]) -> None:
    last = record(0, published=curves[0]).following(None)
    for epoch, curve in enumerate(curves[1:], start=1):
        following = record(epoch, published=curve).following(last)
        for share in DEFAULT_PERCENTILES:
            assert following.published.at(share) == max(last.published.at(share), curve.at(share))
        assert following.published_watermark == following.published
        last = following


def test_an_interval_moves_no_published_watermark() -> None:
    stream = record(0, published=WatermarkCurve.flat(NOON)).following(None)
    batch = interval_record(1, NOON, NOON + 60, published=WatermarkCurve.flat(MAX_TIME)).following(stream)
    assert batch.published_watermark == stream.published
    assert record(2, published=WatermarkCurve.flat(NOON + 1)).following(batch).published.at(100) == NOON + 1


def test_intervals_cover_what_they_computed_and_nothing_between_them() -> None:
    late = interval_record(0, NOON, NOON + 60).following(None)
    early = interval_record(1, NOON - 120, NOON - 60).following(late)
    assert early.covered.intervals == (Interval(NOON - 120, NOON - 60), Interval(NOON, NOON + 60))
    assert record(2).following(early).covered == early.covered
    between = interval_record(3, NOON - 60, NOON).following(early)
    assert between.covered.intervals == (Interval(NOON - 120, NOON + 60),)


def test_a_batch_over_everything_covers_what_is_older_than_its_run() -> None:
    whole = record(0, kind="end_of_input", mode="batch", end_of_input=True)
    assert whole.following(None).covered.intervals == (Interval(MIN_TIME, NOON),)
    left_out = dataclasses.replace(whole, left_out=LeftOut((Split("a.parquet", 1),), 10))
    drained = dataclasses.replace(whole, mode="streaming")
    for no_batch_over_everything in (left_out, drained):
        assert not no_batch_over_everything.following(None).covered.intervals


def test_a_record_from_before_coverage_was_kept_covers_nothing() -> None:
    document = interval_record(0, NOON, NOON + 60).following(None).to_json()
    del document["running"]["covered"]
    assert not EpochRecord.from_json(document).covered.intervals


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "other"},
        {"mode": "STREAMING"},
        {"kind": "interval"},
        {"interval": Interval(NOON, NOON + 1)},
        {"panes": -1},
        {"backlog": -1},
        {"claimable": 101},
        {"epoch": -1},
    ],
)
def test_a_record_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StateError) as error:
        record(**{"epoch": 1, **wrong})
    assert error.value.code == "STATE_BAD_RECORD"


def test_a_negative_count_of_rows_is_refused() -> None:
    with pytest.raises(StateError):
        RowCounts(late=-1)
