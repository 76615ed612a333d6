"""The protocol of window strategies: the paper's ``AssignWindows`` and ``MergeWindows`` (section 2.2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from airflow_dataflow_provider.model.described import Described
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.windows.window import Key, Window

NO_ROW: Mapping[str, Any] = MappingProxyType({})
Merged = tuple[Window, frozenset[Window]]
"""A merged window of one key, and the windows that it is made of."""


class WindowStrategy(Described, ABC):
    """Assigns windows to elements.

    A user's own strategy overrides :meth:`assign` and, where windows of one key depend on each other, :meth:`merge`.
    Engines call it for each element, which is slow. It must be a value: frozen, picklable, with a ``repr`` that shows
    all its parameters. A state cannot be used with another strategy.
    """

    __slots__ = ()

    merges: bool = False
    """Whether open windows of a key can merge."""
    may_shrink: bool = True
    """Whether a merged window can end earlier than one of its parts. Set it to False where this cannot happen: windows
    of the next grouping can then expire."""
    columns: tuple[str, ...] = ()
    """The input columns that :meth:`assign` reads, besides the event time and the key."""

    @property
    def longest(self) -> Micros | None:
        """The longest time from an element to the end of a window of it, in microseconds; None: unknown."""
        return None

    @abstractmethod
    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> Sequence[Window]:
        """The windows of an element: any number of them, possibly none.

        Args:
            event_time: its event time, in microseconds.
            key: its key.
            row: its columns; an engine may pass only those in :attr:`columns`.
        """

    def merge(self, windows: Iterable[Window]) -> Sequence[Merged]:
        """Merge a key's windows: its open windows and those of new elements. By default they do not merge.

        Every window must be part of exactly one result.
        """
        return [(window, frozenset({window})) for window in windows]
