from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.progress.answer import NEVER, NOT_YET, REACHED, Answer, Verdict, ask_watermark
from airflow_dataflow_provider.progress.left_out import LeftOut
from airflow_dataflow_provider.progress.records import RowCounts
from airflow_dataflow_provider.progress.status import Status
from tests.progress.samples import NOON, SECOND

CURVE = WatermarkCurve(((97.0, NOON), (100.0, NOON - SECOND)))


def _status(**changes: Any) -> Status:
    running = Status(
        state_url="memory://state",
        pipeline="departures",
        fingerprint="f1",
        mode="streaming",
        state="running",
        epoch=3,
        watermarks=CURVE,
        claimable=100.0,
        end_of_input=False,
        interval=None,
        rows=RowCounts(),
        panes=0,
        owner=None,
        frontier=None,
        backlog=None,
        left_out=None,
        lag=None,
        updated_at=NOON,
        detail="",
    )
    return dataclasses.replace(running, **changes)


def _ask(percentile: float = 97, target: int = NOON + 1, **changes: Any) -> Answer:
    return ask_watermark(_status(**changes), percentile=percentile, target=target)


def test_a_watermark_is_reached_at_its_time_and_not_a_microsecond_before() -> None:
    assert _ask(target=NOON).reached
    assert _ask(target=NOON + 1).verdict is NOT_YET


def test_each_percentile_has_a_watermark_of_its_own() -> None:
    assert _ask(percentile=97, target=NOON).reached
    assert not _ask(percentile=100, target=NOON).reached


def test_what_is_reached_stays_reached_whatever_became_of_the_pipeline() -> None:
    for state in ("stopped", "failed", "lost"):
        assert _ask(target=NOON, state=state).reached
    assert _ask(target=NOON, claimable=50).reached


@pytest.mark.parametrize(("state", "said"), [("stopped", "was stopped"), ("failed", "failed"), ("lost", "silent")])
def test_a_stream_that_has_ended_will_never_reach_it_and_the_answer_says_how_it_stands(state: str, said: str) -> None:
    answer = _ask(state=state, detail="out of memory")
    assert answer.never
    for fact in (said, "'departures'", "out of memory", "W_97 is 2013-01-01T12:00:00Z", "Start the stream again"):
        assert fact in answer.because


@pytest.mark.parametrize("state", ["starting", "running", "never_ran"])
def test_a_stream_that_may_still_move_has_not_reached_it_yet(state: str) -> None:
    assert _ask(state=state).verdict is NOT_YET


@pytest.mark.parametrize("mode", ["micro-batch", "batch"])
@pytest.mark.parametrize("state", ["stopped", "failed", "lost", "running"])
def test_scheduled_runs_have_not_reached_it_yet_whatever_became_of_the_last(mode: str, state: str) -> None:
    assert _ask(mode=mode, state=state).verdict is NOT_YET


def test_a_percentile_above_what_can_be_claimed_will_never_be_reached() -> None:
    answer = _ask(percentile=99.9, claimable=99)
    assert answer.never
    assert "up to percentile 99, not 99.9" in answer.because
    assert _ask(percentile=99, claimable=99).verdict is NOT_YET


def test_a_completed_batch_over_everything_has_reached_every_time() -> None:
    assert _ask(mode="batch", state="completed", watermarks=NOTHING_KNOWN).reached


def test_a_completed_batch_that_left_something_out_has_reached_the_share_that_it_read_and_no_more() -> None:
    done = {
        "mode": "batch",
        "state": "completed",
        "watermarks": NOTHING_KNOWN,
        "left_out": LeftOut((("a.parquet", 4),), of=100),
    }
    assert _ask(percentile=96, **done).reached
    more = _ask(percentile=97, **done)
    assert more.verdict is NOT_YET
    assert "left out 1 file, 4 bytes, 4 % of the input" in more.because


def test_a_completed_batch_over_an_interval_has_reached_its_end_and_no_more() -> None:
    done = {"mode": "batch", "state": "completed", "watermarks": NOTHING_KNOWN, "interval": (NOON, NOON + SECOND)}
    assert _ask(target=NOON + SECOND, **done).reached
    assert _ask(target=NOON + SECOND + 1, **done).verdict is NOT_YET


def test_a_pipeline_without_a_state_has_not_reached_it_yet() -> None:
    answer = ask_watermark(None, percentile=97, target=NOON)
    assert answer.verdict is NOT_YET
    assert "no state yet" in answer.because


def test_a_watermark_that_is_not_known_is_said_to_be_so() -> None:
    assert "not known yet" in _ask(watermarks=NOTHING_KNOWN).because


@pytest.mark.parametrize("percentile", [0, -1, 101, float("nan")])
def test_what_is_no_percentile_is_refused(percentile: float) -> None:
    for status in (None, _status()):
        with pytest.raises(DefinitionError) as error:
            ask_watermark(status, percentile=percentile, target=NOON)
        assert error.value.code == "DEFINITION_PERCENTILE"


@pytest.mark.parametrize("verdict", Verdict)
def test_every_answer_has_a_reason(verdict: Verdict) -> None:
    with pytest.raises(DefinitionError):
        Answer(verdict, " ")
    answer = Answer(verdict, "so")
    assert (answer.reached, answer.never) == (verdict is REACHED, verdict is NEVER)
