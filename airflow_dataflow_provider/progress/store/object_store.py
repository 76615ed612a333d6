"""A store on a filesystem of fsspec with exclusive creation: S3, Google and Azure storage, memory."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.storage_errors import storage_errors
from airflow_dataflow_provider.progress.store.store import STATE_HINT, Names, Store, cannot_create

_EXCLUSIVE: Final = frozenset({"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"})
"""Filesystems whose exclusive create is a single request. fsspec's default checks first and writes then."""

_MEMORY_LOCK: Final = threading.Lock()
"""Makes exclusive create atomic on ``memory://``, which belongs to one process and checks before it writes."""


@dataclass(frozen=True, slots=True)
class ObjectStore(Store):
    """A folder, which is a prefix of names, of a filesystem of fsspec."""

    root: str
    files: Any = field(repr=False)

    @classmethod
    def at(cls, url: str) -> ObjectStore:
        """The store at a URL; see :meth:`Store.open`."""
        from fsspec.core import url_to_fs  # noqa: PLC0415 - a tenth of a second that local stores need not pay

        url = url.rstrip("/")
        try:
            # Other processes write here, so a cached listing would be out of date.
            files, root = url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError, OSError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise StateError(
                f"the filesystem of the state URL {url!r} cannot be opened: {reason}",
                hint=STATE_HINT,
                code="STATE_FILESYSTEM",
            ) from error
        protocols = {files.protocol} if isinstance(files.protocol, str) else set(files.protocol)
        if not protocols & _EXCLUSIVE:
            raise cannot_create(
                url, f"fsspec cannot create exclusively and atomically on {'/'.join(sorted(protocols))}"
            )
        return cls(url, root.rstrip("/"), files)

    def read(self, path: str) -> bytes:
        with storage_errors(self.child(path), "read", FileNotFoundError):
            data: bytes = self.files.cat_file(self._key(path))
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put the object, which replaces it as a whole."""
        with storage_errors(self.child(path), "written"):
            self.files.pipe_file(self._key(path), data)

    def create(self, path: str, data: bytes) -> None:
        """Put the object on the condition that there is none (``If-None-Match: *``)."""
        with (
            storage_errors(self.child(path), "written", FileExistsError),
            _MEMORY_LOCK if self.files.protocol == "memory" else contextlib.nullcontext(),
        ):
            try:
                self.files.pipe_file(self._key(path), data, mode="create")
            except FileExistsError:
                raise
            except Exception as error:
                # The answer may have been lost, or fsspec may not know this form of the refusal.
                if self.files.exists(self._key(path)):
                    raise FileExistsError(self.child(path)) from error
                raise

    def list(self, folder: str) -> Names:
        """List the objects and prefixes below a prefix."""
        key = self._key(folder)
        with storage_errors(self.child(folder), "listed", FileNotFoundError), contextlib.suppress(FileNotFoundError):
            entries = self.files.ls(key, detail=False)
            names = {entry.rstrip("/").removeprefix(key).strip("/") for entry in entries}
            return sorted(name for name in names if name and not name.startswith("."))  # some list the folder itself
        return []

    def exists(self, path: str) -> bool:
        """Look for an object, or a prefix with objects."""
        with storage_errors(self.child(path), "read"):
            return bool(self.files.exists(self._key(path)))

    def delete(self, path: str, recursive: bool = False) -> None:
        """Delete the object, or all below a prefix."""
        with storage_errors(self.child(path), "removed", FileNotFoundError), contextlib.suppress(FileNotFoundError):
            if recursive:
                self.files.rm(self._key(path), recursive=True)
            else:
                self.files.rm_file(self._key(path))

    def _key(self, path: str) -> str:
        return f"{self.root}/{path}".rstrip("/")
