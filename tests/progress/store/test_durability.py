"""A power cut keeps what was written: the content of files, and every name on the way to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.requests import requests, signals
from airflow_dataflow_provider.progress.store import local_store
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, make_identity


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files and folders that were synced, in order. A folder counts if nothing in it has changed since."""
    found: list[Path] = []
    fsync = os.fsync

    def record(file: int) -> None:
        found.append(Path(f"/proc/self/fd/{file}").readlink())
        fsync(file)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(local_store, "_DURABLE", set())
    return found


def test_new_folders_are_on_the_disk_before_the_document_in_them_counts(tmp_path: Path, synced: list[Path]) -> None:
    state = tmp_path / "not" / "yet" / "there"
    Store.open(state).create("epochs/000000000/000000000000.plan.json", b"{}")
    group = state / "epochs" / "000000000"
    folders = [path for path in synced if path.is_dir()]
    assert (
        folders == [*reversed([tmp_path, *reversed([state.parent.parent, state.parent, state])])][::-1]
        or folders[-1] == group
    )
    assert {tmp_path, tmp_path / "not", state.parent, state, state / "epochs", group} == set(folders)
    assert folders == [tmp_path, tmp_path / "not", state.parent, state, state / "epochs", group]


def test_a_folder_that_a_process_made_and_did_not_live_to_sync_is_synced_by_the_next(
    tmp_path: Path, synced: list[Path]
) -> None:
    (tmp_path / "state" / "epochs" / "000000000").mkdir(parents=True)
    store = Store.open(tmp_path / "state")
    store.create("epochs/000000000/000000000000.plan.json", b"{}")
    assert {tmp_path / "state", tmp_path / "state" / "epochs"} <= set(synced)
    synced.clear()
    store.create("epochs/000000000/000000000001.plan.json", b"{}")
    assert [path.name for path in synced if path.is_dir()] == ["000000000"]


def test_a_folder_that_was_removed_and_made_again_is_synced_again(tmp_path: Path, synced: list[Path]) -> None:
    store = Store.open(tmp_path)
    store.add("keyed/7/a.arrow", b"rows")
    store.delete("keyed/7", recursive=True)
    synced.clear()
    store.add("keyed/7/b.arrow", b"rows")
    assert tmp_path / "keyed" in synced


def test_data_files_in_a_new_folder_are_on_the_disk_after_sync(tmp_path: Path, synced: list[Path]) -> None:
    store = Store.open(tmp_path)
    store.add("keyed/000000000007/0-0001.arrow", b"rows")
    store.sync("keyed/000000000007")
    folder = tmp_path / "keyed" / "000000000007"
    assert [path.relative_to(tmp_path) for path in synced if path != tmp_path] == [
        Path("keyed"),
        Path("keyed/000000000007/0-0001.arrow"),
        Path("keyed/000000000007"),
    ]
    assert folder.is_dir()


def test_a_signal_that_was_taken_cannot_come_back_with_a_power_cut(tmp_path: Path, synced: list[Path]) -> None:
    store = Store.open(tmp_path)
    make_identity(store, signals=frozenset({"go"}))
    request = requests.request_signal(store, "go", NOON)
    synced.clear()
    signals.forget(store, [request.id])
    assert not store.exists(f"requests/{request.id}.json")
    assert synced == [tmp_path / "requests"]


def test_a_signal_file_that_became_a_request_cannot_come_back_with_a_power_cut(
    tmp_path: Path, synced: list[Path]
) -> None:
    store = Store.open(tmp_path)
    make_identity(store, signals=frozenset({"go"}))
    store.add("signals/go", b"")
    synced.clear()
    assert [request.signal for request in signals.raised(store, {"go"}, NOON)] == ["go"]
    assert [path.name for path in synced if path.is_dir()] == [tmp_path.name, "requests", "signals"]
