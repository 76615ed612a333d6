"""The object store and the source of a world, as fsspec sees them: what S3 does, and what can go wrong with it.

A process keeps the listings that it has made, as ``s3fs`` does, until it writes there itself or is told to forget them.
"""

from __future__ import annotations

import datetime as dt
import io
from typing import TYPE_CHECKING, Any, ClassVar

from fsspec import AbstractFileSystem, register_implementation

from airflow_dataflow_provider.model.time import to_datetime
from tests.simulate.disk import STALE
from tests.simulate.faults import AT_A_LISTING

if TYPE_CHECKING:
    from tests.simulate.disk import Disk, Stored
    from tests.simulate.scheduler import Scheduler

PROTOCOL = "simulated"
SOURCE, STATE = "source", "state"
"""The two buckets."""


class SimulatedFiles(AbstractFileSystem):
    """``simulated://source/...`` and ``simulated://state/...`` of the world that is played at the moment."""

    protocol: ClassVar[str] = PROTOCOL
    cachable: ClassVar[bool] = False
    world: ClassVar[Scheduler | None] = None

    @property
    def _world(self) -> Scheduler:
        if self.world is None:
            raise RuntimeError("no world is played")
        return self.world

    def _disk(self, path: str) -> Disk:
        return self._world.source if path.split("/", maxsplit=1)[0] == SOURCE else self._world.state

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        path = self._strip_protocol(path)
        self._world.call(f"read {path}")
        stored = self._disk(path).get(path)
        strand = self._world.current
        if strand is not None and path.startswith(f"{SOURCE}/"):
            strand.process.read[path] = stored
        return stored.data[start:end]

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        path = self._strip_protocol(path)
        disk = self._disk(path)

        def effect() -> None:
            (disk.create if mode == "create" else disk.put)(path, bytes(value), self._world.now)

        self._world.write(f"{mode} {path}", effect)
        self.invalidate_cache(self._parent(path))

    def rm_file(self, path: str) -> None:
        path = self._strip_protocol(path)
        disk = self._disk(path)
        self._world.write(f"remove {path}", lambda: disk.remove(path))
        self.invalidate_cache(self._parent(path))

    def rm(self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None) -> None:  # noqa: ARG002 - what fsspec passes
        for each in [path] if isinstance(path, str) else path:
            name = self._strip_protocol(each)
            disk = self._disk(name)
            if name not in disk.files and not (recursive and disk.is_folder(name)):
                raise FileNotFoundError(name)
            self._world.write(f"remove {name}", lambda disk=disk, name=name: disk.remove(name, recursive=recursive))
        self.invalidate_cache()

    def ls(self, path: str, detail: bool = True, refresh: bool = False, **_: Any) -> list[Any]:
        path = self._strip_protocol(path).rstrip("/")
        self._world.call(f"list {path}")
        disk, kept = self._disk(path), self._listings
        found = None if refresh else kept.get(path)
        if found is None:
            found = kept[path] = self._listed(self._as_listed(disk), path)
        if not found:
            raise FileNotFoundError(path)
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path).rstrip("/")
        self._world.call(f"look at {path}")
        disk = self._disk(path)
        if path in disk.files:
            return _entry(path, disk.files[path])
        if disk.is_folder(path) or path in (SOURCE, STATE):
            return {"name": path, "type": "directory", "size": 0}
        raise FileNotFoundError(path)

    def exists(self, path: str, **_: Any) -> bool:
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def modified(self, path: str) -> dt.datetime:
        modified: dt.datetime = self.info(path)["LastModified"]
        return modified

    def created(self, path: str) -> dt.datetime:
        return self.modified(path)

    def invalidate_cache(self, path: str | None = None) -> None:
        if path is None:
            self._listings.clear()
        else:
            self._listings.pop(self._strip_protocol(path).rstrip("/"), None)

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BytesIO:
        if mode != "rb":
            raise NotImplementedError(mode)
        return io.BytesIO(self.cat_file(path))

    @property
    def _listings(self) -> dict[str, list[Any]]:
        strand = self._world.current
        return {} if strand is None or not self.dircache.use_listings_cache else strand.process.listings

    def _as_listed(self, disk: Disk) -> Disk:
        """A disk as a listing shows it: now, or where that is the process's fate, half a minute ago."""
        strand = self._world.current
        if strand is None or disk is not self._world.source or not strand.process.due("list", AT_A_LISTING):
            return disk
        self._world.faults.happened("stale listing")
        strand.process.saw_stale = True
        return disk.before(self._world.now - STALE)

    def _listed(self, disk: Disk, folder: str) -> list[dict[str, Any]]:
        paths = (f"{folder}/{name}" for name in disk.names(folder))
        return [
            _entry(path, disk.files[path]) if path in disk.files else {"name": path, "type": "directory", "size": 0}
            for path in paths
        ] or ([_entry(folder, disk.files[folder])] if folder in disk.files else [])


def _entry(path: str, stored: Stored) -> dict[str, Any]:
    modified = to_datetime(stored.modified)
    return {
        "name": path,
        "type": "file",
        "size": len(stored.data),
        "mtime": stored.modified / 1_000_000,
        "LastModified": modified,
        "created": modified,
        "ETag": f"{hash(stored.data):x}",
    }


register_implementation(PROTOCOL, SimulatedFiles, clobber=True)
