"""A folder of small documents, on a local disk or on an object store.

Everything in progress rests on two promises of :class:`Store`: a reader sees a whole document or none, and of several
who create the same document exactly one succeeds.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from airflow_dataflow_provider.model.errors import StateError

Json = dict[str, Any]
"""A JSON object."""
Names = list[str]
"""File names (:meth:`Store.list` hides the built-in inside the class)."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LOCAL = re.compile(r"(?:file|local):(?://)?")

_EXCLUSIVE: Final = frozenset({"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"})
"""Filesystems whose exclusive create is a single request. fsspec's own default looks first and writes then."""

_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})

_MEMORY_LOCK: Final = threading.Lock()
"""``memory://`` is this process's alone, and looks before it writes: a lock makes its exclusive create atomic."""


@dataclass(frozen=True, slots=True)
class Store(ABC):
    """A folder at ``url``; every path is relative to it and uses ``/``.

    Guarantees:
        A document appears, and is replaced, as a whole. :meth:`create` succeeds once per path, whoever competes.
        On a local disk a document that was written survives a power cut.

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
        text = os.fspath(url).strip()
        if not text:
            raise StateError("the state URL is empty", todo=_STATE_HINT, code="STATE_FILESYSTEM")
        local = _LOCAL.match(text)
        if local or not _URL.match(text):
            path = Path(text[local.end() :] if local else text).expanduser().absolute()
            return _LocalStore(os.path.normpath(path))
        return _ObjectStore.at(text)

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
            FileExistsError: somebody was first; their document is untouched.
        """

    def add(self, path: str, data: bytes) -> None:
        """Write a data file under a name that nobody knows yet, as names with a random part are.

        It is no document: a reader that looks for it by its name may see half of it. Name it in a document once it is
        written, and :meth:`sync` its folder before.
        """
        self.write(path, data)

    def sync(self, folder: str) -> None:  # noqa: B027 - most stores have nothing to do
        """Make the names in a folder survive a power cut, where :meth:`add` leaves that open."""

    @abstractmethod
    def list(self, folder: str) -> Names:
        """The sorted names in a folder (documents and folders); none if the folder is absent."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether the document or folder is there."""

    @abstractmethod
    def delete(self, path: str, recursive: bool = False) -> None:
        """Remove a document, or with ``recursive`` a folder; what is absent already is fine."""

    def child(self, path: str) -> str:
        """The full URL of a path (for a local store, the absolute path)."""
        return f"{self.url}/{path}"

    def local_path(self, path: str) -> str | None:
        """The path as the operating system knows it, or None where the store is not local."""
        return self.child(path) if isinstance(self, _LocalStore) else None

    def read_json(self, path: str) -> Json:
        """The document as a JSON object.

        Raises:
            FileNotFoundError: there is none.
            StateError: ``STATE_UNREADABLE``, if it is no JSON object.
        """
        try:
            document = json.loads(self.read(path))
        except ValueError as error:
            raise _unreadable(self.child(path), str(error)) from error
        if not isinstance(document, dict):
            raise _unreadable(self.child(path), f"a JSON object is expected, not {type(document).__name__}")
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
        try:
            self.create(path, data)
        except FileExistsError:
            return self.read_json(path)
        written: Json = json.loads(data)
        return written


@dataclass(frozen=True, slots=True)
class _LocalStore(Store):
    """A folder of this machine, or of a network disk that is mounted on it."""

    def read(self, path: str) -> bytes:
        return Path(self.child(path)).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        target = Path(self.child(path))
        with _staged(target, data) as staged:
            staged.replace(target)

    def create(self, path: str, data: bytes) -> None:
        target = Path(self.child(path))
        with _staged(target, data) as staged:
            try:
                target.hardlink_to(staged)  # unlike a rename, it fails where the target exists
            except OSError as error:
                if error.errno in _NO_HARD_LINKS:
                    raise _cannot_create(self.url, f"it has no hard links ({error.strerror})") from error
                raise

    def add(self, path: str, data: bytes) -> None:
        target = Path(self.child(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(target, data)

    def sync(self, folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            _sync_folder(Path(self.child(folder)))

    def list(self, folder: str) -> Names:
        try:
            return sorted(entry.name for entry in os.scandir(self.child(folder)) if not entry.name.startswith("."))
        except FileNotFoundError:
            return []

    def exists(self, path: str) -> bool:
        return Path(self.child(path)).exists()

    def delete(self, path: str, recursive: bool = False) -> None:
        target = Path(self.child(path))
        with contextlib.suppress(FileNotFoundError):
            if recursive and target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink()


@contextlib.contextmanager
def _staged(target: Path, data: bytes) -> Iterator[Path]:
    """A complete copy on disk beside ``target``, to be put in its place; what is left of it is removed.

    The leading dot hides it from :meth:`Store.list`, should the process die here.
    """
    staged = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _put(staged, data)
        yield staged
    finally:
        staged.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _put(target: Path, data: bytes) -> None:
    with target.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """The names in it have to survive a power cut, not only the content of the files."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class _ObjectStore(Store):
    """A folder of anything that fsspec knows and :data:`_EXCLUSIVE` admits."""

    root: str
    files: Any = field(repr=False)

    @classmethod
    def at(cls, url: str) -> _ObjectStore:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - a tenth of a second that local stores need not pay

        url = url.rstrip("/")
        try:
            files, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise StateError(
                f"the filesystem of the state URL {url!r} cannot be opened: {error}",
                todo=_STATE_HINT,
                code="STATE_FILESYSTEM",
            ) from error
        protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
        if not protocols & _EXCLUSIVE:
            raise _cannot_create(
                url, f"fsspec cannot create exclusively and atomically on {'/'.join(sorted(protocols))}"
            )
        return cls(url, root.rstrip("/"), files)

    def read(self, path: str) -> bytes:
        data: bytes = self.files.cat_file(self._key(path))
        return data

    def write(self, path: str, data: bytes) -> None:
        self.files.pipe_file(self._key(path), data)

    def create(self, path: str, data: bytes) -> None:
        with _MEMORY_LOCK if self.files.protocol == "memory" else contextlib.nullcontext():
            self.files.pipe_file(self._key(path), data, mode="create")

    def list(self, folder: str) -> Names:
        key = self._key(folder)
        self.files.invalidate_cache()  # another process may have written since
        try:
            entries = self.files.ls(key, detail=False)
        except FileNotFoundError:
            return []
        names = {entry.rstrip("/").removeprefix(key).strip("/") for entry in entries}
        return sorted(name for name in names if name)  # some stores list the folder itself

    def exists(self, path: str) -> bool:
        self.files.invalidate_cache()
        return bool(self.files.exists(self._key(path)))

    def delete(self, path: str, recursive: bool = False) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.files.rm(self._key(path), recursive=recursive)

    def _key(self, path: str) -> str:
        return f"{self.root}/{path}".rstrip("/")


def _encode(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


_STATE_HINT = (
    'give a folder that the driver and Airflow both reach, for example "/data/flights" or "s3://bucket/flights"'
)


def _unreadable(where: str, problem: str) -> StateError:
    return StateError(
        f"{where} cannot be read: {problem}",
        why="it was not written by this package, or was changed since",
        todo="restore the file, or start anew at another state URL",
        code="STATE_UNREADABLE",
    )


def _cannot_create(url: str, problem: str) -> StateError:
    return StateError(
        f"the state cannot live at {url!r}: {problem}",
        why="two drivers could both believe that they own the pipeline",
        todo=_STATE_HINT,
        code="STATE_FILESYSTEM",
    )
