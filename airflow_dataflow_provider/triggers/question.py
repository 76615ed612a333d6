"""The question of a sensor about a watermark, for workers and the triggerer."""

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
    """Asks whether ``W_percentile`` of the pipeline at ``state`` has reached ``target``, or batches have computed it.

    Attributes:
        state: the URL of the state.
        percentile: the percentile of the watermark.
        target: the time to be reached.
        start: the start of the span that batches must have computed; None: the windows that end at ``target``.
        grace: how long a stream may be without a driver, in microseconds.
    """

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
        """Parse the values that a user wrote; ``grace`` is in seconds.

        Raises:
            DefinitionError: ``DEFINITION_PERCENTILE``, ``TIME_NAIVE``, ``TIME_UNPARSABLE``.
        """
        since = None if start is None else to_micros(start, what="start")
        return cls(state, check_percentile(percentile), to_micros(target, what="target"), since, int(grace * 1_000_000))

    def ask(self) -> tuple[Answer, dict[str, Any]]:
        """Read the pipeline's status once.

        Returns:
            The answer, and the facts behind it as JSON.

        Raises:
            StateError: the state exists and cannot be read.
        """
        # It imports fsspec, which must not be imported while a DAG is parsed.
        from airflow_dataflow_provider.progress.status.status import find_status

        return self.answered_by(find_status(self.state))

    def answered_by(self, status: Status | None) -> tuple[Answer, dict[str, Any]]:
        """The answer from a pipeline's status (None: it has no state yet), and the facts behind it as JSON."""
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
