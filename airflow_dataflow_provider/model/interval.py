"""An interval of event time, for which a batch computes the windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Micros, from_iso, iso


@dataclass(frozen=True, slots=True)
class Interval:
    """``(start, end]``, in microseconds: a window belongs to the interval in which it ends.

    So an interval from midnight to midnight contains the day's hourly windows, and none of the day before.

    Raises:
        DefinitionError: ``SUBMIT_INTERVAL``, if ``start`` is not before ``end``.
    """

    start: Micros
    end: Micros

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise DefinitionError(
                f"the interval ends at {iso(self.end)}, before or where it begins ({iso(self.start)})",
                reason="no window ends in such an interval",
                hint="give an earlier start, or a later end",
                code="SUBMIT_INTERVAL",
            )

    def contains(self, time: Micros) -> bool:
        """Whether a window that ends at ``time`` belongs to the interval."""
        return self.start < time <= self.end

    def __str__(self) -> str:
        return f"{iso(self.start)} to {iso(self.end)}"

    def to_json(self) -> list[str]:
        """``[start, end]``, ISO 8601."""
        return [iso(self.start), iso(self.end)]

    @classmethod
    def from_json(cls, document: Sequence[str]) -> Interval:
        start, end = document
        return cls(from_iso(start), from_iso(end))
