"""The outcome of a run: the rows that it has read and the panes that it has published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from airflow_dataflow_provider.model.time import MIN_TIME, iso
from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS, RowCounts
from airflow_dataflow_provider.progress.status.findings import Facts, Finding
from airflow_dataflow_provider.progress.store.store import Json

if TYPE_CHECKING:
    from airflow_dataflow_provider.progress.status.status import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run.

    Args:
        epochs: the number of epochs that it has committed.
        rows: the rows that it has read.
        panes: the number of panes that it has published.
        after: the pipeline's status at its end.
    """

    epochs: int
    rows: RowCounts
    panes: int
    after: Status

    @classmethod
    def between(cls, before: Status | None, after: Status) -> Self:
        """The difference of two statuses; None: since the beginning."""
        first, last = (-1 if status is None or status.epoch is None else status.epoch for status in (before, after))
        was, had = (NO_ROWS, 0) if before is None else (before.rows, before.panes)
        return cls(last - first, after.rows - was, after.panes - had, after)

    def __str__(self) -> str:
        rows, epochs, after = self.rows, self.epochs, self.after
        odd = (("late", rows.late), ("expired", rows.expired), ("rejected", rows.rejected))
        named = ", ".join(f"{count:,} {name}" for name, count in odd if count)
        watermark = after.watermarks.at(100)
        computed = after.covered.describe() if after.covered.intervals else "no watermark is known"
        reached = f"watermark {iso(watermark)}" if watermark > MIN_TIME else computed
        return (
            f"published {self.panes:,} panes from {rows.read:,} rows{f' ({named})' if named else ''} in {epochs:,} "
            f"epoch{'' if epochs == 1 else 's'}; {reached}; state {after.state_url}"
        )

    def to_json(self) -> Json:
        """``{"epochs": ..., "rows": {...}, "panes": ..., "findings": [...]}``."""
        return {
            "epochs": self.epochs,
            "rows": self.rows.to_json(),
            "panes": self.panes,
            "findings": [finding.to_json() for finding in self.findings],
        }

    @property
    def findings(self) -> tuple[Finding, ...]:
        after = self.after
        interval = after.interval if self.epochs else None
        return Facts(self.rows, self.panes, after.watermarks, after.waiting, after.rows.read, interval).findings()
