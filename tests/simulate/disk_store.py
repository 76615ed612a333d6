"""The local disk of a world behind a ``Store``: what the store's contract allows.

A document that was written survives a power cut. A data file does so once its folder was synced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_dataflow_provider.progress.store.storage_errors import storage_errors
from airflow_dataflow_provider.progress.store.store import Names, Store

if TYPE_CHECKING:
    from tests.simulate.scheduler import Scheduler

SCHEME = "simulated-disk://"


@dataclass(frozen=True, slots=True)
class DiskStore(Store):
    """A folder on the disk of a world, at ``simulated-disk://...``."""

    world: Scheduler = field(repr=False, compare=False)

    def read(self, path: str) -> bytes:
        with storage_errors(self.child(path), "read", FileNotFoundError):
            self.world.call(f"read {path}")
            return self.world.state.get(self._at(path)).data

    def write(self, path: str, data: bytes) -> None:
        self._do("write", path, lambda: self.world.state.put(self._at(path), data, self.world.now))

    def create(self, path: str, data: bytes) -> None:
        self._do("create", path, lambda: self.world.state.create(self._at(path), data, self.world.now))

    def add(self, path: str, data: bytes) -> None:
        self._do("add", path, lambda: self.world.state.put(self._at(path), data, self.world.now, synced=False))

    def sync(self, folder: str) -> None:
        self._do("sync", folder, lambda: self.world.state.sync(self._at(folder)))

    def list(self, folder: str) -> Names:
        with storage_errors(self.child(folder), "listed"):
            self.world.call(f"list {folder}")
            return self.world.state.names(self._at(folder))

    def exists(self, path: str) -> bool:
        with storage_errors(self.child(path), "read"):
            self.world.call(f"look at {path}")
            at = self._at(path)
            return at in self.world.state.files or self.world.state.is_folder(at)

    def delete(self, path: str, recursive: bool = False) -> None:
        self._do("remove", path, lambda: self.world.state.remove(self._at(path), recursive=recursive))

    def _do(self, what: str, path: str, effect: Callable[[], None]) -> None:
        with storage_errors(self.child(path), "written", FileExistsError):
            self.world.write(f"{what} {path}", effect)

    def _at(self, path: str) -> str:
        return f"{self.url.removeprefix(SCHEME)}/{path}".rstrip("/")
