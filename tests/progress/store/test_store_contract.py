"""What every store promises, on a local disk, in memory and on S3 (moto's, on this machine)."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.object_store import ObjectStore
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.object_server import BUCKET, ObjectServer
from tests.progress.samples import at_once


def another_process(store: Store) -> Store:
    """The store as a process sees it that shares nothing with this one but the storage."""
    if not isinstance(store, ObjectStore):
        return Store.open(store.url)
    files = type(store.files)(skip_instance_cache=True, use_listings_cache=False)
    return dataclasses.replace(store, files=files)


def test_a_document_is_read_back_as_it_was_written(any_store: Store) -> None:
    any_store.write("a/b.json", b"first")
    any_store.write("a/b.json", b"second")
    assert any_store.read("a/b.json") == b"second"
    assert any_store.exists("a/b.json")
    assert any_store.exists("a")


def test_a_missing_document_is_not_found(any_store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        any_store.read("nothing.json")
    with pytest.raises(FileNotFoundError):
        any_store.read_json("deeper/nothing.json")
    assert not any_store.exists("nothing.json")
    assert any_store.list("nothing") == []
    any_store.delete("nothing.json")
    any_store.delete("nothing", recursive=True)
    any_store.sync("nothing")


def test_a_document_is_created_once(any_store: Store) -> None:
    any_store.create("a/b.json", b"first")
    with pytest.raises(FileExistsError):
        any_store.create("a/b.json", b"second")
    assert any_store.read("a/b.json") == b"first"


def test_of_several_creators_one_wins_and_its_document_stands(any_store: Store) -> None:
    for attempt in range(4):
        path = f"race/{attempt}.json"

        def create(number: int, path: str = path) -> int:
            any_store.create(path, str(number).encode())
            return number

        results = at_once(create)
        winners = [result for result in results if isinstance(result, int)]
        assert len(winners) == 1
        assert [type(result) for result in results if result not in winners] == [FileExistsError] * 7
        assert any_store.read(path) == str(winners[0]).encode()


def test_put_if_absent_gives_everybody_the_document_that_stands(any_store: Store) -> None:
    standing = at_once(lambda number: any_store.put_if_absent("who.json", {"number": number}))
    assert standing == [any_store.read_json("who.json")] * 8


def test_what_another_process_creates_is_there_although_its_folder_was_listed_before(any_store: Store) -> None:
    any_store.create("owners/1.json", b"{}")
    assert any_store.list("owners") == ["1.json"]
    assert not any_store.exists("owners/2.json")
    another_process(any_store).write_json("owners/2.json", {"by": "another"})
    assert any_store.put_if_absent("owners/2.json", {"by": "us"}) == {"by": "another"}
    assert any_store.read_json("owners/2.json") == {"by": "another"}
    assert any_store.exists("owners/2.json")
    assert any_store.list("owners") == ["1.json", "2.json"]


def test_what_another_process_removes_is_gone_although_its_folder_was_listed_before(any_store: Store) -> None:
    any_store.write("requests/1.json", b"{}")
    assert any_store.list("requests") == ["1.json"]
    another_process(any_store).delete("requests/1.json")
    assert not any_store.exists("requests/1.json")
    assert any_store.list("requests") == []
    with pytest.raises(FileNotFoundError):
        any_store.read("requests/1.json")
    assert any_store.put_if_absent("requests/1.json", {"by": "us"}) == {"by": "us"}


def test_names_are_listed_in_order_with_folders(any_store: Store) -> None:
    for name in ("f/2.json", "f/10.json", "f/sub/1.json", "g/3.json", "f/sub/deeper/1.json"):
        any_store.create(name, b"{}")
    assert any_store.list("f") == ["10.json", "2.json", "sub"]
    assert any_store.list("f/sub") == ["1.json", "deeper"]
    any_store.delete("f/10.json")
    assert any_store.list("f") == ["2.json", "sub"]
    any_store.delete("f", recursive=True)
    assert any_store.list("f") == []
    assert any_store.list("g") == ["3.json"]


def test_a_list_does_not_show_what_is_being_written(any_store: Store) -> None:
    any_store.add("made/.1.json.0123.tmp", b"half")
    any_store.write("made/1.json", b"{}")
    assert any_store.list("made") == ["1.json"]


def test_names_may_have_any_letters_and_characters_that_urls_use(any_store: Store) -> None:
    names = sorted(["Zürich 東京.json", "a+b%20c.json", "q?x.json", "a[1].json", "a#b.json", "a=b&c.json", "*.json"])
    for name in names:
        any_store.create(f"names/{name}", name.encode())
    assert any_store.list("names") == names
    for name in names:
        assert any_store.read(f"names/{name}") == name.encode()
        assert any_store.exists(f"names/{name}")
        with pytest.raises(FileExistsError):
            any_store.create(f"names/{name}", b"")
    any_store.delete("names/*.json")
    assert any_store.list("names") == [name for name in names if name != "*.json"]


def test_a_folder_is_removed_without_its_neighbours(any_store: Store) -> None:
    for name in ("a/1.json", "ab/1.json", "a.json", "a b/1.json"):
        any_store.write(name, b"{}")
    any_store.delete("a", recursive=True)
    assert any_store.list("") == ["a b", "a.json", "ab"]


def test_large_documents_are_whole(any_store: Store) -> None:
    large = bytes(range(256)) * 4 * 1024 * 12  # 12 MiB
    any_store.create("large.bin", large)
    any_store.add("large.copy", large)
    with pytest.raises(FileExistsError):
        any_store.create("large.bin", large)
    assert any_store.read("large.bin") == large
    assert any_store.read("large.copy") == large


def test_empty_documents_are_documents(any_store: Store) -> None:
    any_store.create("empty", b"")
    assert any_store.read("empty") == b""
    assert any_store.exists("empty")
    with pytest.raises(FileExistsError):
        any_store.create("empty", b"")


def test_a_reader_never_sees_half_of_a_document_that_is_being_replaced(any_store: Store) -> None:
    """The size changes with every write, so that a torn read shows."""
    documents = [str(number % 10).encode() * (1 + 20_000 * (number % 7)) for number in range(60)]
    any_store.write("beat.json", documents[0])
    done, torn, seen = threading.Event(), list[bytes](), set[bytes]()

    def read() -> None:
        while not done.is_set():
            data = any_store.read("beat.json")
            seen.add(data)
            if data not in documents:
                torn.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    for document in documents:
        any_store.write("beat.json", document)
    done.set()
    reader.join()
    assert torn == []
    assert seen


def test_a_reader_never_sees_half_of_a_document_that_is_being_created(any_store: Store) -> None:
    done, torn = threading.Event(), list[str]()
    content = b"x" * 100_000

    def read() -> None:
        while not done.is_set():
            names = any_store.list("made")[-3:]
            torn.extend(name for name in names if any_store.read(f"made/{name}") != content)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        any_store.create(f"made/{number:05d}.json", content)
    done.set()
    reader.join()
    assert torn == []
    assert len(any_store.list("made")) == 60


def test_documents_are_readable_by_people(any_store: Store) -> None:
    any_store.write_json("a.json", {"name": "Zürich", "rows": 1})
    assert any_store.read("a.json").decode() == '{\n  "name": "Zürich",\n  "rows": 1\n}\n'


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b""])
def test_what_is_no_json_object_is_unreadable(any_store: Store, content: bytes) -> None:
    any_store.write("a.json", content)
    with pytest.raises(StateError, match=r"a\.json") as error:
        any_store.read_json("a.json")
    assert error.value.code == "STATE_UNREADABLE"


@pytest.mark.parametrize("lost", [1, 100])
def test_whoever_loses_the_answer_to_a_create_finds_that_its_own_document_stands(
    object_server: ObjectServer, lost: int
) -> None:
    """The client tries once more by itself: after one lost answer it is refused by its own object."""
    store = Store.open(f"s3://{BUCKET}/lost-{lost}")
    store.list("")
    object_server.lose_answers(lost)
    try:
        assert store.put_if_absent("claim.json", {"by": "us"}) == {"by": "us"}
    finally:
        object_server.heal()
    assert store.put_if_absent("claim.json", {"by": "them"}) == {"by": "us"}


def test_whoever_is_second_and_loses_the_answer_gets_the_document_that_stands(object_server: ObjectServer) -> None:
    store = Store.open(f"s3://{BUCKET}/second")
    another_process(store).write_json("claim.json", {"by": "them"})
    object_server.lose_answers(100)
    try:
        assert store.put_if_absent("claim.json", {"by": "us"}) == {"by": "them"}
    finally:
        object_server.heal()
    assert store.read_json("claim.json") == {"by": "them"}


def test_a_bucket_that_refuses_says_where_why_and_what_to_do(object_server: ObjectServer) -> None:
    store = Store.open(f"s3://{BUCKET}/forbidden")
    attempts = {
        "read": lambda: store.read("a.json"),
        "written": lambda: store.put_if_absent("a.json", {}),
        "listed": lambda: store.list("folder"),
        "removed": lambda: store.delete("a.json"),
    }
    for doing, attempt in attempts.items():
        object_server.refuse(100)
        try:
            with pytest.raises(StateError, match=rf"s3://{BUCKET}/forbidden/.* cannot be {doing}: ") as error:
                attempt()
        finally:
            object_server.heal()
        assert error.value.code == "STATE_STORAGE"


def test_a_bucket_that_is_not_there_cannot_be_written(object_server: ObjectServer) -> None:
    store = Store.open("s3://nosuchbucket/state")
    assert store.list("owners") == []
    with pytest.raises(StateError, match="the bucket does not exist") as error:
        store.put_if_absent("a.json", {})
    assert error.value.code == "STATE_STORAGE"
