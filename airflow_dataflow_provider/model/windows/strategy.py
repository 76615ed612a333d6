"""What a window strategy is: the paper's ``AssignWindows`` and ``MergeWindows`` (section 2.2)."""

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
"""What some windows of one key become: the result, and the windows that it is made of."""


class WindowStrategy(Described, ABC):
    """How elements get their windows.

    A user's own strategy overrides :meth:`assign` and, where windows of one key depend on each other, :meth:`merge`;
    engines then call it for each element, which is the slow way. It must be a value: frozen, picklable, with a ``repr``
    that says all that it depends on (a state follows no change of it).
    """

    __slots__ = ()

    merges: bool = False
    """Whether open windows of a key can become others."""
    may_shrink: bool = True
    """Whether a merge can end earlier than one of its parts. Where none can, say so: then results have a bound, and the
    windows of a grouping that follows can expire."""
    columns: tuple[str, ...] = ()
    """The input columns that :meth:`assign` looks at, beside the event time and the key."""

    @property
    def longest(self) -> Micros | None:
        """No element is assigned to a window that ends longer than this after it, in microseconds; None: unknown."""
        return None

    @abstractmethod
    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] = NO_ROW) -> Sequence[Window]:
        """The windows of an element: any number of them, none for an element that belongs nowhere.

        Args:
            event_time: when it happened, in microseconds.
            key: its key.
            row: its columns; an engine may give only those in :attr:`columns`.
        """

    def merge(self, windows: Iterable[Window]) -> Sequence[Merged]:
        """What one key's windows become: each result with the windows it is made of. By default, themselves.

        Every window must be part of exactly one result. Called with the key's open windows and those of new elements.
        """
        return [(window, frozenset({window})) for window in windows]
