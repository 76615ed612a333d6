"""A store on a local disk, or on a network disk that is mounted like one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airflow_dataflow_provider.progress.store.storage_errors import storage_errors
from airflow_dataflow_provider.progress.store.store import Names, Store, cannot_create

_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})

_DURABLE: Final = set[Path]()
"""Folders whose names this process has synced to the disk."""
_MOST_DURABLE: Final = 10_000


@dataclass(frozen=True, slots=True)
class LocalStore(Store):
    """A folder of this machine.

    Guarantees:
        After :meth:`write` and :meth:`create`, and after :meth:`add` and :meth:`sync`, the content of a file, its name
        and the names of its folders survive a power cut. A power cut may undo a deletion, unless :meth:`sync` follows.
    """

    def read(self, path: str) -> bytes:
        with storage_errors(self.child(path), "read", FileNotFoundError):
            return Path(self.child(path)).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Write a copy beside the file, and rename it."""
        target = Path(self.child(path))
        with storage_errors(self.child(path), "written"), self._staged(target, data) as staged:
            staged.replace(target)

    def create(self, path: str, data: bytes) -> None:
        """Write a copy beside the file, and link it: a link fails where the name is taken."""
        target = Path(self.child(path))
        with storage_errors(self.child(path), "written", FileExistsError), self._staged(target, data) as staged:
            try:
                target.hardlink_to(staged)  # unlike a rename, it fails where the target exists
            except OSError as error:
                if error.errno in _NO_HARD_LINKS:
                    raise cannot_create(self.url, f"it has no hard links ({error.strerror})") from error
                raise

    def add(self, path: str, data: bytes) -> None:
        target = Path(self.child(path))
        with storage_errors(self.child(path), "written"):
            self._make_folder(target.parent)
            _put(target, data)

    def sync(self, folder: str) -> None:
        with storage_errors(self.child(folder), "written", FileNotFoundError), contextlib.suppress(FileNotFoundError):
            _sync_folder(Path(self.child(folder)))

    def list(self, folder: str) -> Names:
        """List the folder, without the temporary files of crashed processes."""
        with storage_errors(self.child(folder), "listed", FileNotFoundError), contextlib.suppress(FileNotFoundError):
            return sorted(entry.name for entry in os.scandir(self.child(folder)) if not entry.name.startswith("."))
        return []

    def exists(self, path: str) -> bool:
        with (
            storage_errors(self.child(path), "read", FileNotFoundError, NotADirectoryError),
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
        ):
            Path(self.child(path)).stat()
            return True
        return False

    def delete(self, path: str, recursive: bool = False) -> None:
        target = Path(self.child(path))
        with storage_errors(self.child(path), "removed", FileNotFoundError), contextlib.suppress(FileNotFoundError):
            if recursive and target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink()

    def local_path(self, path: str) -> str | None:
        return self.child(path)

    @contextlib.contextmanager
    def _staged(self, target: Path, data: bytes) -> Iterator[Path]:
        """A complete copy on disk beside ``target``, deleted afterwards.

        If the process dies here, the leading dot hides the copy from :meth:`Store.list`.
        """
        staged = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        self._make_folder(target.parent)
        try:
            _put(staged, data)
            yield staged
        finally:
            staged.unlink(missing_ok=True)
        _sync_folder(target.parent)

    def _make_folder(self, folder: Path) -> None:
        """Create a folder if needed, and sync its name to the disk: the process that created it may have died.

        Existing folders above the state are not synced.
        """
        there = folder.is_dir()
        if there and (folder in _DURABLE or not folder.is_relative_to(self.url)):
            return
        self._make_folder(folder.parent)
        if not there:
            try:
                folder.mkdir(exist_ok=True)
            except FileExistsError as error:  # a file; for callers FileExistsError means an existing document
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
        if not there or folder != Path(self.url):
            _sync_folder(folder.parent)
        if len(_DURABLE) >= _MOST_DURABLE:
            _DURABLE.clear()
        _DURABLE.add(folder)


def _put(target: Path, data: bytes) -> None:
    with target.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Sync a folder, so that the names in it survive a power cut."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
