"""Names with numbers: documents, a thousand to a folder, and folders of data files, one a number.

Numbers have zeros in front, so that names sort as numbers do.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

from airflow_dataflow_provider.progress.store.store import Store

GROUP = 1_000
"""Numbers to a folder."""
_DIGITS = 12
"""Of an epoch's number."""


def epoch_name(epoch: int) -> str:
    """The number of an epoch as names of files and folders begin with it."""
    return f"{epoch:0{_DIGITS}d}"


@dataclass(frozen=True, slots=True)
class NumberedFiles:
    """Documents ``<folder>/<thousands>/<number>.<kind>``, found newest first without reading any.

    Costs:
        :meth:`newest_first` and :meth:`oldest_first` list one folder of folders, then one folder per thousand numbers.
    """

    store: Store
    folder: str
    digits: int = _DIGITS

    def path(self, number: int, kind: str) -> str:
        """The path of the document of this kind and number."""
        return f"{self.folder_of(number // GROUP)}/{number:0{self.digits}d}.{kind}"

    def folder_of(self, group: int) -> str:
        """The folder of a group of numbers: group 7 has those from 7,000 to 7,999."""
        return f"{self.folder}/{group:0{self.digits - 3}d}"

    def newest_first(self, *kinds: str) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents, from the greatest number down."""
        for group in reversed(self.groups()):
            yield from self.in_group(group, kinds, newest_first=True)

    def oldest_first(self, *kinds: str, since: int = 0) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents, from ``since`` up."""
        for group in self.groups():
            if group >= since // GROUP:
                yield from (entry for entry in self.in_group(group, kinds) if entry[0] >= since)

    def groups(self) -> list[int]:
        """The existing groups, in order."""
        return [int(name) for name in self.store.list(self.folder) if name.isdecimal()]

    def in_group(self, group: int, kinds: tuple[str, ...], *, newest_first: bool = False) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents in a group, in order."""
        names = self.store.list(self.folder_of(group))
        for name in reversed(names) if newest_first else names:
            found = re.fullmatch(r"(\d+)\.(.+)", name)
            if found is not None and found[2] in kinds:
                yield int(found[1]), found[2]


@dataclass(frozen=True, slots=True)
class EpochFolders:
    """The data files of epochs, ``<folder>/<epoch>/<name>``; names that are no epoch's belong to others."""

    store: Store
    folder: str

    def path(self, epoch: int) -> str:
        return f"{self.folder}/{epoch_name(epoch)}"

    def epochs(self) -> list[int]:
        """The epochs that have a folder, in order."""
        return [int(name) for name in self.store.list(self.folder) if len(name) == _DIGITS and name.isdecimal()]

    def names(self, epoch: int) -> list[str]:
        """The names in the folder of an epoch, which need not be there."""
        # S3 answers a listing of a folder that is not there with one of all its neighbours.
        return self.store.list(self.path(epoch)) if self.store.exists(self.path(epoch)) else []

    def remove_all_but(self, epoch: int, kept: Container[str], ending: str) -> None:
        """Remove the files of an epoch that have an ending and are not kept, and the folder if it is then empty.

        Args:
            epoch: whose files.
            kept: names within the folder of all epochs, ``<epoch>/<name>``.
            ending: of the names.
        """
        names = self.store.list(self.path(epoch))
        gone = [name for name in names if name.endswith(ending) and f"{epoch_name(epoch)}/{name}" not in kept]
        if names and len(gone) == len(names):
            self.remove(epoch)
            return
        for name in gone:
            self.store.delete(f"{self.path(epoch)}/{name}")

    def remove(self, epoch: int) -> None:
        """Remove the folder of an epoch."""
        self.store.delete(self.path(epoch), recursive=True)
