"""What is stored in a world: contents by path, some of it not safe from a power cut yet."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_dataflow_provider.model.time import Micros

STALE: Micros = 30_000_000
"""How old a listing can be."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of a path, since when, and whether its name survives a power cut."""

    data: bytes
    modified: Micros
    synced: bool = True


@dataclass(slots=True)
class Disk:
    """Paths with ``/`` and their contents. A folder is there as long as something is in it."""

    files: dict[str, Stored] = field(default_factory=dict)
    folders: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each folder the names in it, with how many files each stands for."""
    changes: list[tuple[Micros, str, Stored | None]] = field(default_factory=list)
    """What was there before each change, if somebody keeps book with :meth:`note`."""

    def note(self, path: str, now: Micros) -> None:
        """Remember what is at a path, which is about to change."""
        self.changes.append((now, path, self.files.get(path)))

    def before(self, time: Micros) -> Disk:
        """The disk as it was at a time."""
        then = Disk()
        for path, stored in self.files.items():
            then.put(path, stored.data, stored.modified)
        for at, path, before in reversed(self.changes):
            if at > time:
                then.remove(path)
                if before is not None:
                    then.put(path, before.data, before.modified)
        return then

    def put(self, path: str, data: bytes, now: Micros, *, synced: bool = True) -> None:
        """Write or replace."""
        if path not in self.files:
            for folder, name in _steps(path):
                within = self.folders.setdefault(folder, {})
                within[name] = within.get(name, 0) + 1
        self.files[path] = Stored(data, now, synced)

    def create(self, path: str, data: bytes, now: Micros) -> None:
        """Write what must not be there yet.

        Raises:
            FileExistsError: it is.
        """
        if path in self.files:
            raise FileExistsError(path)
        self.put(path, data, now)

    def get(self, path: str) -> Stored:
        """What is there.

        Raises:
            FileNotFoundError: nothing.
        """
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a path, or all below it; what is absent is fine."""
        for each in [path, *self.below(path)] if recursive else [path]:
            if self.files.pop(each, None) is None:
                continue
            for folder, name in _steps(each):
                within = self.folders[folder]
                within[name] -= 1
                if not within[name]:
                    del within[name]

    def below(self, folder: str) -> list[str]:
        """The paths below a folder."""
        prefix = f"{folder.rstrip('/')}/"
        return sorted(path for path in self.files if path.startswith(prefix))

    def names(self, folder: str) -> list[str]:
        """The names in a folder."""
        return sorted(self.folders.get(folder.rstrip("/"), ()))

    def is_folder(self, path: str) -> bool:
        """Whether something is below it."""
        return bool(self.folders.get(path.rstrip("/")))

    def sync(self, folder: str) -> None:
        """Make the names in a folder safe."""
        for name in self.names(folder):
            self._make_safe(f"{folder}/{name}")

    def lose_unsynced(self, chance: random.Random, share: float = 0.5) -> int:
        """A power cut: each name that is not safe is there afterwards, or not; how many are not."""
        unsafe = [path for path, stored in sorted(self.files.items()) if not stored.synced]
        lost = [path for path in unsafe if chance.random() < share]
        for path in unsafe:
            if path in lost:
                self.remove(path)
            else:
                self._make_safe(path)
        return len(lost)

    def _make_safe(self, path: str) -> None:
        stored = self.files.get(path)
        if stored is not None:
            self.files[path] = Stored(stored.data, stored.modified)


def _steps(path: str) -> Iterator[tuple[str, str]]:
    """Each folder on the way to a path, with the name that follows it."""
    parts = path.split("/")
    for number in range(1, len(parts)):
        yield "/".join(parts[:number]), parts[number]
