"""Waits in the triggerer until no other driver owns a state."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_dataflow_provider.triggers.look import look


class TurnTrigger(BaseTrigger):
    """Waits until a run may start, among the runs that share one state.

    The event's payload is ``{"answer": "reached" | "not yet" | "never", "reason": ...}``; *not yet* means a timeout.

    Args:
        state: the URL of the pipeline's state.
        run_id: the run that waits.
        until: the timeout, in seconds since 1970.
        poll_interval: seconds between two looks, on average. They vary, so that runs do not look at the same moment.
    """

    def __init__(self, *, state: str, run_id: str, until: float, poll_interval: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.state = state
        self.run_id = run_id
        self.until = until
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        fields = ("state", "run_id", "until", "poll_interval")
        return f"{type(self).__module__}.{type(self).__name__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from airflow_dataflow_provider.progress.ownership.launches import starting_on
        from airflow_dataflow_provider.progress.status.turn import ask_turn
        from airflow_dataflow_provider.progress.wall import wall_clock

        logged = ""
        while True:
            await asyncio.sleep(self.poll_interval * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            try:
                starting = await asyncio.to_thread(starting_on, self.state)
                status = await look(self.state, max_age=0)
                answer = ask_turn(status, starting, run_id=self.run_id)
            except Exception as error:  # noqa: BLE001 - the task looks again itself, and reports the error
                self.log.warning("%s cannot be read: %s", self.state, error)
                reason, verdict = str(error), "not yet"
            else:
                reason, verdict = answer.reason, str(answer.verdict)
            if reason != logged:
                logged = reason
                self.log.info("%s", logged)
            if verdict != "not yet" or wall_clock() >= self.until * 1_000_000:
                yield TriggerEvent({"answer": verdict, "reason": reason})  # type: ignore[no-untyped-call]
                return
