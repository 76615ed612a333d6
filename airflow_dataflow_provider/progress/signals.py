"""Named signals from outside: which ones a pipeline listens to."""

from __future__ import annotations

from collections.abc import Collection

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.pipeline import Pipeline


def listened_to(pipeline: Pipeline) -> frozenset[str]:
    """The names of the signals that any trigger of a pipeline waits for."""
    return frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings))


def refuse_unheard(name: str, known: Collection[str], pipeline: str) -> None:
    """Refuse to raise a signal that no trigger waits for: it would do nothing, and nobody would notice.

    Raises:
        SubmissionError: ``SUBMIT_SIGNAL``, with the names that are waited for.
    """
    if name not in known:
        raise SubmissionError(
            f"no trigger of pipeline {pipeline!r} listens to the signal {name!r}",
            why="it would be raised in vain, and nobody would notice",
            todo=f"raise one of {', '.join(sorted(known))}" if known else "its triggers listen to no signal at all",
            code="SUBMIT_SIGNAL",
        )
