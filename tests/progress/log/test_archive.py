"""Old epochs are packed, a thousand to a file, and read as before: at every moment, whatever ends the driver."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import Prepared
from airflow_dataflow_provider.progress.store.local_store import LocalStore
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.long_logs import make_log
from tests.progress.samples import plan, record

ARCHIVE = "epochs/000000000.jsonl.gz"
FOLDER = "epochs/000000000"


class KilledError(BaseException):
    """The driver ends here: nothing may handle it."""


class Mortal(LocalStore):
    """A local store whose process is killed at its n-th change, before or after it takes effect."""

    changes = 0
    dies_at = -1
    after = False

    def _change(self, change: Callable[[], Any]) -> None:
        Mortal.changes += 1
        dies = Mortal.changes == Mortal.dies_at
        if not dies or Mortal.after:
            change()
        if dies:
            raise KilledError

    def create(self, path: str, data: bytes) -> None:
        self._change(lambda: LocalStore.create(self, path, data))

    def delete(self, path: str, recursive: bool = False) -> None:
        if recursive:  # one call, many deletions: it can end in the middle
            names = self.list(path)
            for name in (names[0], names[len(names) // 2]) if names else ():
                self._change(lambda name=name: LocalStore.delete(self, f"{path}/{name}"))
        self._change(lambda: LocalStore.delete(self, path, recursive))


def _flipped(data: bytes, at: int) -> bytes:
    found = bytearray(data)
    found[at] ^= 4
    return bytes(found)


def _everything(store: Store) -> list[object]:
    """All that a log says, to a reader that begins now."""
    log = EpochLog(store)
    records = list(log.records())
    return [
        records,
        [log.planned(each.epoch) for each in records],
        [EpochLog(store).prepared(each.epoch) for each in records[::97]],
        log.last_record(),
        log.open_plan(),
    ]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 2,010 epochs, all of them documents; an epoch is open."""
    store = Store.open(tmp_path_factory.mktemp("template") / "state")
    make_log(store, 2010, archived=False)
    EpochLog(store).plan(plan(2010))
    return Path(store.url)


@pytest.fixture
def documents(template: Path, tmp_path: Path) -> Store:
    """A copy of the template: documents are replaced, never changed, so links do."""
    return Store.open(shutil.copytree(template, tmp_path / "state", copy_function=os.link))


def test_a_group_is_packed_once_a_whole_one_follows_it_and_reads_as_before(documents: Store) -> None:
    before = _everything(documents)
    log = EpochLog(documents)
    log.compact()
    assert documents.list("epochs") == ["000000000.jsonl.gz", "000000001", "000000002"]
    assert _everything(documents) == before
    assert log.record(7) == EpochLog(documents).record(7)
    assert [each.epoch for each in log.records(since=990)] == list(range(990, 2010))
    assert log.record(2010) is None
    assert log.prepared(2010) is None
    log.compact()
    assert documents.list("epochs") == ["000000000.jsonl.gz", "000000001", "000000002"]


