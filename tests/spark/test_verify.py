"""``verify`` names all that is missing or damaged, and makes anew what can be made anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import DISCARDING, RuntimeMode
from airflow_dataflow_provider.__main__ import main
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import Prepared
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.sinks import pane_writer
from airflow_dataflow_provider.spark.values.frames import write_arrow, write_parquet
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.progress.samples import make_identity, plan, record
from tests.spark.events import as_truth, events, truth, write_files
from tests.spark.events import pipeline as events_pipeline
from tests.spark.pane_logs import Said, compaction, frame_of, open_log, pipeline

EPOCHS = 6


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state with open windows, side outputs, and a pane log that a snapshot stands for up to its fourth epoch."""
    store = Store.open(tmp_path)
    make_identity(store)
    (writer, stages), epochs = open_log(tmp_path, pipeline()), EpochLog(store)
    rows = pl.DataFrame({"a": [1]})
    for epoch in range(EPOCHS):
        taken = epochs.plan(plan(epoch))
        panes = writer.stage(epoch, [frame_of([Said("a", epoch, 1)], stages.published())], {})
        aside = write_parquet(store, "rejected", f"{epoch}/rows.parquet", rows)
        result = EpochResult(pane_files=panes, panes=1, rejected_files=(aside,))
        prepared = epochs.prepare(Prepared(epoch, 1, result))
        reach = writer.commit(taken, prepared, 0)
        keyed = write_arrow(store, "keyed", f"{epoch}/windows.arrow", rows).to_json()
        chains = {"0": {"files": [keyed], "rows": [1], "live": 1}}
        epochs.commit(record(epoch, panes_until=reach, checkpoint={"chains": chains, "further": []}))
        if epoch == 3:
            compaction(store.child("panes"), commits=1).run(epoch + 1, 0)
    return tmp_path


def told(state: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    capsys.readouterr()
    status = main(["verify", "--state", str(state), "--json", *options])
    return status, json.loads(capsys.readouterr().out)


def test_a_whole_state_is_whole(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = told(state, capsys)
    assert (status, found["findings"], found["epochs"]) == (0, [], EPOCHS)
    assert found["files"] == EPOCHS + 1 + 1 + 1 + 2  # set aside; open windows; table, merged panes, commits since
    assert main(["verify", "--state", str(state)]) == 0
    assert "6 epochs, 11 data files, 0.0 MB: nothing missing, nothing damaged" in capsys.readouterr().out


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


DAMAGED = {
    "rejected/2/rows.parquet": "do not depend",
    f"keyed/{EPOCHS - 1}/windows.arrow": "another state URL",
    "panes/data/000000000005-driver-*.parquet": "panes of epoch 5",
    "panes/data/000000000003-panes-*.parquet": "panes of epochs 0 to 3",
    "panes/data/000000000003-table-*.parquet": "--rebuild",
    "panes/pane_log.json": "restore",
    "panes/commits/000000000/000000000004.json": "--rebuild",
    "panes/commits/000000000/000000000005.json": "--rebuild",
    "epochs/000000000/000000000001.commit.json": "restore",
    "epochs/000000000/000000000001.prepared.json": "restore",
}


@pytest.mark.parametrize("damage", [Path.unlink, flip], ids=["gone", "flipped"])
@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_missing_or_damaged_is_named_with_what_can_be_done(
    state: Path, capsys: pytest.CaptureFixture[str], name: str, damage: Callable[[Path], None]
) -> None:
    [file] = state.glob(name)
    if file.suffix == ".json" and damage is flip:
        file.write_text(file.read_text()[:-9])
    else:
        damage(file)
    status, found = told(state, capsys)
    assert status == 3
    said = json.dumps(found["findings"])
    assert DAMAGED[name] in said
    assert file.name in said or "epoch 1" in said
    assert len(found["findings"]) == 1 or name.endswith("000001.commit.json")


@pytest.mark.parametrize("name", [name for name, remedy in DAMAGED.items() if remedy == "--rebuild"])
def test_what_can_be_made_anew_is_made_anew(state: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    before = PaneLogReader(str(state)).current()
    for file in state.glob(name):
        file.unlink()
    assert told(state, capsys)[1]["findings"][0]["can_be_rebuilt"]
    status, found = told(state, capsys, "--rebuild")
    assert (status, found["findings"], len(found["rebuilt"])) == (0, [], 1)
    assert PaneLogReader(str(state)).current().equals(before)
    open_log(state, pipeline())


def test_a_pane_log_that_is_gone_is_told_commit_by_commit(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "panes").rename(state / "elsewhere")
    status, found = told(state, capsys)
    assert status == 3
    assert len(found["findings"]) == 1 + 2 * EPOCHS  # the header; commits and their files


def test_there_must_be_a_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--state", str(tmp_path / "nowhere")]) == 3
    assert "STATE_ABSENT" in capsys.readouterr().err


def test_a_run_that_is_compacted_leaves_a_state_that_is_whole_and_says_what_it_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, state = events(2_000), tmp_path / "state"
    write_files(tmp_path / "source", frame, files=40)
    what = events_pipeline(tmp_path / "source", max_files_per_epoch=1, lateness="30m", refinement=DISCARDING)
    monkeypatch.setattr(pane_writer, "COMMITS", 6)
    for mode in (RuntimeMode.MICRO_BATCH, RuntimeMode.BATCH):
        run(Submission(what, mode, str(state), conf={"dataflow.state.partitions": "2"}, workers=ThisProcess()))
    snapshot = PaneChain(Store.open(state / "panes")).snapshot()
    assert snapshot is not None
    assert snapshot.through > 20
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))
    status, found = told(state, capsys)
    assert (status, found["findings"]) == (0, [])
