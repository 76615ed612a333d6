"""Listing a file source: which splits there are, and which of them no epoch has read."""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.file_formats import alternatives
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.spark.sources.file_systems import Entries, file_system

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files
    from airflow_dataflow_provider.spark.sources.read_splits import ReadSplits

_GLOB = re.compile(r"[*?\[{]")
_ANY_FOLDERS = "**"


class SourceListing:
    """The splits of a file source.

    A path is a file, a folder (all files of the source's format below it) or a pattern: ``*``, ``?``, ``[...]``,
    ``{a,b}`` and ``**``, the last one for any number of folders. A path that exists as it is written is no pattern.
    Names that begin with ``_`` or ``.`` are hidden.

    Args:
        source: what is listed.
        monotonic: a clock that never goes back, in seconds.
    """

    def __init__(self, source: Files, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self._in_folder = f"*.{source.file_format.endings[0]}"
        self._files, path = file_system(source.path, monotonic)
        self._patterns = list(self._split_up(path))
        self._fixed = [folder for folder, _ in self._patterns] if _GLOB.search(path) else [path]

    def check(self) -> None:
        """Refuse a source whose folder is not there.

        Raises:
            SubmissionError: ``SOURCE_NOT_FOUND``, ``SOURCE_UNREADABLE``.
        """
        if not any(self._files.exists(path) for path in self._fixed):
            raise SubmissionError(
                f"the source path {self.source.path!r} does not exist ({self._fixed[0]} is not there)",
                reason="a mistyped path would look like a source without data",
                hint="correct the path, or create the folder before the pipeline starts",
                code="SOURCE_NOT_FOUND",
            )

    def is_empty(self) -> bool:
        """Whether there is no split at all.

        Raises:
            SubmissionError: ``SOURCE_UNREADABLE``, ``SOURCE_FILE_NAME``.
        """
        return next(self._walk(None), None) is None

    def everything(self) -> list[Split]:
        """Every split that is there, in the order of names.

        Raises:
            SubmissionError: ``SOURCE_UNREADABLE``, ``SOURCE_FILE_NAME``.
        """
        return sorted(self._walk(None))

    def unread(self, read: ReadSplits) -> list[Split]:
        """The splits that no epoch has read, oldest first.

        Raises:
            SubmissionError: ``SOURCE_UNREADABLE``, ``SOURCE_FILE_NAME``.
        """
        return sorted(self._walk(read), key=lambda split: (split.modified, split.path))

    @property
    def changed(self) -> list[Split]:
        """The files that have changed since they were read, as far as this listing has seen them."""
        return self._files.changed

    def _split_up(self, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """A folder without wildcards, and the patterns of the names below it, for each pattern that the path means."""
        if not _GLOB.search(path) or self._files.exists(path):
            if self._files.is_folder(path):
                yield path, (_ANY_FOLDERS, self._in_folder)
            else:
                folder, _, name = path.rpartition("/")
                yield folder or "/", (_literal(name),)
            return
        for pattern in alternatives(path):
            names = pattern.split("/")
            first = next((number for number, name in enumerate(names) if _GLOB.search(name)), len(names) - 1)
            yield "/".join(names[:first]) or "/", tuple(names[first:])

    def _walk(self, read: ReadSplits | None) -> Iterator[Split]:
        if len(self._patterns) == 1:
            yield from self._below(*self._patterns[0], read)
            return
        seen: set[str] = set()
        for folder, names in self._patterns:
            for split in self._below(folder, names, read):
                if split.path not in seen:
                    seen.add(split.path)
                    yield split

    def _below(self, folder: str, names: Sequence[str], read: ReadSplits | None) -> Iterator[Split]:
        entries = self._files.entries(folder, read)
        if names[0] != _ANY_FOLDERS:
            yield from self._matching(entries, names, read)
            return
        rest = names[1:]
        yield from self._matching(entries, rest, read) if rest else entries.files
        for inner in entries.folders:
            yield from self._below(inner, names, read)

    def _matching(self, entries: Entries, names: Sequence[str], read: ReadSplits | None) -> Iterator[Split]:
        name, *rest = names
        matches = _matcher(name)
        for inner in entries.folders:
            if matches(PurePosixPath(inner).name):
                # A pattern that ends in a folder means the files below it.
                yield from self._below(inner, rest or (_ANY_FOLDERS, self._in_folder), read)
        if not rest:
            yield from (split for split in entries.files if matches(PurePosixPath(split.path).name))


def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(pattern)).match


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
