"""What a batch does with triggers that wait for a processing time, when its input ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_dataflow_provider import (
    AfterDelay,
    AnyOf,
    AtPeriod,
    AtWatermark,
    BatchPolicies,
    Count,
    Files,
    FixedWindows,
    Mean,
    Pipeline,
    ProcessingTimeAtEndOfInput,
    Repeat,
    RuntimeMode,
    SubmissionError,
    Sum,
    Trigger,
)
from airflow_dataflow_provider.model.batch import FAIL, FIRE, IGNORE
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import ARRIVALS_BEGIN, as_truth, events, truth, write_files

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

BY_CLOCK = Repeat(AnyOf(AtPeriod("10m"), AfterDelay("1h")))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_files(tmp_path / "source", events(1_000), files=2)
    return tmp_path / "source"


def plan(source: Path, trigger: Trigger = BY_CLOCK) -> Pipeline:
    files = Files(f"{source}/*.parquet", event_time="happened", arrival_time="arrived")
    return (
        Pipeline("minutes", files)
        .group_by_key_and_window(key="key", window=FixedWindows("1m"), trigger=trigger, allowed_lateness="1h")
        .combine(count=Count(), total=Sum("value"), mean=Mean("value"))
    )


def go(
    what: Pipeline,
    state: Path,
    policy: ProcessingTimeAtEndOfInput | None,
    *,
    interval: Interval | None = None,
    hours_later: int = 1,
) -> list[int]:
    """A batch that runs so long after the first arrival; how many panes each epoch of the state has published."""
    policies = BatchPolicies(processing_time_at_end_of_input=policy)
    now = ARRIVALS_BEGIN + hours_later * 3_600_000_000
    run(Submission(what, RuntimeMode.BATCH, str(state), interval, policies=policies, now=lambda: now))
    return [record.panes for record in EpochLog(Store.open(str(state))).records()]


def is_whole(state: Path) -> bool:
    return as_truth(PaneLogReader(str(state)).current()).equals(truth(events(1_000)))


@pytest.mark.parametrize("hours_later", [1, 1_000])
def test_all_that_is_pending_fires_at_the_end_of_the_input_and_nothing_before_whenever_the_run_runs(
    source: Path, tmp_path: Path, hours_later: int
) -> None:
    state = tmp_path / "state"
    before, at_the_end = go(plan(source), state, None, hours_later=hours_later)
    assert (before, at_the_end) == (0, len(truth(events(1_000))))
    assert is_whole(state)
    what = plan(source)
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), what.grouping), panes_of_reference(str(state), what))


def test_what_is_ignored_stays_in_the_state_for_a_later_run(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert go(plan(source), state, IGNORE, hours_later=1_000) == [0, 0]
    assert go(plan(source), state, FIRE)[-1] == len(truth(events(1_000)))
    assert is_whole(state)


def test_a_run_that_fails_for_what_is_pending_publishes_nothing_of_the_end_and_can_be_repeated(
    source: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with pytest.raises(SubmissionError) as refusal:
        go(plan(source), state, FAIL)
    assert refusal.value.code == "SUBMIT_TIMERS_PENDING"
    assert go(plan(source), state, FIRE) == [0, len(truth(events(1_000)))]
    assert is_whole(state)


def test_nothing_is_pending_where_the_watermark_has_published_it(source: Path, tmp_path: Path) -> None:
    either = plan(source, Repeat(AnyOf(AtWatermark(), AtPeriod("10m"))))
    for policy in (IGNORE, FAIL):
        state = tmp_path / policy
        assert go(either, state, policy) == [0, len(truth(events(1_000)))]
        assert is_whole(state)


def test_an_interval_fires_what_is_pending(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    go(plan(source), state, None, interval=Interval(0, 2**52))
    assert is_whole(state)
