"""What a run has published, in a sentence: the last line of a task's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.time import MIN_TIME, iso

if TYPE_CHECKING:
    from airflow_dataflow_provider.progress.status.status import Status


def published(before: Status | None, after: Status) -> str:
    """What came between two looks at a pipeline.

    Args:
        before: its status when the task began; None if it had no state.
        after: its status now.
    """
    since = 0 if before is None else before.panes
    was = (0, 0, 0, 0) if before is None else _counts(before)
    read, *odd = (now - then for now, then in zip(_counts(after), was, strict=True))
    named = ", ".join(f"{n:,} {name}" for n, name in zip(odd, ("late", "expired", "rejected"), strict=True) if n)
    first, last = (-1 if status is None or status.epoch is None else status.epoch for status in (before, after))
    epochs = last - first
    watermark = after.watermarks.at(100)
    reached = f"watermark {iso(watermark)}" if watermark > MIN_TIME else after.covered.describe()
    return (
        f"published {after.panes - since:,} panes from {read:,} rows{f' ({named})' if named else ''} in {epochs:,} "
        f"epoch{'' if epochs == 1 else 's'} of {after.pipeline!r}; {reached}; state {after.state_url}"
    )


def _counts(status: Status) -> tuple[int, int, int, int]:
    rows = status.rows
    return rows.read, rows.late, rows.expired, rows.rejected
