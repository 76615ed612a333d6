"""What ``run`` prints while it runs and at its end, for people or for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from airflow_dataflow_provider.model.time import iso
from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS
from airflow_dataflow_provider.progress.status.findings import describe_waiting
from airflow_dataflow_provider.progress.status.outcome import Outcome

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.modes import RuntimeMode
    from airflow_dataflow_provider.progress.log.left_out import LeftOut
    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.progress.status.status import Status

_NAMED = 10
"""Files that are left out and named."""


class _Report:
    """Adds up what the epochs of a run have done."""

    def __init__(self) -> None:
        self._epochs = self._panes = 0
        self._rows = NO_ROWS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _add(self, record: EpochRecord) -> None:
        self._epochs += 1
        self._panes += record.panes
        self._rows += record.rows

    def _outcome(self, after: Status) -> Outcome:
        return Outcome(self._epochs, self._rows, self._panes, after)


class AsText(_Report):
    """For people: a moving line on a terminal, else a line for each epoch with rows or panes; then the outcome.

    Args:
        name: the pipeline's.
        verbose: a line for each epoch.
    """

    def __init__(self, name: str, *, verbose: bool) -> None:
        from rich.console import Console  # noqa: PLC0415

        super().__init__()
        self._console = Console(highlight=False, soft_wrap=True)
        self._moving = self._console.status(f"{name}: starting Spark")
        self._name, self._verbose = name, verbose

    def __enter__(self) -> Self:
        self._moving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._moving.stop()

    def started(self, mode: RuntimeMode, application: str) -> None:
        """Spark is there."""
        self._console.print(f"[bold]{self._name}[/bold] {mode.value} ({application})")
        self._moving.update(f"{self._name}: waiting for data")

    def epoch(self, record: EpochRecord) -> None:
        """An epoch is committed."""
        self._add(record)
        rows = record.rows
        counts = (("late", rows.late), ("expired", rows.expired), ("rejected", rows.rejected))
        odd = ", ".join(f"{count:,} {name}" for name, count in counts if count)
        seconds = (record.finished_at - record.started_at) / 1e6
        line = (
            f"epoch {record.epoch:>5}  {record.kind:<12}  {rows.read:>9,} rows{f' ({odd})' if odd else ''}"
            f"  {record.panes:>7,} panes  watermark {iso(record.published.at(100))}  {seconds:.2f} s"
        )
        if self._verbose or (not self._console.is_terminal and (rows.read or record.panes)):
            self._console.print(line)
        self._moving.update(f"{self._name}: {line}")

    def ended(self, after: Status) -> None:
        """The run is over."""
        outcome = self._outcome(after)
        self._console.print(f"[bold]{self._name}[/bold] done:", end=" ")
        self._console.print(str(outcome), markup=False)
        if outcome.panes and after.waiting.windows:
            self._console.print(describe_waiting(after.waiting, after.watermarks), markup=False)
        for finding in outcome.findings:
            style = "yellow" if finding.is_problem else None
            self._console.print(f"{finding.what}\n  What to do: {finding.hint}", style=style, markup=False)
        if after.left_out is not None:
            self._tell_left_out(after.left_out)

    def _tell_left_out(self, left_out: LeftOut) -> None:
        self._console.print(f"[yellow]left out: {left_out.describe()}[/yellow]; the next run reads what is there of it")
        for split in left_out.files[:_NAMED]:
            self._console.print(f"  {split.path} ({split.size:,} bytes)", markup=False)
        if len(left_out.files) > _NAMED:
            self._console.print(f"  and {len(left_out.files) - _NAMED:,} more; status --json names them all")


class AsJson(_Report):
    """For machines: one JSON object a line."""

    def started(self, mode: RuntimeMode, application: str) -> None:
        """Spark is there."""
        self._print({"event": "started", "mode": mode.value, "application_id": application})

    def epoch(self, record: EpochRecord) -> None:
        """An epoch is committed."""
        self._add(record)
        told = {name: value for name, value in record.to_json().items() if name != "details"}
        self._print({"event": "epoch", **told})

    def ended(self, after: Status) -> None:
        """The run is over."""
        self._print({"event": "ended", **self._outcome(after).to_json()})

    @staticmethod
    def _print(document: dict[str, Any]) -> None:
        print(json.dumps(document), flush=True)  # noqa: T201
