"""Signals reach exactly one epoch's clock, wherever the driver dies. What an epoch computes plays no part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_dataflow_provider import (
    AtSignal,
    AtWatermark,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    RuntimeMode,
    SequenceOf,
    SubmissionError,
    Sum,
)
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochPlan
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.owner import Ownership
from airflow_dataflow_provider.progress.requests import signals
from airflow_dataflow_provider.progress.requests.requests import pending, request_signal
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.run import Run
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.sources.read_splits import ReadChain
from airflow_dataflow_provider.spark.watermark.delays import Observation
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import events, write_files

PIPELINE = (
    Pipeline("p", Files("events/*.parquet", event_time="happened"))
    .group_by_key_and_window(
        key="key", window=FixedWindows("1h"), trigger=SequenceOf(AtSignal("publish"), Repeat(AtWatermark()))
    )
    .combine(total=Sum("value"))
)
SPLITS = [Split("a.parquet", 1)]


class CrashError(Exception):
    """Where a driver died."""


class Driver(Epochs):
    """A driver whose epochs compute nothing, and which dies where a test says.

    Args:
        state: the folder.
        dies: ``planned`` (before the epoch runs), ``prepared`` or ``committed``.
    """

    def __init__(self, state: Path, dies: str = "") -> None:
        store = Store.open(str(state))
        standing = identity.ensure(
            store, name="p", fingerprint="", definition="", shape={}, partitions=1, now=0,
            signals=signals.listened_to(PIPELINE),
        )  # fmt: skip
        self._dies = dies
        owner = Ownership.claim(store, mode="streaming", run_id="run", now=0, take_over=True)
        panes: Any = SimpleNamespace(
            sync=lambda: None, commit=lambda *_: self._die("prepared"), compact=lambda **_: None
        )
        what = Run(
            workers=None, pipeline=PIPELINE, store=store, identity=standing, ownership=owner, log=EpochLog(store),
            panes=panes, stages=None, mode="streaming", run_id="run", now=lambda: 0, on_commit=lambda _: None,
            script=lambda: NOTHING_KNOWN,
        )  # type: ignore[arg-type]  # fmt: skip
        super().__init__(what)

    def _execute(self, plan: EpochPlan, files: object) -> EpochResult:
        self._die("planned")
        assert (files is not None) == (plan.kind in ("data", "interval"))
        checkpoint = Checkpoint(
            (StageState({}),), 0, distinct=0.0, sent=None, observed=None, delays=Observation(), state_bytes=0,
            read_splits=ReadChain(),
        )  # fmt: skip
        return EpochResult(checkpoint=checkpoint.to_json())

    def _forget_signals(self, committed: EpochPlan | None) -> None:
        self._die("committed")
        super()._forget_signals(committed)

    def _die(self, where: str) -> None:
        if where == self._dies:
            raise CrashError


def raise_signal(state: Path, by: str) -> None:
    if by == "file":
        Store.open(str(state)).write("signals/publish", b"")
    else:
        request_signal(Store.open(str(state)), "publish", 0)


def heard(state: Path) -> list[list[str]]:
    """The signals of each committed epoch."""
    return [sorted(record.clock.signals) for record in EpochLog(Store.open(str(state))).records()]


@pytest.mark.parametrize("by", ["request", "file"])
def test_a_signal_moves_the_clock_of_one_epoch(by: str, tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    assert not driver.clock(idle=True)
    raise_signal(tmp_path, by)
    assert driver.clock(idle=True)
    assert not driver.clock(idle=True)
    driver.data(SPLITS)
    assert heard(tmp_path) == [["publish"], []]
    assert pending(Store.open(str(tmp_path))) == []


def test_an_epoch_with_elements_and_the_end_of_input_take_signals_too(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    raise_signal(tmp_path, "request")
    driver.data(SPLITS)
    raise_signal(tmp_path, "request")
    driver.end_of_input()
    assert heard(tmp_path) == [["publish"], ["publish"]]


def test_the_recomputing_of_an_interval_leaves_signals_to_the_stream(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    raise_signal(tmp_path, "request")
    driver.interval(SPLITS, Interval(0, 1))
    assert heard(tmp_path) == [[]]
    assert len(pending(Store.open(str(tmp_path)))) == 1


@pytest.mark.parametrize("by", ["request", "file"])
@pytest.mark.parametrize("dies", ["planned", "prepared", "committed"])
@pytest.mark.parametrize("kind", ["clock", "data"])
@pytest.mark.parametrize("again", [False, True])
def test_a_crash_neither_loses_a_signal_nor_doubles_it(
    again: bool, kind: str, dies: str, by: str, tmp_path: Path
) -> None:
    Driver(tmp_path)
    raise_signal(tmp_path, by)
    with pytest.raises(CrashError):
        act(Driver(tmp_path, dies), kind)
    if again:
        raise_signal(tmp_path, by)  # while nobody drives: the next epoch's, not the one that was planned
    driver = Driver(tmp_path)
    driver.resume(lambda: SPLITS)
    assert driver.clock(idle=True) is again
    act(driver, kind)
    driver.clock(idle=True)
    assert [names for names in heard(tmp_path) if names] == [["publish"]] * (1 + again)
    assert not driver.clock(idle=True)
    assert pending(Store.open(str(tmp_path))) == []


def act(driver: Driver, kind: str) -> None:
    if kind == "data":
        driver.data(SPLITS)
    else:
        driver.clock(idle=True)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_runs_hear_what_was_raised_before_them_by_file_and_by_request(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    write_files(source, events(100), files=1)
    pipeline = replace(PIPELINE, source=Files(f"{source}/*.parquet", event_time="happened", arrival_time="arrived"))
    submission = Submission(pipeline, RuntimeMode.MICRO_BATCH, str(state), conf={"dataflow.state.partitions": "2"})

    raise_signal(state, "file")
    run(submission)
    first = panes_of_reference(str(state), pipeline)
    assert "EARLY" in {found.timing for found in first}

    raise_signal(state, "request")
    write_files(source, events(100, seed=1), files=1, first=1)
    run(replace(submission, mode=RuntimeMode.BATCH))
    wanted = panes_of_reference(str(state), pipeline)
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), pipeline.grouping), wanted)
    assert [names for names in heard(state) if names] == [["publish"], ["publish"]]
    with pytest.raises(SubmissionError, match="raise one of publish"):
        request_signal(Store.open(str(state)), "pubish", 0)
