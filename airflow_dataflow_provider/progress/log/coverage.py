"""The spans of event time that batch runs have computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import Micros, from_iso, iso

Span = tuple[Micros, Micros]
_NAMED = 3
"""Spans that a message names."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """A set of spans ``(from, to]``: every window that ends in one of them has been computed.

    Guarantees:
        The spans are in order, and neither overlap nor touch: equal sets are equal values.

    Costs:
        One span while intervals follow one another; one more for each gap.
    """

    spans: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        ends = [bound for span in self.spans for bound in span]
        if any(before >= after for before, after in pairwise(ends)):
            raise StateError(
                f"{self.spans!r} is no set of spans: they must be in order, and apart",
                reason="readers rely on it",
                hint="report it",
                code="STATE_BAD_RECORD",
            )

    def with_span(self, start: Micros, end: Micros) -> Coverage:
        """This set and ``(start, end]``; spans that touch become one."""
        apart = [span for span in self.spans if span[1] < start or end < span[0]]
        merged = [span for span in self.spans if span not in apart]
        start = min([start, *(span[0] for span in merged)])
        end = max([end, *(span[1] for span in merged)])
        return Coverage(tuple(sorted([*apart, (start, end)])))

    def covers(self, end: Micros, *, start: Micros | None = None) -> bool:
        """Whether the windows that end at ``end`` are computed; with ``start``, all that end in ``(start, end]``."""
        first = end if start is None else start + 1
        return any(low < first and end <= high for low, high in self.spans)

    def describe(self) -> str:
        """For people: the latest spans first."""
        if not self.spans:
            return "no interval is computed yet"
        named = [f"{iso(low)} to {iso(high)}" for low, high in reversed(self.spans[-_NAMED:])]
        more = len(self.spans) - len(named)
        return f"computed: {', '.join(named)}" + (f", and {more:,} earlier" if more else "")

    def to_json(self) -> list[list[str]]:
        """``[[from, to], ...]``, ISO 8601."""
        return [[iso(low), iso(high)] for low, high in self.spans]

    @classmethod
    def from_json(cls, document: Sequence[Sequence[str]]) -> Coverage:
        """Read back :meth:`to_json`."""
        return cls(tuple((from_iso(low), from_iso(high)) for low, high in document))


NOTHING_COVERED: Final = Coverage()
