"""Errors of tasks reach the driver as data: with their class and their code, and without Spark running a task again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from pyspark import TaskContext

from airflow_dataflow_provider import (
    DataError,
    DataflowError,
    Files,
    FixedWindows,
    PerElement,
    Pipeline,
    RuntimeMode,
    SparkColumns,
    StateError,
    Sum,
)
from airflow_dataflow_provider.model import errors
from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.par_do import ParDo
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.spark.map_side import map_task
from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS_CONF, DriverSide
from airflow_dataflow_provider.spark.reduce_side.reduce_task import ANSWER, ReduceSide
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.reduce_side.state import Chain
from airflow_dataflow_provider.spark.running.job import EpochJob
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.tasks.shuffled import MESSAGE
from airflow_dataflow_provider.spark.tasks.task_errors import (
    ATTEMPTS,
    succeeded,
    with_error,
    with_error_to_all,
)
from tests.spark.events import events, pipeline, write_files

PARTITIONS = 3
MOMENT = pl.Datetime("us", "UTC")
SCHEMA = {"key": pl.String(), "value": pl.Int64(), "happened": MOMENT, "arrived": MOMENT}
REFUSAL = StateError("the file is damaged", reason="it is short", hint="restore it", code="STATE_UNREADABLE")


def fails(row: dict[str, Any]) -> dict[str, Any]:
    raise ValueError(row["value"])


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DataflowError)]
)
def test_an_error_as_data_has_its_class_its_code_and_its_text(kind: type[DataflowError]) -> None:
    error = kind("what", reason="reason", hint="hint", code="CODE")
    again = DataflowError.from_json(error.to_json())
    assert (type(again), again.code, str(again)) == (kind, "CODE", str(error))


def test_an_error_is_the_last_thing_that_a_task_answers_and_ends_the_epoch() -> None:
    def answers() -> Iterator[int]:
        yield 1
        raise REFUSAL

    answered = [*with_error(answers())]
    assert answered == [1, REFUSAL]
    with pytest.raises(StateError, match="damaged"):
        succeeded(answered)


def test_what_may_pass_stays_an_exception_that_spark_tries_again() -> None:
    def answers() -> Iterator[int]:
        yield 1
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        [*with_error(answers())]
    with pytest.raises(OSError, match="Input/output"):
        [*with_error_to_all(((each, ("", b"")) for each in answers()), PARTITIONS)]


@pytest.mark.parametrize(
    ("attempt", "cause", "told"),
    [
        (0, OSError(5, "Input/output error"), False),
        (2, OSError(5, "Input/output error"), False),
        (3, OSError(5, "Input/output error"), True),
        (0, FileNotFoundError(2, "No such file"), True),
        (0, OSError("not decodable"), True),
        (0, None, True),
    ],
)
def test_of_a_storage_that_may_be_back_soon_only_the_last_attempt_tells(
    attempt: int, cause: OSError | None, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ATTEMPTS, "4")
    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(attemptNumber=lambda: attempt))

    def answers() -> Iterator[int]:
        yield 1
        raise REFUSAL from cause

    if told:
        assert [*with_error(answers())] == [1, REFUSAL]
        return
    with pytest.raises(StateError):
        [*with_error(answers())]


@pytest.fixture
def job(tmp_path: Path) -> EpochJob:
    clock = Clock(0, WatermarkCurve.flat(0, (90.0, 100.0)))
    stages = Stages.of(pipeline(tmp_path / "source"), SCHEMA)
    state = str(tmp_path / "state")
    return EpochJob(EpochContext(stages, PARTITIONS, state, f"{state}/panes", 0, EpochTime(clock, 0)))


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Split, ...]]:
    """A task with a good file and one that is no Parquet, which are sent off one after the other."""
    monkeypatch.setattr(map_task, "_CHUNK_BYTES", 1)
    write_files(tmp_path / "source", events(100), files=2)
    bad = tmp_path / "source" / "part-0001.parquet"
    bad.write_bytes(b"not Parquet")
    return [tuple(SourceListing(Files(str(tmp_path / "source"), event_time="happened")).everything())]


def test_a_map_tasks_error_goes_with_error_to_all_and_none_of_them_reduces(
    job: EpochJob, damaged: list[tuple[Split, ...]], tmp_path: Path
) -> None:
    sent = [*job.map_side.run_task(damaged)]
    assert {to for to, (origin, _) in sent if origin == MESSAGE} == {*range(PARTITIONS)}
    with pytest.raises(DataError) as failure:
        job.advance([StageState.empty(PARTITIONS)], DriverSide(PARTITIONS, sent).run_stage)
    assert failure.value.code == "DATA_UNREADABLE"
    assert "part-0001.parquet" in failure.value.what
    for partition in range(PARTITIONS):
        (answer,) = reduce_side(job).run_task(partition, [each for each in sent if each[0] == partition])
        assert isinstance(answer, DataError)
    assert not (tmp_path / "state").exists(), "nothing was written"


def reduce_side(job: EpochJob, chains: dict[int, Chain] | None = None) -> ReduceSide:
    """The reduce side of the only grouping."""
    return ReduceSide(job.context, 0, None if chains is None else StageState(chains), job.context.time)


@pytest.mark.parametrize("content", [None, b"", b"not Arrow"], ids=["gone", "empty", "something else"])
def test_a_damaged_file_of_open_windows_is_an_error_with_a_code_and_the_files_name(
    job: EpochJob, content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "keyed" / "000000000000" / "0-0001-aa.arrow"
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    chain = Chain((WrittenFile("000000000000/0-0001-aa.arrow", 9, "00"),), (1,), 1)
    side = reduce_side(job, {1: chain})
    (answer,) = side.run_task(1, ())
    assert isinstance(answer, StateError)
    assert answer.code == "STATE_DAMAGED"
    assert str(path) in answer.what
    ((to, passed),) = side.run_task_and_pass_on(1, ())
    assert to == ANSWER
    assert isinstance(passed, StateError)


FAILING = PerElement(fails, reads=("key", "value"), makes={"key": str, "value": int})


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ("0", [FAILING]),
        ("20000", [FAILING]),
        ("0", [SparkColumns(value="value + 1"), FAILING]),
        ("0", [FAILING, SparkColumns(value="value + 1")]),
    ],
    ids=["to workers", "to the driver", "behind Spark's expressions", "before Spark's expressions"],
)
def test_an_error_of_a_map_task_reaches_the_driver_as_it_is(rows: str, steps: list[ParDo], tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_files(source, events(100), files=2)
    what = Pipeline("minutes", Files(f"{source}/*.parquet", event_time="happened", arrival_time="arrived"))
    for step in steps:
        what = what.par_do(step)
    what = what.group_by_key_and_window(key="key", window=FixedWindows("1m")).combine(total=Sum("value"))
    with pytest.raises(DataError, match="fails") as failure:
        run(Submission(what, RuntimeMode.BATCH, str(tmp_path / "state"), conf={ROWS_CONF: rows}))
    assert failure.value.code == "DATA_PAR_DO"
    assert failure.value.__cause__ is None, "it was not made from a text of Spark's"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_an_error_of_a_reduce_task_keeps_its_class(tmp_path: Path) -> None:
    source, state = tmp_path / "source", tmp_path / "state"
    write_files(source, events(100), files=1)
    what = pipeline(source, lateness="1h")
    asked = Submission(what, RuntimeMode.MICRO_BATCH, str(state), conf={ROWS_CONF: "0"})
    run(asked)
    for path in (state / "keyed").rglob("*.arrow"):
        path.write_bytes(b"")
    state_of_workers_is_elsewhere = tmp_path / "copy"
    shutil.copytree(state, state_of_workers_is_elsewhere)
    write_files(source, events(100, seed=1), files=1, first=1)
    with pytest.raises(StateError) as failure:
        run(replace(asked, state=str(state_of_workers_is_elsewhere)))
    assert failure.value.code == "STATE_DAMAGED"
    assert read_status(str(state_of_workers_is_elsewhere)).detail.startswith("[STATE_DAMAGED]")
