"""The file systems of sources: what is in a folder, and in which version a file is there.

Local folders are listed by the operating system, all others through fsspec. A local folder whose modification time has
stood still for a while is not listed again until it changes.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from airflow_dataflow_provider.model.errors import DataError, SubmissionError
from airflow_dataflow_provider.progress.log.split import Split

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.sources.read_splits import ReadSplits

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LOCAL = re.compile(r"(?:file|local):(?://)?")
_QUIET_AFTER = 60.0
"""Seconds, by this process's own clock, that a folder's modification time has to stand still before it is trusted."""
_TRUSTED_FOR = 600.0
"""Seconds after which a quiet folder is listed all the same: some mounts do not keep modification times of folders."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What is in a folder: its subfolders, and its files with their versions."""

    folders: tuple[str, ...]
    files: tuple[Split, ...]


class FileSystem(Protocol):
    """What a listing asks of a file system."""

    def entries(self, folder: str, read: ReadSplits | None) -> Entries:
        """What is in a folder, hidden names aside, without the files that are read; nothing where there is none."""

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this name."""

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name."""

    def version(self, path: str) -> Split | None:
        """The file as it is now; None where it is away."""

    changed: list[Split]
    """Files that were read, and have another version now than when they were planned."""


def is_there(split: Split) -> bool:
    """Whether a file is there in the version that was planned.

    Raises:
        DataError: ``DATA_FILE_CHANGED`` where it is there in another version.
        SubmissionError: ``SOURCE_UNREADABLE``.
    """
    now = version_now(split.path)
    if now is None:
        return False
    if now != split:
        raise DataError(
            f"{split.path} has changed since it was planned ({split.size:,} bytes then, {now.size:,} now)",
            reason="rows of two versions of a file could be mixed",
            hint="write files elsewhere and rename them into place; the next run reads the file as it is then",
            code="DATA_FILE_CHANGED",
        )
    return True


def version_now(path: str) -> Split | None:
    """The version in which a file is there now; None where it is away.

    Raises:
        SubmissionError: ``SOURCE_UNREADABLE``.
    """
    files, path = file_system(path, time.monotonic)
    return files.version(path)


def away(split: Split) -> DataError:
    """A file that was planned and cannot be left out."""
    return DataError(
        f"{split.path} was there when the run began, and is away now",
        reason="an interval that is computed without it would lack its rows",
        hint="run it again once the file is back, or without it",
        code="DATA_FILE_AWAY",
    )


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def file_system(path: str, monotonic: Callable[[], float]) -> tuple[FileSystem, str]:
    """The file system of a path or URL, and the path as that one knows it."""
    local = _LOCAL.match(path)
    if local or not _SCHEME.match(path):
        plain = path[local.end() :] if local else path
        return LocalFiles(monotonic), os.path.abspath(os.path.expanduser(plain))  # noqa: PTH100, PTH111 - patterns
    import fsspec  # noqa: PLC0415 - a tenth of a second that local sources need not pay

    files, root = fsspec.core.url_to_fs(path)
    return RemoteFiles(files), str(root).rstrip("/")


@dataclass(slots=True)
class _Known:
    """What a folder held when it was last listed.

    Attributes:
        modified: its modification time then, in nanoseconds.
        quiet_since: when that time was first seen.
        listed_at: when the folder was listed.
        entries: what it held, without what was read then.
    """

    modified: int
    quiet_since: float
    listed_at: float
    entries: Entries


