"""The intervals that batch runs have computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.store.documents import bad_record

_NAMED = 3
"""Intervals that a message names."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """A set of intervals: every window that ends in one of them has been computed.

    Guarantees:
        The intervals are in order, and neither overlap nor touch, so equal sets are equal values.

    Costs:
        One interval for consecutive batches, and one more for each gap.
    """

    intervals: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        if any(before.end >= after.start for before, after in pairwise(self.intervals)):
            raise bad_record(f"{self.intervals!r} is no set of intervals: they must be in order, and apart")

    def with_interval(self, added: Interval) -> Coverage:
        """This set and one more interval; intervals that touch become one."""
        apart = [each for each in self.intervals if each.end < added.start or added.end < each.start]
        merged = [added, *(each for each in self.intervals if each not in apart)]
        whole = Interval(min(each.start for each in merged), max(each.end for each in merged))
        return Coverage(tuple(sorted([*apart, whole], key=lambda each: each.start)))

    def covers(self, end: Micros, *, start: Micros | None = None) -> bool:
        """Whether the windows that end at ``end`` are computed; with ``start``, all that end in ``(start, end]``."""
        first = end if start is None else start + 1
        return any(each.contains(first) and each.contains(end) for each in self.intervals)

    def describe(self) -> str:
        """The intervals for messages, the latest first."""
        if not self.intervals:
            return "no interval is computed yet"
        named = [str(each) for each in reversed(self.intervals[-_NAMED:])]
        more = len(self.intervals) - len(named)
        return f"computed: {', '.join(named)}" + (f", and {more:,} earlier" if more else "")

    def to_json(self) -> list[list[str]]:
        """``[[start, end], ...]``, ISO 8601."""
        return [each.to_json() for each in self.intervals]

    @classmethod
    def from_json(cls, document: Sequence[Sequence[str]]) -> Coverage:
        return cls(tuple(map(Interval.from_json, document)))


NOTHING_COVERED: Final = Coverage()
