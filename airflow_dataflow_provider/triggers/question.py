"""What is asked of a watermark, from a worker or from the triggerer alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.time import Micros, iso, to_micros
from airflow_dataflow_provider.model.watermarks import percentile as check_percentile

if TYPE_CHECKING:
    import datetime as dt

    from airflow_dataflow_provider.progress.status.answer import Answer
    from airflow_dataflow_provider.progress.status.status import Status


@dataclass(frozen=True, slots=True)
class WatermarkQuestion:
    """Has ``W_percentile`` of the pipeline at ``state`` reached ``target``, or have batches computed up to it?"""

    state: str
    percentile: float
    target: Micros
    start: Micros | None = None
    grace: Micros = 0

    @classmethod
    def read(
        cls,
        state: str,
        percentile: float | str,
        target: str | dt.datetime,
        start: str | dt.datetime | None = None,
        *,
        grace: float = 0.0,
    ) -> WatermarkQuestion:
        """Read what a user wrote.

        Raises:
            DefinitionError: ``DEFINITION_PERCENTILE``, ``TIME_NAIVE``, ``TIME_UNPARSABLE``.
        """
        since = None if start is None else to_micros(start, what="start")
        return cls(state, check_percentile(percentile), to_micros(target, what="target"), since, int(grace * 1_000_000))

    def ask(self) -> tuple[Answer, dict[str, Any]]:
        """Read the pipeline's progress once.

        Returns:
            The answer, and what is known with it, as JSON.

        Raises:
            StateError: the state is there, and cannot be read.
        """
        # fsspec and the file system behind it: not while a DAG is parsed.
        from airflow_dataflow_provider.progress.status.status import find_status

        return self.answered_by(find_status(self.state))

    def answered_by(self, status: Status | None) -> tuple[Answer, dict[str, Any]]:
        """The answer that a pipeline's status gives (None if it has no state yet), and what is known with it."""
        from airflow_dataflow_provider.progress.status.answer import ask_watermark
        from airflow_dataflow_provider.progress.wall import wall_clock

        answer = ask_watermark(
            status,
            percentile=self.percentile,
            target=self.target,
            start=self.start,
            now=wall_clock(),
            grace=self.grace,
        )
        facts = {
            "answer": str(answer.verdict),
            "reason": answer.reason,
            "lasting": answer.lasting,
            "percentile": self.percentile,
            "target": iso(self.target),
            "start": None if self.start is None else iso(self.start),
            "state_url": self.state,
            "pipeline": status.pipeline if status else None,
            "watermark": iso(status.watermarks.at(self.percentile)) if status else None,
            "epoch": status.epoch if status else None,
        }
        return answer, facts