@dataclass(slots=True)
class LocalFiles:
    """Folders of this machine, or of a network disk that is mounted on it."""

    monotonic: Callable[[], float]
    changed: list[Split] = field(default_factory=list)
    _known: dict[str, _Known] = field(default_factory=dict)

    def entries(self, folder: str, read: ReadSplits | None) -> Entries:
        """What is in a folder; a quiet one is not looked into again."""
        with _readable(folder):
            try:
                modified = os.stat(folder).st_mtime_ns  # noqa: PTH116 - a million times
            except (FileNotFoundError, NotADirectoryError):
                self._known.pop(folder, None)
                return Entries((), ())
            if read is None:
                return self._scan(folder, None)
            now, known = self.monotonic(), self._known.get(folder)
            if known is None or known.modified != modified:
                known = _Known(modified, now, now, self._scan(folder, read, compare=known is None))
            elif now - known.quiet_since < _QUIET_AFTER or now - known.listed_at > _TRUSTED_FOR:
                known.entries, known.listed_at = self._scan(folder, read), now
            else:
                files = tuple(split for split in known.entries.files if split.path not in read)
                known.entries = Entries(known.entries.folders, files)
            self._known[folder] = known
            return known.entries

    def _scan(self, folder: str, read: ReadSplits | None, *, compare: bool = False) -> Entries:
        """List a folder.

        Args:
            folder: which.
            read: what is left out of the answer.
            compare: look whether what was read is still what it was, too; that costs a look at each file.
        """
        folders, files = list[str](), list[Split]()
        base = folder.rstrip("/")
        known = {} if read is None else read.within(base)
        with os.scandir(folder) as found:
            for entry in found:
                name = entry.name
                version = known.get(name)
                if _is_hidden(name) or (version is not None and not compare):
                    continue
                path = f"{base}/{name}"
                try:
                    if version is not None:
                        status = entry.stat()
                        if version != (status.st_size, status.st_mtime_ns // 1_000):
                            self.changed.append(_local_version(path, status))
                    elif entry.is_dir():
                        if not (entry.is_symlink() and _is_above(path, base)):
                            folders.append(path)
                    elif entry.is_file():
                        files.append(_local_version(path, entry.stat()))
                except FileNotFoundError:
                    continue  # it went away meanwhile
        return Entries(tuple(sorted(folders)), tuple(files))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this name."""
        return os.path.isdir(path)  # noqa: PTH112 - the path may hold what pathlib normalises away

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name."""
        return os.path.lexists(path)

    def version(self, path: str) -> Split | None:
        """The file as it is now."""
        with _readable(path):
            try:
                status = os.stat(path)  # noqa: PTH116
            except (FileNotFoundError, NotADirectoryError):
                return None
            return _local_version(path, status)


def _local_version(path: str, status: os.stat_result) -> Split:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SubmissionError(
            f"the file name {path!r} is not UTF-8",
            reason="the epoch log could not name it",
            hint="rename the file",
            code="SOURCE_FILE_NAME",
        ) from None
    return Split(path, status.st_size, status.st_mtime_ns // 1_000)


def _is_above(link: str, folder: str) -> bool:
    """Whether a link leads to a folder that it is in: following it would never end."""
    target = os.path.realpath(link)
    return f"{os.path.realpath(folder)}/".startswith(f"{target}/")


@dataclass(slots=True)
class RemoteFiles:
    """Folders of anything that fsspec knows."""

    files: Any
    changed: list[Split] = field(default_factory=list)

    def entries(self, folder: str, read: ReadSplits | None) -> Entries:
        """What is in a folder, as the store lists it now."""
        self.files.invalidate_cache()
        with _readable(folder):
            try:
                found = self.files.ls(folder, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return Entries((), ())
        folders, files = list[str](), list[Split]()
        for entry in found:
            path = entry["name"].rstrip("/")
            if path == folder or _is_hidden(PurePosixPath(path).name):
                continue
            if entry["type"] == "directory":
                folders.append(path)
            else:
                split = self._split(entry)
                if read is None or split.path not in read:
                    files.append(split)
                elif not read.has_version(split) and split not in self.changed:
                    self.changed.append(split)
        return Entries(tuple(sorted(folders)), tuple(files))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this name."""
        with _readable(path):
            return bool(self.files.isdir(path))

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name."""
        self.files.invalidate_cache()
        with _readable(path):
            return bool(self.files.exists(path))

    def version(self, path: str) -> Split | None:
        """The file as it is now."""
        self.files.invalidate_cache()
        with _readable(path):
            try:
                return self._split(self.files.info(path))
            except FileNotFoundError:
                return None

    def _split(self, entry: dict[str, Any]) -> Split:
        return Split(str(self.files.unstrip_protocol(entry["name"])), entry["size"] or 0, _modified(entry))


_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
"""What file systems call the time of a file's last modification."""


def _modified(entry: dict[str, Any]) -> Micros:
    found = next((entry[name] for name in _MODIFIED if entry.get(name) is not None), None)
    if isinstance(found, str):
        try:
            found = dt.datetime.fromisoformat(found)
        except ValueError:
            return 0
    if isinstance(found, dt.datetime):
        found = found.timestamp()
    return int(found * 1_000_000) if isinstance(found, int | float) else 0


class _readable:  # noqa: N801 - a context, used as one
    """Say which folder of a source could not be read."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError):
            raise SubmissionError(
                f"{self._path} cannot be read: {error.strerror or error}",
                reason="files in it would be passed over without a word",
                hint="give the driver's user the right to list and read it, or mend the mount",
                code="SOURCE_UNREADABLE",
            ) from error
