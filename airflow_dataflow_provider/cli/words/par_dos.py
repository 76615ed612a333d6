"""``ParDo`` steps in words."""

from __future__ import annotations

from functools import singledispatch

from airflow_dataflow_provider.cli.words.plain import name_of, series
from airflow_dataflow_provider.cli.words.windows import window_lines
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo, PerElement, SparkColumns, Vectorised


@singledispatch
def step_lines(step: ParDo) -> list[str]:
    """What becomes of an element; of a step of the user's own, its code."""
    return [f"{step!r}, a step of the user's own, which no engine knows."]


@step_lines.register
def _(step: SparkColumns) -> list[str]:
    parts = (
        [] if step.where is None else [f"keeps elements where {step.where}; others are dropped, and counted nowhere"]
    )
    parts += [f"makes {name} = {text}" for name, text in step.columns]
    return [f"Spark SQL {'; '.join(parts)}. All other columns stay."]


@step_lines.register
def _(step: Vectorised) -> list[str]:
    frames = "pyarrow tables" if step.arrow else "polars frames"
    return [
        f"{name_of(step.function)} takes {_read(step)}, in {frames} of many elements, and gives none, one or more each."
    ]


@step_lines.register
def _(step: PerElement) -> list[str]:
    makes = series(f"{name} ({kind.__name__})" for name, kind in step.makes.items())
    return [
        (
            f"{name_of(step.function)} takes {_read(step)} of each element, one call each (slow), and gives none, one "
            f"or more with {makes}."
        )
    ]


@step_lines.register
def _(step: AssignWindows) -> list[str]:
    return ["Windows are assigned here, by the event time as it is here.", *window_lines(step.window)]


def _read(step: Vectorised | PerElement) -> str:
    return "all columns" if step.reads is None else series(step.reads)
