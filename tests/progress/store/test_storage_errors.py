"""A storage that refuses: every failure has one code, names the path, and says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store import local_store
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import make_identity

WRITES: dict[str, Callable[[Store], Any]] = {
    "write": lambda store: store.write("folder/a.json", b"{}"),
    "create": lambda store: store.create("folder/a.json", b"{}"),
    "add": lambda store: store.add("folder/a.arrow", b"rows"),
    "put_if_absent": lambda store: store.put_if_absent("folder/a.json", {}),
}
READS: dict[str, Callable[[Store], Any]] = {
    "read": lambda store: store.read("folder/a.json"),
    "read_json": lambda store: store.read_json("folder/a.json"),
    "list": lambda store: store.list("folder"),
    "exists": lambda store: store.exists("folder/a.json"),
}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO])
@pytest.mark.parametrize("call", WRITES)
def test_a_disk_that_refuses_a_write_says_where_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    def refuse(_target: Path, _data: bytes) -> None:
        raise OSError(number, os.strerror(number))

    store = Store.open(tmp_path)
    monkeypatch.setattr(local_store, "_put", refuse)
    with pytest.raises(StateError, match=r"folder/a\..* cannot be written: ") as error:
        WRITES[call](store)
    assert error.value.code == "STATE_STORAGE"
    assert error.value.reason
    assert error.value.hint
    assert Store.open(tmp_path).list("folder") == []


def test_a_full_disk_is_called_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match="there is no space left"):
        Store.open(tmp_path).write("a.json", b"{}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", READS)
def test_a_disk_that_refuses_a_look_says_where_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def forbid(*_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    store = Store.open(tmp_path)
    for owner, name in ((Path, "read_bytes"), (Path, "stat"), (os, "scandir")):
        monkeypatch.setattr(owner, name, forbid)
    with pytest.raises(StateError, match=r"folder.* cannot be (read|listed): permission denied") as error:
        READS[call](store)
    monkeypatch.undo()
    assert error.value.code == "STATE_STORAGE"


def test_a_state_path_that_is_a_file_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("mine")
    attempts = (
        lambda: read_status(str(path)),
        lambda: make_identity(Store.open(path)),
        lambda: Store.open(path).list(""),
        lambda: Store.open(path).add("keyed/a.arrow", b"rows"),
        lambda: Store.open(path / "below").create("a.json", b"{}"),
    )
    for attempt in attempts:
        with pytest.raises(StateError, match="a file is where a folder is expected") as error:
            attempt()
        assert error.value.code == "STATE_STORAGE"
    assert path.read_text() == "mine"


def test_a_folder_where_a_document_belongs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").mkdir()
    with pytest.raises(
        StateError, match=r"pipeline\.json cannot be read: a file is where a folder is expected"
    ) as error:
        read_status(str(tmp_path))
    assert error.value.code == "STATE_STORAGE"


def test_a_document_that_comes_and_goes_is_an_error_and_no_endless_loop(store: Store) -> None:
    class Flickering(type(store)):  # type: ignore[misc]
        def create(self, path: str, data: bytes) -> None:  # noqa: ARG002 - the signature of a store
            raise FileExistsError(path)

    fields = {name: getattr(store, name) for name in ("url", "root", "files") if hasattr(store, name)}
    with pytest.raises(StateError) as error:
        Flickering(**fields).put_if_absent("a.json", {})
    assert error.value.code == "STATE_STORAGE"
