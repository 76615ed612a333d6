from __future__ import annotations

import errno
import subprocess
import sys
import threading
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store import Store
from tests.progress.samples import at_once


def test_a_document_is_read_back_as_it_was_written(store: Store) -> None:
    store.write("a/b.json", b"first")
    store.write("a/b.json", b"second")
    assert store.read("a/b.json") == b"second"
    assert store.exists("a/b.json")


def test_a_missing_document_is_not_found(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        store.read("nothing.json")
    assert not store.exists("nothing.json")
    assert store.list("nothing") == []
    store.delete("nothing.json")


def test_a_document_is_created_once(store: Store) -> None:
    store.create("a/b.json", b"first")
    with pytest.raises(FileExistsError):
        store.create("a/b.json", b"second")
    assert store.read("a/b.json") == b"first"


def test_of_several_creators_one_wins_and_its_document_stands(store: Store) -> None:
    for attempt in range(20):
        path = f"race/{attempt}.json"

        def create(number: int, path: str = path) -> int:
            store.create(path, str(number).encode())
            return number

        results = at_once(create)
        winners = [result for result in results if isinstance(result, int)]
        assert len(winners) == 1
        assert [type(result) for result in results if result not in winners] == [FileExistsError] * 7
        assert store.read(path) == str(winners[0]).encode()


def test_put_if_absent_gives_everybody_the_document_that_stands(store: Store) -> None:
    standing = at_once(lambda number: store.put_if_absent("who.json", {"number": number}))
    assert standing == [store.read_json("who.json")] * 8


def test_names_are_listed_in_order_with_folders_and_without_temporary_files(store: Store) -> None:
    for name in ("f/2.json", "f/10.json", "f/sub/1.json", "g/3.json"):
        store.create(name, b"{}")
    assert store.list("f") == ["10.json", "2.json", "sub"]
    store.delete("f/10.json")
    assert store.list("f") == ["2.json", "sub"]
    store.delete("f", recursive=True)
    assert store.list("f") == []
    assert store.list("g") == ["3.json"]


def test_a_reader_never_sees_half_of_a_document_that_is_being_replaced(store: Store) -> None:
    """The size changes with every write, so that a torn read shows."""
    documents = [str(number % 10).encode() * (1 + 20_000 * (number % 7)) for number in range(150)]
    store.write("beat.json", documents[0])
    done, torn, seen = threading.Event(), list[bytes](), set[bytes]()

    def read() -> None:
        while not done.is_set():
            data = store.read("beat.json")
            seen.add(data)
            if data not in documents:
                torn.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    for document in documents:
        store.write("beat.json", document)
    done.set()
    reader.join()
    assert torn == []
    assert seen


def test_a_reader_never_sees_half_of_a_document_that_is_being_created(store: Store) -> None:
    done, torn = threading.Event(), list[str]()
    content = b"x" * 100_000

    def read() -> None:
        while not done.is_set():
            torn.extend(name for name in store.list("made")[-3:] if store.read(f"made/{name}") != content)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(150):
        store.create(f"made/{number:05d}.json", content)
    done.set()
    reader.join()
    assert torn == []
    assert len(store.list("made")) == 150


def test_a_writer_that_is_killed_leaves_whole_documents(tmp_path: Path) -> None:
    script = (
        "import itertools, sys; from airflow_dataflow_provider.progress.store import Store\n"
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


def test_documents_are_readable_by_people(store: Store) -> None:
    store.write_json("a.json", {"name": "Zürich", "rows": 1})
    assert store.read("a.json").decode() == '{\n  "name": "Zürich",\n  "rows": 1\n}\n'


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b""])
def test_what_is_no_json_object_is_unreadable(store: Store, content: bytes) -> None:
    store.write("a.json", content)
    with pytest.raises(StateError, match=r"a\.json") as error:
        store.read_json("a.json")
    assert error.value.code == "STATE_UNREADABLE"


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
