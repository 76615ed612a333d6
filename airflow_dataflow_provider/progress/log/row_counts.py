"""How many rows an epoch, or several, have read, and what became of those that no pane has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.progress.store.documents import bad_record
from airflow_dataflow_provider.progress.store.store import Json

_MOST_REASONS: Final = 8
_OTHER_REASONS: Final = "other reasons"


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of an epoch, or of several.

    Args:
        read: all of them.
        late: those that came after the watermark had passed the end of their window.
        expired: those that no window took any more: late beyond the allowed lateness.
        rejected: those that cannot be read as elements.
        implausible: those whose delay or arrival time moves no watermark, for a clock must have been wrong.
        reasons: why rows were rejected, and how many for each reason, the commonest first.
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
        return RowCounts(
            self.read + other.read,
            self.late + other.late,
            self.expired + other.expired,
            self.rejected + other.rejected,
            self.implausible + other.implausible,
            commonest(Counter(dict(self.reasons)) + Counter(dict(other.reasons))),
        )

    def __sub__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.read - other.read,
            self.late - other.late,
            self.expired - other.expired,
            self.rejected - other.rejected,
            self.implausible - other.implausible,
            commonest(Counter(dict(self.reasons)) - Counter(dict(other.reasons))),
        )

    @property
    def accepted(self) -> int:
        """How many rows were read as elements."""
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
        """Read back :meth:`to_json`, also of a release that did not count implausible rows and reasons."""
        return cls(
            document["in"],
            document["late"],
            document["expired"],
            document["rejected"],
            document.get("implausible", 0),
            tuple(document.get("reasons", {}).items()),
        )


def commonest(reasons: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The commonest reasons; the others are counted together, so that no document grows without end."""
    named = [
        pair for pair in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])) if pair[0] != _OTHER_REASONS
    ]
    others = sum(count for _, count in named[_MOST_REASONS:]) + reasons[_OTHER_REASONS]
    return (*named[:_MOST_REASONS], *([(_OTHER_REASONS, others)] if others else []))


NO_ROWS: Final = RowCounts()
