"""Names in the folders of a state that others have put there: everything goes on, and nothing of them is removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_dataflow_provider import RuntimeMode
from airflow_dataflow_provider.progress.ownership import launches
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep.verification import verify
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.sinks import pane_writer
from airflow_dataflow_provider.spark.sources import read_splits
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.spark.events import as_truth, events, pipeline, truth, write_files

FOLDERS = (
    "panes", "panes/commits", "panes/commits/000000000", "panes/data", "panes/snapshots", "read", "owners",
    "owners/00000", "requests", "signals", "epochs", "epochs/000000000", "keyed", "keyed/000000000000", "expired",
    "rejected",
)  # fmt: skip


def put_foreign_names(folder: Path) -> list[Path]:
    """Files and a subfolder, as desktops and people leave them behind."""
    (folder / "subfolder").mkdir(parents=True)
    paths = [folder / name for name in (".DS_Store", "notes.txt", "notes", "copy of 7.json", "subfolder/notes.txt")]
    for path in paths:
        path.write_text("no document")
    return paths


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with some epochs, and files that have come since."""
    folder = tmp_path_factory.mktemp("made")
    write_files(folder / "source", events(2_000)[:1_000], files=4)
    go(folder, folder / "state")
    write_files(folder / "source", events(2_000)[1_000:], files=20, first=4)
    return folder


def go(made: Path, state: Path, mode: RuntimeMode = RuntimeMode.MICRO_BATCH) -> None:
    what = pipeline(made / "source", lateness="1h", max_files_per_epoch=1)
    run(Submission(what, mode, str(state), conf={"dataflow.state.partitions": "2"}, workers=ThisProcess()))


def test_foreign_names_stop_no_driver_and_no_reader_and_stay(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_splits, "_EPOCHS", 2)
    monkeypatch.setattr(pane_writer, "COMMITS", 4)
    state = tmp_path / "state"
    shutil.copytree(made / "state", state)
    foreign = [path for folder in FOLDERS for path in put_foreign_names(state / folder)]
    go(made, state)
    go(made, state, RuntimeMode.BATCH)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(events(2_000)))
    assert read_status(str(state)).rows.read == 2_000
    assert SideOutputs(str(state)).expired().is_empty()
    assert verify(Store.open(str(state))).findings == ()
    assert [path for path in foreign if not path.exists()] == []


def test_foreign_names_announce_no_driver(made: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(made / "state", state)
    (state / "launches").mkdir(exist_ok=True)
    (state / "launches" / "notes.txt").write_text("no document")
    assert launches.starting_on(str(state)) == []
