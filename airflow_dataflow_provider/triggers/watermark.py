"""Waits in the triggerer until a watermark is reached, or is known never to be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.triggers.look import look
from airflow_dataflow_provider.triggers.question import WatermarkQuestion

PATIENCE = 10
"""Consecutive errors of the state's file system after which the wait fails."""


class WatermarkTrigger(BaseTrigger):
    """Looks at a pipeline's status until the answer is *reached* or *never*.

    The event's payload is the facts of :meth:`WatermarkQuestion.ask`; its ``answer`` is ``"reached"`` or ``"never"``.

    Args:
        state: the URL of the pipeline's state.
        percentile: the percentile of the watermark.
        target: the time to be reached, ISO 8601 with an offset.
        start: as in the sensor, ISO 8601 with an offset.
        grace: how long a stream may be without a driver, in seconds.
        poke_interval: seconds between two looks.
    """

    def __init__(
        self,
        *,
        state: str,
        percentile: float,
        target: str,
        start: str | None = None,
        grace: float = 0.0,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state = state
        self.percentile = percentile
        self.target = target
        self.start = start
        self.grace = grace
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        fields = ("state", "percentile", "target", "start", "grace", "poke_interval")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event, once the answer is final."""
        question = WatermarkQuestion.read(self.state, self.percentile, self.target, self.start, grace=self.grace)
        failures, logged = 0, ""
        while True:
            try:
                # The status is shared with other triggers, and at most half a poll interval old.
                answer, facts = question.answered_by(await look(self.state, max_age=self.poke_interval / 2))
            except DataflowError as error:
                facts = {"answer": "never", "reason": str(error), "lasting": True, "state_url": self.state}
                yield TriggerEvent(facts)  # type: ignore[no-untyped-call]
                return
            except Exception as error:
                failures += 1
                if failures >= PATIENCE:
                    raise
                self.log.warning("%s cannot be read (%d of %d): %s", self.state, failures, PATIENCE, error)
            else:
                failures = 0
                if answer.reason != logged:
                    logged = answer.reason
                    self.log.info("%s", logged)
                if answer.reached or answer.never:
                    yield TriggerEvent(facts)  # type: ignore[no-untyped-call]
                    return
            await asyncio.sleep(self.poke_interval)
