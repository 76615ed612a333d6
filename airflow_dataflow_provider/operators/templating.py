"""Checks of arguments when the DAG is parsed, and the context in which templates are rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard, cast

from airflow_dataflow_provider.hooks.reference import PipelineReference
from airflow_dataflow_provider.model.errors import DefinitionError

if TYPE_CHECKING:
    from airflow.sdk import Context

_OF_AN_INTERVAL = ("data_interval_start", "data_interval_end", "logical_date", "ds", "ds_nodash", "ts", "ts_nodash")


def is_literal(value: object) -> TypeGuard[str]:
    """Whether a value is text without a template, which can be checked when the DAG is parsed."""
    return isinstance(value, str) and "{{" not in value and "{%" not in value


def check_pipeline_or_state(pipeline: str | None, state: str | None) -> None:
    """Check that a task names a pipeline or the URL of a state.

    Raises:
        DefinitionError: ``SUBMIT_PIPELINE``.
    """
    if pipeline is None and state is None:
        raise DefinitionError(
            "the task names no pipeline", hint="give pipeline=... or state=...", code="SUBMIT_PIPELINE"
        )
    if is_literal(pipeline):
        PipelineReference.parse(pipeline)


def with_absent_interval(context: Context) -> Context:
    """The context for templates, in which a run without a data interval has None for its names.

    Airflow leaves these names out, and Jinja would fail on them before the task can say what is missing.
    """
    return cast("Context", {**dict.fromkeys(_OF_AN_INTERVAL), **context})
