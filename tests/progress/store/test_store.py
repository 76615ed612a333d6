from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.store import Store


def test_a_writer_that_is_killed_leaves_whole_documents(tmp_path: Path) -> None:
    script = (
        "import itertools, sys; from airflow_dataflow_provider.progress.store.store import Store\n"
        "store = Store.open(sys.argv[1])\n"
        "for number in itertools.count():\n"
        "    store.write('beat.json', b'%d' % (number % 10) * 300_000)\n"
        "    store.create(f'made/{number}.json', b'x' * 300_000)\n"
        "    if number == 5: print('going', flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "going\n"
    writer.kill()
    writer.communicate()
    store = Store.open(str(tmp_path))
    assert len(set(store.read("beat.json"))) == 1
    assert len(store.read("beat.json")) == 300_000
    assert {len(store.read(f"made/{name}")) for name in store.list("made")} == {300_000}


@pytest.mark.parametrize("spelling", ["{0}", "{0}/", "file://{0}", "file:{0}", "{0}/x/.."])
def test_every_spelling_of_a_local_folder_is_the_same_store(tmp_path: Path, spelling: str) -> None:
    store = Store.open(spelling.format(tmp_path))
    assert store == Store.open(tmp_path)
    assert store.url == str(tmp_path)
    assert store.child("a/b") == store.local_path("a/b") == f"{tmp_path}/a/b"


def test_a_relative_path_stays_where_it_was_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store.open("state").url == str(tmp_path / "state")


def test_a_remote_store_has_no_local_path() -> None:
    store = Store.open("memory://bucket/state/")
    assert store.child("a.json") == "memory://bucket/state/a.json"
    assert store.local_path("a.json") is None


@pytest.mark.parametrize("url", ["", "nosuch://bucket/state"])
def test_a_url_of_no_filesystem_is_refused(url: str) -> None:
    with pytest.raises(StateError) as error:
        Store.open(url)
    assert error.value.code == "STATE_FILESYSTEM"


def test_a_filesystem_without_exclusive_create_is_refused() -> None:
    class Careless(MemoryFileSystem):
        protocol = "careless"

    fsspec.register_implementation("careless", Careless, clobber=True)
    with pytest.raises(StateError, match="cannot create exclusively") as error:
        Store.open("careless://bucket/state")
    assert error.value.code == "STATE_FILESYSTEM"


def test_a_disk_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path, _target: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store = Store.open(tmp_path)
    with pytest.raises(StateError, match="no hard links") as error:
        store.create("a.json", b"{}")
    assert error.value.code == "STATE_FILESYSTEM"
    assert list(tmp_path.iterdir()) == []
