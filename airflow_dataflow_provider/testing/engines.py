"""The engines that a test can run on, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.reference.interpreter import Epoch, Outcome, interpret
from airflow_dataflow_provider.testing.expressions import evaluator

Engine = Callable[[Pipeline, Sequence[Epoch]], Outcome]
"""Runs epochs from an empty state on, and returns the panes in the order of publication, the expired elements and the
counts."""


def _reference(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Outcome:
    return interpret(pipeline, epochs, evaluator(pipeline))


def _on_spark(mode: str) -> Engine:
    def run(pipeline: Pipeline, epochs: Sequence[Epoch]) -> Outcome:
        if not epochs:
            return _reference(pipeline, epochs)

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
    """The engine of a name.

    Raises:
        SubmissionError: ``ENGINE_UNKNOWN``.
    """
    try:
        return _ENGINES[name]
    except KeyError:
        raise SubmissionError(
            f"engine={name!r} is not known", hint=f"choose one of {', '.join(sorted(_ENGINES))}", code="ENGINE_UNKNOWN"
        ) from None


def engine_names() -> tuple[str, ...]:
    return tuple(_ENGINES)
