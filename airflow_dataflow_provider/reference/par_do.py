"""Applies ``ParDo`` steps to elements, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DataError, SubmissionError
from airflow_dataflow_provider.model.par_do import (
    ARRIVAL_TIME,
    ELEMENT,
    EVENT_TIME,
    AssignWindows,
    ParDo,
    PerElement,
    SparkColumns,
    Vectorised,
)
from airflow_dataflow_provider.model.time import ELEMENT_TIMES, ELEMENT_YEARS

Evaluate = Callable[[SparkColumns, Sequence[Element]], Sequence[Element]]
"""Evaluates Spark's expressions on some elements."""


def apply(steps: Iterable[ParDo], elements: Sequence[Element], evaluate: Evaluate | None) -> Sequence[Element]:
    """The results of all steps, in the order of the elements.

    Raises:
        SubmissionError: ``ENGINE_PAR_DO`` for Spark's expressions without ``evaluate``.
    """
    for step in steps:
        match step:
            case AssignWindows(window=window):
                elements = [
                    replace(element, window=assigned)
                    for element in elements
                    for assigned in window.assign(element.event_time, (), element.row)
                ]
            case PerElement():
                elements = [replace(element, row=row) for element in elements for row in step.results(element.row)]
            case Vectorised():
                elements = _vectorised(step, elements)
            case SparkColumns() if evaluate is not None:
                elements = evaluate(step, elements)
            case _:
                raise SubmissionError(
                    f"the reference interpreter cannot evaluate {step!r}",
                    reason="only Spark can evaluate its expressions",
                    hint="run it on a Spark engine, or give the interpreter evaluate=...",
                    code="ENGINE_PAR_DO",
                )
    return elements


def _vectorised(step: Vectorised, elements: Sequence[Element]) -> list[Element]:
    """Call the function for each element alone, so that a function that mixes elements gives other results."""
    import polars as pl  # noqa: PLC0415 - only a function of frames needs them

    if not elements:
        return []
    hidden = {EVENT_TIME: pl.Int64, ARRIVAL_TIME: pl.Int64, ELEMENT: pl.Int64}
    rows = [
        {name: element.row.get(name) for name in (step.reads if step.reads is not None else element.row)}
        | {EVENT_TIME: element.event_time, ARRIVAL_TIME: element.arrival_time, ELEMENT: 0}
        for element in elements
    ]
    frame = pl.DataFrame(rows, schema_overrides=hidden, infer_schema_length=None)
    found: list[Element] = []
    for number, element in enumerate(elements):
        one = frame[number : number + 1]
        made = step.function(one.to_arrow(compat_level=pl.CompatLevel.oldest())) if step.arrow else step.function(one)
        results = cast("pl.DataFrame", pl.from_arrow(made) if step.arrow else made)
        for row in results.iter_rows(named=True):
            if row.pop(ELEMENT, None) != 0:
                raise DataError(
                    f"a result of {step!r} does not name its element",
                    hint=f"keep the column {ELEMENT!r}",
                    code="DATA_PAR_DO",
                )
            event_time = row.pop(EVENT_TIME, element.event_time)
            arrival_time = row.pop(ARRIVAL_TIME, element.arrival_time)
            for name, time, given in (
                (EVENT_TIME, event_time, element.event_time),
                (ARRIVAL_TIME, arrival_time, element.arrival_time),
            ):
                if time != given and not ELEMENT_TIMES[0] <= time < ELEMENT_TIMES[1]:
                    raise DataError(
                        f"{step!r} made {name}={time}, which is not in the years {ELEMENT_YEARS}",
                        hint="correct the function",
                        code="DATA_PAR_DO",
                    )
            found.append(replace(element, row=row, event_time=event_time, arrival_time=arrival_time))
    return found
