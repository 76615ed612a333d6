from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.progress.log.coverage import Coverage
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.ownership.owner import OwnerInfo
from airflow_dataflow_provider.progress.status.answer import NEVER, NOT_YET, REACHED, Answer, Verdict, ask_watermark
from airflow_dataflow_provider.progress.status.status import Status
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


def _ask(percentile: float = 97, target: int = NOON + 1, start: int | None = None, **changes: Any) -> Answer:
    return ask_watermark(_status(**changes), percentile=percentile, target=target, start=start)


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
        assert fact in answer.reason


@pytest.mark.parametrize(("state", "lasting"), [("stopped", True), ("failed", False), ("lost", False)])
def test_a_stream_that_has_ended_may_be_started_again_for_a_while(state: str, lasting: bool) -> None:
    owner = OwnerInfo(1, "c", "h", 1, None, None, "streaming", "run", NOON, SECOND, heartbeat_at=NOON)
    status = _status(state=state, owner=owner)

    def ask(now: int | None) -> Answer:
        return ask_watermark(status, percentile=97, target=NOON + 1, now=now, grace=60 * SECOND)

    patient = ask(NOON + 60 * SECOND - 1)
    assert patient.verdict is NOT_YET
    assert "may be started again" in patient.reason
    for never in (ask(NOON + 60 * SECOND), ask(None)):
        assert never.never
        assert never.lasting is lasting


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
    assert "up to percentile 99, not 99.9" in answer.reason
    assert _ask(percentile=99, claimable=99).verdict is NOT_YET


def _batch(*intervals: tuple[int, int], **changes: Any) -> dict[str, Any]:
    covered = Coverage(tuple(Interval(*each) for each in intervals))
    return {"mode": "batch", "state": "completed", "watermarks": NOTHING_KNOWN, "covered": covered, **changes}


def test_a_completed_batch_over_everything_has_reached_every_time_before_it_ran_and_none_after() -> None:
    done = _batch((MIN_TIME, NOON))
    assert _ask(target=NOON - 10**15, **done).reached
    assert _ask(target=NOON, **done).reached
    assert _ask(target=NOON + 1, **done).verdict is NOT_YET


def test_a_completed_batch_that_left_something_out_has_reached_the_share_that_it_read_and_no_more() -> None:
    done = {
        "mode": "batch",
        "state": "completed",
        "watermarks": NOTHING_KNOWN,
        "left_out": LeftOut((Split("a.parquet", 4),), of=100),
        "processing_time": NOON + 1,
    }
    assert _ask(percentile=96, **done).reached
    assert _ask(percentile=96, target=NOON + 2, **done).verdict is NOT_YET
    more = _ask(percentile=97, **done)
    assert more.verdict is NOT_YET
    assert "left out 1 file, 4 bytes, 4 % of the input" in more.reason


def test_an_interval_has_reached_the_ends_of_its_windows_and_nothing_before_or_after_it() -> None:
    for state in ("completed", "starting", "running", "failed", "stopped", "lost"):
        done = _batch((NOON, NOON + SECOND), state=state)
        assert _ask(target=NOON + 1, **done).reached
        assert _ask(target=NOON + SECOND, **done).reached
        for target in (NOON - SECOND, NOON, NOON + SECOND + 1):
            answer = _ask(target=target, **done)
            assert answer.verdict is NOT_YET
            assert "computed: 2013-01-01T12:00:00Z to 2013-01-01T12:00:01Z" in answer.reason


def test_the_gate_of_a_day_that_failed_stays_closed_when_a_later_day_succeeds() -> None:
    days = [NOON + 86_400 * SECOND * day for day in range(6)]
    done = _batch((days[0], days[2]), (days[3], days[4]))  # day 2 failed
    for day, is_open in enumerate((True, True, False, True, False)):
        assert _ask(target=days[day + 1], **done).reached is is_open
        assert _ask(target=days[day + 1], start=days[day], **done).reached is is_open
    assert not _ask(target=days[4], start=days[0], **done).reached


def test_half_a_day_is_not_the_day() -> None:
    done = _batch((NOON + SECOND, NOON + 2 * SECOND))
    assert _ask(target=NOON + 2 * SECOND, **done).reached
    assert _ask(target=NOON + 2 * SECOND, start=NOON + SECOND, **done).reached
    assert not _ask(target=NOON + 2 * SECOND, start=NOON, **done).reached


def test_a_published_watermark_claims_everything_older_wherever_the_question_starts() -> None:
    assert _ask(target=NOON, start=NOON - SECOND).reached


def test_a_question_about_no_time_at_all_is_refused() -> None:
    with pytest.raises(DefinitionError) as error:
        _ask(target=NOON, start=NOON)
    assert error.value.code == "SUBMIT_INTERVAL"


def test_a_pipeline_without_a_state_has_not_reached_it_yet() -> None:
    answer = ask_watermark(None, percentile=97, target=NOON)
    assert answer.verdict is NOT_YET
    assert "no state yet" in answer.reason


def test_a_watermark_that_is_not_known_is_said_to_be_so() -> None:
    assert "not known yet" in _ask(watermarks=NOTHING_KNOWN).reason


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
