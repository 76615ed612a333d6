"""Values that are known when the DAG is parsed, and those that only a run has."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard, cast

if TYPE_CHECKING:
    from airflow.sdk import Context

_OF_AN_INTERVAL = ("data_interval_start", "data_interval_end", "logical_date", "ds", "ds_nodash", "ts", "ts_nodash")


def is_literal(value: object) -> TypeGuard[str]:
    """Whether this is a text without a template in it: what can be checked while the DAG is parsed."""
    return isinstance(value, str) and "{{" not in value and "{%" not in value


def with_absent_interval(context: Context) -> Context:
    """A context to render with: a run without a data interval has None for it.

    Airflow leaves such names out, and Jinja fails on them before the task could say what is missing.
    """
    return cast("Context", {**dict.fromkeys(_OF_AN_INTERVAL), **context})