def test_nothing_is_packed_before_a_whole_group_follows(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    make_log(store, 2000, archived=False)
    EpochLog(store).compact()
    assert store.list("epochs") == ["000000000", "000000001"]


@pytest.mark.parametrize("after", [False, True])
def test_a_driver_that_is_killed_at_any_step_of_packing_loses_nothing(documents: Store, after: bool) -> None:
    expected = _everything(documents)
    store = Mortal(documents.url)
    Mortal.after = after
    steps = 0
    while True:
        steps += 1
        Mortal.changes, Mortal.dies_at = 0, steps
        try:
            EpochLog(store).compact()
            break
        except KilledError:
            assert _everything(documents) == expected
    assert _everything(documents) == expected
    assert documents.list("epochs") == ["000000000.jsonl.gz", "000000001", "000000002"]
    assert steps >= 3


def test_a_reader_that_began_before_goes_on_through_the_archive(documents: Store) -> None:
    reader = EpochLog(documents)
    expected = list(EpochLog(documents).records())
    records = reader.records()
    found = [next(records) for _ in range(10)]
    EpochLog(documents).compact()
    found += records
    assert found == expected


def test_documents_that_go_while_they_are_listed_are_found_in_the_archive(documents: Store) -> None:
    expected = list(EpochLog(documents).records())

    class Slow(LocalStore):
        """Between two of its looks, another process packs the group."""

        def list(self, folder: str) -> Any:
            if folder == FOLDER:
                EpochLog(documents).compact()
            return LocalStore.list(self, folder)

    assert list(EpochLog(Slow(documents.url)).records()) == expected


def test_what_a_driver_that_slept_writes_into_a_packed_group_counts_for_nothing(documents: Store) -> None:
    sleeper = EpochLog(documents)
    for epoch in range(500):
        documents.delete(f"{FOLDER}/{epoch:012d}.prepared.json")  # of a log that has fewer results
    expected = _everything(documents)
    EpochLog(documents).compact()
    sleeper.prepare(Prepared(7, 99, EpochResult(files=("wrong",))))
    documents.write_json(f"{FOLDER}/{7:012d}.commit.json", record(7, token=99).to_json())
    assert _everything(documents) == expected
    log = EpochLog(documents)
    log.compact()
    assert documents.list("epochs") == ["000000000.jsonl.gz", "000000001", "000000002"]
    assert _everything(documents) == expected


def test_drivers_that_pack_at_once_agree(documents: Store) -> None:
    expected = _everything(documents)

    class Second(LocalStore):
        """Just before it creates the archive, another driver has created it and removed the documents."""

        def create(self, path: str, data: bytes) -> None:
            EpochLog(documents).compact()
            LocalStore.create(self, path, data)

    EpochLog(Second(documents.url)).compact()
    assert _everything(documents) == expected


@pytest.mark.parametrize("kind", ["plan", "commit"])
def test_a_group_that_has_lost_a_document_stays_as_it_is_and_says_so(
    documents: Store, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    documents.delete(f"{FOLDER}/{500:012d}.{kind}.json")
    with caplog.at_level(logging.WARNING):
        EpochLog(documents).compact()
    assert f"{500:012d}.{kind}.json cannot be read: it is missing" in caplog.text
    assert documents.list("epochs") == ["000000000", "000000001", "000000002"]
    assert len(documents.list(FOLDER)) == 2999


def test_a_group_with_a_damaged_document_stays_as_it_is(documents: Store, caplog: pytest.LogCaptureFixture) -> None:
    documents.write(f"{FOLDER}/{500:012d}.commit.json", b'{"epoch": 500')
    EpochLog(documents).compact()
    assert "cannot be archived" in caplog.text
    assert len(documents.list(FOLDER)) == 3000


def test_documents_stay_where_the_archive_that_stands_says_something_else(
    documents: Store, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(LocalStore):
        def create(self, path: str, data: bytes) -> None:
            LocalStore.create(self, path, data[: len(data) // 2])

    EpochLog(Wrong(documents.url)).compact()
    assert "cannot be archived" in caplog.text
    assert len(documents.list(FOLDER)) == 3000


@pytest.mark.parametrize("position", [20, 1000, -20])
@pytest.mark.parametrize(
    "damage", [lambda data, at: data[:at], lambda data, at: data[:at] + bytes([data[at] ^ 4]) + data[at:][1:]]
)
def test_a_damaged_archive_is_unreadable_and_says_which(
    documents: Store, damage: Callable[[bytes, int], bytes], position: int
) -> None:
    EpochLog(documents).compact()
    documents.write(ARCHIVE, damage(documents.read(ARCHIVE), position))
    with pytest.raises(StateError, match=r"000000000\.jsonl\.gz cannot be read") as error:
        EpochLog(documents).record(7)
    assert error.value.code == "STATE_UNREADABLE"


def test_any_tool_reads_an_archive(documents: Store) -> None:
    """It is JSON lines, in gzip's format."""
    import duckdb

    EpochLog(documents).compact()
    columns = "{epoch: 'BIGINT', plan: 'JSON', prepared: 'JSON', commit: 'JSON'}"
    archive = documents.local_path(ARCHIVE)
    found = duckdb.sql(
        f"SELECT commit, plan, prepared FROM read_json('{archive}', format = 'newline_delimited', "
        f"compression = 'gzip', columns = {columns}) WHERE epoch = 7"
    ).fetchall()
    log = EpochLog(documents)
    expected = (log.record(7), log.planned(7), log.prepared(7))
    assert [json.loads(text) for text in found[0]] == [each.to_json() for each in expected if each is not None]
