"""A folder of small documents, on a local disk or on an object store.

Everything in progress rests on two promises of :class:`Store`: a reader sees a whole document or none, and of several
who create the same document exactly one succeeds.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.storage_errors import storage_error

Json = dict[str, Any]
"""A JSON object."""
Names = list[str]
"""File names (:meth:`Store.list` hides the built-in inside the class)."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LOCAL = re.compile(r"(?:file|local):(?://)?")

_TRIES: Final = 3
"""How often a document may vanish between two looks before that is an error."""
_READ_BY_PEOPLE: Final = 2**16
"""Characters up to which a document is indented: Python does that a hundred times slower than the rest."""


@dataclass(frozen=True, slots=True)
class Store(ABC):
    """A folder at ``url``; every path is relative to it and uses ``/``.

    Guarantees:
        A document appears, and is replaced, as a whole. :meth:`create` succeeds once per path, whoever competes.
        On a local disk a document that was written survives a power cut. Every method raises ``STATE_STORAGE`` where
        the storage refuses: full, read-only, forbidden, away; no bare ``OSError`` but those that a method names.

    Does not do:
        Caching. Every call asks the filesystem.
    """

    url: str

    @staticmethod
    def open(url: str | os.PathLike[str]) -> Store:
        """The store at a plain path, a ``file://`` URL, or any URL of a filesystem that can create exclusively.

        Nothing is read or written. A relative local path becomes absolute.

        Raises:
            StateError: ``STATE_FILESYSTEM``, where the filesystem is unknown or cannot keep the store's promises.
        """
        from airflow_dataflow_provider.progress.store.local_store import LocalStore  # noqa: PLC0415 - they are Stores
        from airflow_dataflow_provider.progress.store.object_store import ObjectStore  # noqa: PLC0415

        text = os.fspath(url).strip()
        if not text:
            raise StateError("the state URL is empty", hint=STATE_HINT, code="STATE_FILESYSTEM")
        local = _LOCAL.match(text)
        if local or not _URL.match(text):
            path = Path(text[local.end() :] if local else text).expanduser().absolute()
            return LocalStore(os.path.normpath(path))
        return ObjectStore.at(text)

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The whole document.

        Raises:
            FileNotFoundError: there is none.
        """

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write or replace a document, atomically."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Write a document that must not be there yet, atomically.

        Raises:
            FileExistsError: a document is there, and untouched. It may be this one, where an answer was lost.
        """

    def add(self, path: str, data: bytes) -> None:
        """Write a data file under a name that nobody knows yet, as names with a random part are.

        It is no document: a reader that looks for it by its name may see half of it. Name it in a document once it is
        written, and :meth:`sync` its folder before.
        """
        self.write(path, data)

    def sync(self, folder: str) -> None:  # noqa: B027 - most stores have nothing to do
        """Make the names in a folder survive a power cut, where :meth:`add` and :meth:`delete` leave that open."""

    @abstractmethod
    def list(self, folder: str) -> Names:
        """The sorted names in a folder (documents and folders), without those that start with a dot.

        None if the folder is absent.
        """

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether the document or folder is there."""

    @abstractmethod
    def delete(self, path: str, recursive: bool = False) -> None:
        """Remove a document, or with ``recursive`` a folder; what is absent already is fine."""

    def child(self, path: str) -> str:
        """The full URL of a path (for a local store, the absolute path)."""
        return f"{self.url}/{path}"

    def local_path(self, path: str) -> str | None:  # noqa: ARG002 - most stores have none
        """The path as the operating system knows it, or None where the store is not local."""
        return None

    def read_json(self, path: str) -> Json:
        """The document as a JSON object.

        Raises:
            FileNotFoundError: there is none.
            StateError: ``STATE_UNREADABLE``, if it is no JSON object.
        """
        try:
            document = json.loads(self.read(path))
        except ValueError as error:
            raise unreadable(self.child(path), str(error)) from error
        if not isinstance(document, dict):
            raise unreadable(self.child(path), f"a JSON object is expected, not {type(document).__name__}")
        return document

    def write_json(self, path: str, document: Mapping[str, Any]) -> None:
        """:meth:`write` a JSON object, indented for people."""
        self.write(path, _encode(document))

    def put_if_absent(self, path: str, document: Mapping[str, Any]) -> Json:
        """:meth:`create` a JSON object, or read the one that was first.

        Returns:
            The object that stands: ``document``, or another's.
        """
        data = _encode(document)
        for _ in range(_TRIES):
            try:
                self.create(path, data)
            except FileExistsError:
                try:
                    return self.read_json(path)
                except FileNotFoundError:
                    continue  # somebody has removed it in between
            written: Json = json.loads(data)
            return written
        raise storage_error(self.child(path), "written", OSError("it is there and is not there, again and again"))


def _encode(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if len(text) <= _READ_BY_PEOPLE:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


STATE_HINT: Final = (
    'give a folder that the driver and Airflow both reach, for example "/data/flights" or "s3://bucket/flights"'
)


def unreadable(where: str, problem: str) -> StateError:
    """A file of the state is not what it should be."""
    return StateError(
        f"{where} cannot be read: {problem}",
        reason="it was not written by this package, or was changed since",
        hint="restore the file, or start anew at another state URL",
        code="STATE_UNREADABLE",
    )


def cannot_create(url: str, problem: str) -> StateError:
    """A filesystem does not keep the promise of :meth:`Store.create`."""
    return StateError(
        f"the state cannot live at {url!r}: {problem}",
        reason="two drivers could both believe that they own the pipeline",
        hint=STATE_HINT,
        code="STATE_FILESYSTEM",
    )
