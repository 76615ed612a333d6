"""The documents of the epoch log: single files for new epochs, one archive for each thousand old epochs.

A stream with an epoch every ten seconds writes 26,000 documents a day. The :mod:`archive <.archive>` of a group of
epochs (``epochs/000000007.jsonl.gz``) is created before its documents are deleted, so every document can be read at
every moment.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.archive import pack, unpack
from airflow_dataflow_provider.progress.store.documents import parse_document
from airflow_dataflow_provider.progress.store.numbered import GROUP, NumberedFiles
from airflow_dataflow_provider.progress.store.store import Json, Store, unreadable

T = TypeVar("T")

PLAN: Final = "plan.json"
PREPARED: Final = "prepared.json"
COMMIT: Final = "commit.json"

_FOLDER: Final = "epochs"
_ENDING: Final = ".jsonl.gz"
_YOUNG_GROUPS: Final = 2
"""The number of newest groups that are not archived: the one that grows, and a whole one."""
_READERS: Final = 16
"""The number of documents that are read at once for an archive, since an object store is slow to answer."""

_log = logging.getLogger(__name__)


def has_epochs(store: Store) -> bool:
    """Whether any epoch was ever planned in a state."""
    return bool(store.list(_FOLDER))


class EpochDocuments:
    """Finds and reads the documents of the epoch log, archived or not.

    If a group has an archive, only the archive counts. Documents beside it were left by a crash, or were written by a
    driver that was suspended for long.

    Costs:
        A new epoch costs the reads of its documents. The first read from an archive loads all of it (about 1 MB); the
        archive that was read last stays in memory.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files = NumberedFiles(store, _FOLDER)
        self._folders = frozenset[int]()  # groups that have documents, when they were last listed
        self._archived = frozenset[int]()  # groups that are known to have an archive: it never goes away
        self._written = -1  # the greatest epoch that was written here; it is not archived before others follow
        self._opened: tuple[int, list[bytes]] | None = None

    def put(self, epoch: int, kind: str, document: Json, parse: Callable[[Json], T]) -> T:
        """Create a document of an epoch, and return it; or return the one that exists already."""
        path = self._files.path(epoch, kind)
        stored = parse_document(self._store, path, self._store.put_if_absent(path, document), parse)
        self._written = max(self._written, epoch)
        return stored

    def load(self, epoch: int, kind: str, parse: Callable[[Json], T]) -> T | None:
        """The value in a document of an epoch, or None where there is none.

        Raises:
            StateError: ``STATE_UNREADABLE``, naming the file and what is wrong in it.
        """
        group, path = epoch // GROUP, self._files.path(epoch, kind)
        if group not in self._archived:
            try:
                return parse_document(self._store, path, self._store.read_json(path), parse)
            except FileNotFoundError:
                if epoch >= self._written > -1:
                    return None  # this driver is writing it, and an epoch without successors is never archived
            self._look()
            if group not in self._archived:
                return None
        document = self._line(epoch).get(_name(kind))
        return None if document is None else parse_document(self._store, self._path(group), document, parse)

    def newest_first(self, *kinds: str) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of plans and commits, from the greatest number down."""
        for group in reversed(self._look()):
            if group in self._archived:
                yield from reversed(_all(group, kinds))
            else:
                yield from self._files.in_group(group, kinds, newest_first=True)

    def oldest_first(self, *kinds: str, since: int = 0) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of plans and commits, from epoch ``since`` up."""
        groups = self._look()
        for group in groups:
            if group >= since // GROUP:
                entries = [] if group in self._archived else list(self._files.in_group(group, kinds))
                if group != groups[-1] and group not in self._archived:
                    self._look()  # the group may have been archived while its documents were listed
                if group in self._archived:
                    entries = _all(group, kinds)
                yield from (entry for entry in entries if entry[0] >= since)

    def compact(self) -> bool:
        """Archive the oldest group that is not archived and is followed by a whole group; whether there was one.

        Only a driver may call this, between two epochs. A group of which a plan or a commit is missing or damaged is
        not archived; it is logged as a warning.
        """
        groups = self._look()
        for group in groups[:-_YOUNG_GROUPS]:
            folder = self._files.folder_of(group)
            if group in self._archived:
                if group in self._folders:
                    self._store.delete(folder, recursive=True)
                    self._folders -= {group}
                continue
            try:
                archive = self._pack(group)
                self._keep(group, archive)
            except StateError as error:
                if error.code != "STATE_UNREADABLE":
                    raise
                _log.warning("%s cannot be archived: %s", self._store.child(folder), error)
                continue
            self._store.delete(folder, recursive=True)
            self._archived |= {group}
            return True
        return False

    def _pack(self, group: int) -> bytes:
        """The archive of a group, from its documents."""
        folder, epochs = self._files.folder_of(group), range(group * GROUP, (group + 1) * GROUP)
        names = {f"{folder}/{name}" for name in self._store.list(folder)}
        documents = [
            (epoch, kind, self._files.path(epoch, kind)) for epoch in epochs for kind in (PLAN, PREPARED, COMMIT)
        ]
        missing = [path for _, kind, path in documents if kind != PREPARED and path not in names]
        if missing:
            raise unreadable(
                self._store.child(missing[0]), "it is missing" + (", as others are" if missing[1:] else "")
            )
        documents = [each for each in documents if each[2] in names]
        found: dict[int, dict[str, Json]] = {epoch: {} for epoch in epochs}
        with ThreadPoolExecutor(_READERS) as readers:
            contents = readers.map(lambda each: self._store.read_json(each[2]), documents)
            for (epoch, kind, _), content in zip(documents, contents, strict=True):
                found[epoch][_name(kind)] = content
        return pack(found.items())

    def _keep(self, group: int, archive: bytes) -> None:
        """Create an archive, and make sure that the stored one has this content, whoever created it."""
        path = self._path(group)
        with contextlib.suppress(FileExistsError):
            self._store.create(path, archive)
        if self._lines(group) != unpack(archive):
            raise unreadable(self._store.child(path), "it differs from the documents of its epochs")

    def _look(self) -> list[int]:
        """List the groups, and remember those with an archive."""
        names = self._store.list(_FOLDER)
        self._folders = frozenset(int(name) for name in names if name.isdecimal())
        archives = (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))
        self._archived |= {int(name) for name in archives if name.isdecimal()}
        return sorted(self._folders | self._archived)

    def _line(self, epoch: int) -> Json:
        group = epoch // GROUP
        if self._opened is None or self._opened[0] != group:
            self._opened = group, self._lines(group)
        where = self._store.child(self._path(group))
        try:
            document: Json = json.loads(self._opened[1][epoch % GROUP])
        except (ValueError, IndexError) as error:
            raise unreadable(where, f"epoch {epoch}: {error}") from error
        if document.get("epoch") != epoch:
            raise unreadable(where, f"epoch {epoch} is not in its place")
        return document

    def _lines(self, group: int) -> list[bytes]:
        path = self._path(group)
        try:
            return unpack(self._store.read(path))
        except ValueError as error:
            raise unreadable(self._store.child(path), str(error)) from error

    def _path(self, group: int) -> str:
        return f"{self._files.folder_of(group)}{_ENDING}"


def _all(group: int, kinds: tuple[str, ...]) -> list[tuple[int, str]]:
    """The plans and commits of an archive, which has all of them."""
    return [(epoch, kind) for epoch in range(group * GROUP, (group + 1) * GROUP) for kind in sorted(kinds)]


def _name(kind: str) -> str:
    return kind.removesuffix(".json")
