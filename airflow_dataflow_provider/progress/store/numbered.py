"""Documents with consecutive numbers, a thousand to a folder, found newest first without reading any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_dataflow_provider.progress.store.store import Store

GROUP = 1_000
"""Numbers to a folder."""


@dataclass(frozen=True, slots=True)
class NumberedFiles:
    """Documents ``<folder>/<thousands>/<number>.<kind>``, with zeros in front, so that names sort as numbers do.

    Costs:
        :meth:`newest_first` and :meth:`oldest_first` list one folder of folders, then one folder per thousand numbers.
    """

    store: Store
    folder: str
    digits: int

    def path(self, number: int, kind: str) -> str:
        """Where the document of this kind and number is."""
        return f"{self.folder_of(number // GROUP)}/{number:0{self.digits}d}.{kind}"

    def folder_of(self, group: int) -> str:
        """Where the documents of a group of numbers are: group 7 has those from 7,000 to 7,999."""
        return f"{self.folder}/{group:0{self.digits - 3}d}"

    def newest_first(self, *kinds: str) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents there are, from the greatest number down."""
        for group in reversed(self.groups()):
            yield from self.in_group(group, kinds, newest_first=True)

    def oldest_first(self, *kinds: str, since: int = 0) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents there are, from ``since`` up."""
        for group in self.groups():
            if group >= since // GROUP:
                yield from (entry for entry in self.in_group(group, kinds) if entry[0] >= since)

    def groups(self) -> list[int]:
        """The groups that there are, in order."""
        return [int(name) for name in self.store.list(self.folder) if name.isdecimal()]

    def in_group(self, group: int, kinds: tuple[str, ...], *, newest_first: bool = False) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents in a group, in order."""
        names = self.store.list(self.folder_of(group))
        for name in reversed(names) if newest_first else names:
            found = re.fullmatch(r"(\d+)\.(.+)", name)
            if found is not None and found[2] in kinds:
                yield int(found[1]), found[2]
