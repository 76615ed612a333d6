"""A folder of small documents, on a local disk or on an object store.

The epoch log and ownership depend on two guarantees of :class:`Store`: a reader sees a whole document or none, and of
several processes that create the same document exactly one succeeds.
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
"""The number of tries to create a document that is deleted between creation and read."""
_LONGEST_INDENTED: Final = 2**16
"""The greatest length in characters of a document that is indented, which is a hundred times slower."""


@dataclass(frozen=True, slots=True)
class Store(ABC):
    """A folder at ``url``; every path is relative to it and uses ``/``.

    Guarantees:
        A document is created and replaced atomically. Of concurrent :meth:`create` calls for one path, one succeeds. On
        a local disk a written document survives a power cut. Every method raises ``STATE_STORAGE`` for errors of the
        storage (full, read-only, forbidden, unavailable), and no ``OSError`` but those that it documents.

    Does not do:
        Caching. Every call goes to the filesystem.
    """

    url: str

    @staticmethod
    def open(url: str | os.PathLike[str]) -> Store:
        """The store at a plain path, a ``file://`` URL, or a URL of a filesystem with exclusive creation.

        Nothing is read or written. A relative local path becomes absolute.

        Raises:
            StateError: ``STATE_FILESYSTEM``, where the filesystem is unknown or has no exclusive creation.
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
        """Read the whole document.

        Raises:
            FileNotFoundError: it does not exist.
        """

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write or replace a document, atomically."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Write a document that must not exist yet, atomically.

        Raises:
            FileExistsError: the document exists, and is not changed. It may be this one, if an answer was lost.
        """

    def add(self, path: str, data: bytes) -> None:
        """Write a data file under a new name, for example one with a random part.

        It is not written atomically. Call :meth:`sync` for its folder before a document names the file.
        """
        self.write(path, data)

    def sync(self, folder: str) -> None:  # noqa: B027 - most stores have nothing to do
        """Make the names in a folder survive a power cut, which :meth:`add` and :meth:`delete` do not."""

    @abstractmethod
    def list(self, folder: str) -> Names:
        """The sorted names in a folder (documents and folders), without those that start with a dot.

        It is empty if the folder does not exist.
        """

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether the document or folder exists."""

    @abstractmethod
    def delete(self, path: str, recursive: bool = False) -> None:
        """Delete a document, or with ``recursive`` a folder, if it exists."""

    def child(self, path: str) -> str:
        """The full URL of a path (for a local store, the absolute path)."""
        return f"{self.url}/{path}"

    def local_path(self, path: str) -> str | None:  # noqa: ARG002 - most stores have none
        """The path in the operating system, or None where the store is not local."""
        return None

    def read_json(self, path: str) -> Json:
        """The document as a JSON object.

        Raises:
            FileNotFoundError: it does not exist.
            StateError: ``STATE_UNREADABLE``, if it is not a JSON object.
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
        """:meth:`create` a JSON object, or read the existing one.

        Returns:
            The stored object: ``document``, or an existing one.
        """
        data = _encode(document)
        for _ in range(_TRIES):
            try:
                self.create(path, data)
            except FileExistsError:
                try:
                    return self.read_json(path)
                except FileNotFoundError:
                    continue  # it was deleted in between
            written: Json = json.loads(data)
            return written
        raise storage_error(self.child(path), "written", OSError("it was repeatedly created and deleted meanwhile"))


def _encode(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if len(text) <= _LONGEST_INDENTED:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


STATE_HINT: Final = (
    'give a folder that both the driver and Airflow can reach, for example "/data/flights" or "s3://bucket/flights"'
)


def unreadable(where: str, problem: str) -> StateError:
    """The error for a file of the state that cannot be parsed."""
    return StateError(
        f"{where} cannot be read: {problem}",
        reason="it was not written by this package, or was changed since",
        hint="restore the file, or start anew at another state URL",
        code="STATE_UNREADABLE",
    )


def cannot_create(url: str, problem: str) -> StateError:
    """The error for a filesystem without exclusive creation."""
    return StateError(
        f"the state cannot be stored at {url!r}: {problem}",
        reason="two drivers could both believe that they own the pipeline",
        hint=STATE_HINT,
        code="STATE_FILESYSTEM",
    )
