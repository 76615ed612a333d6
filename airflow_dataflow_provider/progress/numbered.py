"""Documents with consecutive numbers, a thousand to a folder, found newest first without reading any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_dataflow_provider.progress.store import Store

_GROUP = 1_000


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
        return f"{self.folder}/{number // _GROUP:0{self.digits - 3}d}/{number:0{self.digits}d}.{kind}"

    def newest_first(self, *kinds: str) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents there are, from the greatest number down."""
        for group in reversed(self._groups()):
            yield from reversed(self._entries(group, kinds))

    def oldest_first(self, *kinds: str, since: int = 0) -> Iterator[tuple[int, str]]:
        """The ``(number, kind)`` of the documents there are, from ``since`` up."""
        for group in self._groups():
            if int(group) >= since // _GROUP:
                yield from (entry for entry in self._entries(group, kinds) if entry[0] >= since)

    def _groups(self) -> list[str]:
        return [name for name in self.store.list(self.folder) if name.isdecimal()]

    def _entries(self, group: str, kinds: tuple[str, ...]) -> list[tuple[int, str]]:
        names = (re.fullmatch(r"(\d+)\.(.+)", name) for name in self.store.list(f"{self.folder}/{group}"))
        return [(int(name[1]), name[2]) for name in names if name and name[2] in kinds]
