"""Counts of the rows of epochs, and of the rows that are in no pane."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from airflow_dataflow_provider.progress.store.documents import bad_record
from airflow_dataflow_provider.progress.store.store import Json

_MOST_REASONS: Final = 8
_OTHER_REASONS: Final = "other reasons"
_NUMBERS: Final = ("read", "late", "expired", "rejected", "implausible")


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of an epoch, or of several.

    Args:
        read: all rows.
        late: rows that came after the watermark had passed the end of their window.
        expired: rows whose window had expired: late beyond the allowed lateness.
        rejected: rows that cannot be read as elements.
        implausible: rows with a delay or arrival time that only a wrong clock explains; they move no watermark.
        reasons: the reasons of rejection with the number of rows of each, the commonest first.
    """

    read: int = 0
    late: int = 0
    expired: int = 0
    rejected: int = 0
    implausible: int = 0
    reasons: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if min(self.read, self.late, self.expired, self.rejected, self.implausible) < 0:
            raise bad_record(f"{self!r}: a count of rows is negative")

    def __add__(self, other: RowCounts) -> RowCounts:
        return self._combined(other, operator.add)

    def __sub__(self, other: RowCounts) -> RowCounts:
        return self._combined(other, operator.sub)

    def _combined(self, other: RowCounts, combine: Callable[[Any, Any], Any]) -> RowCounts:
        numbers = {name: combine(getattr(self, name), getattr(other, name)) for name in _NUMBERS}
        reasons = combine(Counter(dict(self.reasons)), Counter(dict(other.reasons)))
        return RowCounts(**numbers, reasons=commonest(reasons))

    @property
    def accepted(self) -> int:
        """The number of rows that were read as elements."""
        return self.read - self.rejected

    def to_json(self) -> Json:
        """``{"in": ..., "late": ..., "expired": ..., "rejected": ..., "implausible": ..., "reasons": {...}}``."""
        return {
            "in": self.read,
            "late": self.late,
            "expired": self.expired,
            "rejected": self.rejected,
            "implausible": self.implausible,
            "reasons": dict(self.reasons),
        }

    @classmethod
    def from_json(cls, document: Json) -> RowCounts:
        """The counts that :meth:`to_json` wrote, also in a release without implausible rows and reasons."""
        return cls(
            document["in"],
            document["late"],
            document["expired"],
            document["rejected"],
            document.get("implausible", 0),
            tuple(document.get("reasons", {}).items()),
        )


def commonest(reasons: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The commonest reasons. The others are counted together, so that documents stay small."""
    named = [
        pair for pair in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])) if pair[0] != _OTHER_REASONS
    ]
    others = sum(count for _, count in named[_MOST_REASONS:]) + reasons[_OTHER_REASONS]
    return (*named[:_MOST_REASONS], *([(_OTHER_REASONS, others)] if others else []))


NO_ROWS: Final = RowCounts()
