"""The engines that a test can run on, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.reference.interpreter import Epoch, interpret

Engine = Callable[[Pipeline, Sequence[Epoch]], list[Pane]]
"""Runs epochs from an empty state on, and gives every pane in the order in which it was published."""


def _reference(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[Pane]:
    return list(interpret(pipeline, epochs).panes)


def _on_spark(mode: str) -> Engine:
    def run(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[Pane]:
        from airflow_dataflow_provider.testing import spark_engines

        engine: Engine = getattr(spark_engines, mode)
        return engine(pipeline, epochs)

    return run


_ENGINES: dict[str, Engine] = {
    "reference": _reference,
    "spark-batch": _on_spark("spark_batch"),
    "spark-micro-batch": _on_spark("spark_micro_batch"),
    "spark-streaming": _on_spark("spark_streaming"),
}


def engine_named(name: str) -> Engine:
    """Look an engine up.

    Raises:
        SubmissionError: ``ENGINE_UNKNOWN``.
    """
    try:
        return _ENGINES[name]
    except KeyError:
        raise SubmissionError(
            f"engine={name!r} is not known", todo=f"choose one of {', '.join(sorted(_ENGINES))}", code="ENGINE_UNKNOWN"
        ) from None


def engine_names() -> tuple[str, ...]:
    """Every engine there is, so that one test can run on each."""
    return tuple(_ENGINES)
