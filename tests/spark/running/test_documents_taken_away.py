"""Documents of the epoch log that were removed: nothing is published twice or lost, and the error says what is gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import RuntimeMode, StateError
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.spark.events import as_truth, events, pipeline, truth, write_files

NEWEST = 3
"""The epoch of the last of four files."""


def go(source: Path, state: Path, mode: RuntimeMode = RuntimeMode.MICRO_BATCH) -> Status:
    what = pipeline(source, lateness="1h", max_files_per_epoch=1)
    run(Submission(what, mode, str(state), conf={"dataflow.state.partitions": "2"}, workers=ThisProcess()))
    return read_status(str(state))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state whose newest epoch has read and published, and its source, with a new file that is older than all."""
    folder = tmp_path_factory.mktemp("made")
    write_files(folder / "source", events(4_000), files=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Epochs, "clock", lambda *_, **__: False)
        go(folder / "source", folder / "state")
    assert read_status(str(folder / "state")).epoch == NEWEST
    write_files(folder / "source", events(500, seed=9), files=1, first=9)
    os.utime(folder / "source" / "part-0009.parquet", (1_600_000_000, 1_600_000_000))
    return folder


@pytest.fixture
def source(made: Path) -> Path:
    return made / "source"


@pytest.fixture
def state(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "state", tmp_path / "state")
    return tmp_path / "state"


def take_away(state: Path, epoch: int, kinds: Iterable[str]) -> None:
    for kind in kinds:
        (state / "epochs" / "000000000" / f"{epoch:012d}.{kind}.json").unlink()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}


def refused(source: Path, state: Path) -> StateError:
    """The error of a run, which leaves epochs and panes as they are, and is the same the second time."""
    logs = (state / "epochs", state / "panes")
    before = [contents(log) for log in logs]
    with pytest.raises(StateError) as first:
        go(source, state)
    assert [contents(log) for log in logs] == before
    with pytest.raises(StateError) as second:
        go(source, state)
    assert (second.value.code, second.value.what) == (first.value.code, first.value.what)
    return first.value


def test_a_commit_that_is_gone_is_made_again_and_nothing_is_published_twice(source: Path, state: Path) -> None:
    take_away(state, NEWEST, ["commit"])
    assert go(source, state).rows.read == 4_500
    go(source, state, RuntimeMode.BATCH)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(pl.concat([events(4_000), events(500, seed=9)])))


@pytest.mark.parametrize("kinds", [["prepared", "commit"], ["plan", "prepared", "commit"]], ids=" and ".join)
def test_an_epoch_that_has_published_and_lost_its_result_is_not_run_again(
    kinds: list[str], source: Path, state: Path
) -> None:
    take_away(state, NEWEST, kinds)
    error = refused(source, state)
    assert error.code == "STATE_DAMAGED"
    assert f"no result of epoch {NEWEST}" in error.what


@pytest.mark.parametrize(
    "kinds", [["commit"], ["prepared", "commit"], ["plan", "prepared", "commit"]], ids=" and ".join
)
def test_epochs_that_the_pane_log_knows_and_the_epoch_log_does_not_are_not_run_again(
    kinds: list[str], source: Path, state: Path
) -> None:
    for epoch in (NEWEST - 1, NEWEST):
        take_away(state, epoch, kinds)
    error = refused(source, state)
    assert error.code == "STATE_DAMAGED"
    assert f"no commit of epoch {NEWEST - 1}" in error.what


@pytest.mark.parametrize("epoch", [NEWEST, 1])
@pytest.mark.parametrize("kinds", [["prepared"], ["plan"], ["plan", "prepared"]], ids=" and ".join)
def test_a_committed_epoch_that_does_not_say_what_it_has_read_is_named(
    kinds: list[str], epoch: int, source: Path, state: Path
) -> None:
    take_away(state, epoch, kinds)
    error = refused(source, state)
    assert error.code == "STATE_LOG_BROKEN"
    assert f"the plan or the result of epoch {epoch} is gone" in error.what


@pytest.mark.parametrize(
    "kinds", [["commit"], ["prepared", "commit"], ["plan", "prepared", "commit"]], ids=" and ".join
)
def test_a_commit_that_is_gone_from_the_middle_is_named(kinds: list[str], source: Path, state: Path) -> None:
    take_away(state, 1, kinds)
    error = refused(source, state)
    assert error.code == "STATE_LOG_BROKEN"
    assert "the commit of epoch 1 is gone" in error.what
    with pytest.raises(StateError, match="the commit of epoch 1 is gone"):
        SideOutputs(str(state)).expired()


def test_a_result_without_its_plan_gets_no_plan_of_other_input(source: Path, state: Path) -> None:
    """The plan that it would get names the oldest file that is not read, which the result knows nothing of."""
    take_away(state, NEWEST, ["plan", "commit"])
    error = refused(source, state)
    assert error.code == "STATE_LOG_BROKEN"
    assert f"the plan of epoch {NEWEST} is gone" in error.what


def test_a_plan_after_a_gap_is_not_carried_out(source: Path, state: Path) -> None:
    take_away(state, NEWEST, ["prepared", "commit"])
    take_away(state, NEWEST - 1, ["plan", "prepared", "commit"])
    for epoch in (NEWEST - 1, NEWEST):
        (state / "panes" / "commits" / "000000000" / f"{epoch:012d}.json").unlink()
    error = refused(source, state)
    assert error.code == "STATE_LOG_BROKEN"
    assert f"the documents of epoch {NEWEST - 1} are gone" in error.what


def test_an_epoch_log_that_is_gone_is_not_begun_anew_under_a_pane_log_that_has_published(
    source: Path, state: Path
) -> None:
    shutil.rmtree(state / "epochs")
    error = refused(source, state)
    assert error.code == "STATE_DAMAGED"
    assert "no commit of epoch 0" in error.what
    assert (state / "schema.arrow").exists()


def test_rows_that_were_set_aside_are_not_left_out_where_a_result_is_gone(state: Path) -> None:
    take_away(state, 1, ["prepared"])
    with pytest.raises(StateError, match="the result of epoch 1") as refusal:
        SideOutputs(str(state)).expired()
    assert refusal.value.code == "STATE_DAMAGED"
