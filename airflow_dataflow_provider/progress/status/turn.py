"""The answer to whether a run may start its driver, or another driver owns the state."""

from __future__ import annotations

from collections.abc import Collection

from airflow_dataflow_provider.progress.status.answer import NEVER, NOT_YET, REACHED, Answer
from airflow_dataflow_provider.progress.status.status import Status


def ask_turn(status: Status | None, starting: Collection[str], *, run_id: str) -> Answer:
    """Whether a run may start: no other driver owns the state, or is about to.

    While a stream owns the state the answer is *never*, since a stream does not end by itself; else it is *not yet*.

    Args:
        status: the pipeline's status; None if it has no state yet.
        starting: the runs that were announced and are not known to have claimed.
        run_id: the run.
    """
    owner = None if status is None or not status.live else status.owner
    if status is not None and owner is not None and owner.run_id != run_id:
        held = f"{status.state_url} is owned by the {owner.describe()}"
        if owner.mode == "streaming":
            return Answer(NEVER, f"{held}, and a stream does not end by itself: stop it first", lasting=False)
        return Answer(NOT_YET, held)
    others = sorted({*starting} - {run_id})
    if others:
        return Answer(NOT_YET, f"run {others[0]!r} is starting on the same state")
    return Answer(REACHED, "no other driver has the state")
