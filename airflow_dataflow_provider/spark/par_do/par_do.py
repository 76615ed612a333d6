"""``ParDo`` on frames: the steps before a grouping, over all elements of a task at once.

A frame has the columns of its elements and hidden ones, whose names start with ``_``: the times, and what else belongs
to an element (its window, its sign, its place in the order of arrival). A result has the hidden columns of the element
that it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import polars as pl

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME as ARRIVAL
from airflow_dataflow_provider.model.par_do import ELEMENT, AssignWindows, ParDo, PerElement, Vectorised
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.model.time import ELEMENT_YEARS
from airflow_dataflow_provider.spark.kernel.windows import assign_windows
from airflow_dataflow_provider.spark.values.made_by_python import blame, series
from airflow_dataflow_provider.spark.values.times import in_range
from airflow_dataflow_provider.spark.values.type_table import MADE_BY_PYTHON, Schema, kept_as

_SEEN: Schema = {EVENT: pl.Int64(), ARRIVAL: pl.Int64(), ELEMENT: pl.Int64()}
"""The hidden columns that a user's function gets."""


def schema_after(steps: Sequence[ParDo], schema: Schema) -> Schema:
    """The types of an element's columns after some steps; hidden ones are none of them.

    Args:
        steps: without :class:`SparkColumns`; what they make is Spark's to say
            (:func:`~airflow_dataflow_provider.spark.par_do.spark_columns.schema_through`).
        schema: the types before.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO`` for a step that cannot be taken on such elements, ``ENGINE_PAR_DO``.
    """
    for step in steps:
        match step:
            case PerElement() | Vectorised() | AssignWindows():
                check_has(schema, step.reads or (), repr(step))
                if not isinstance(step, AssignWindows):
                    schema = _made_by(step, tuple(schema.items()))
            case _:
                _refuse_spark(step)
    return schema


def apply(steps: Sequence[ParDo], frame: pl.DataFrame) -> pl.DataFrame:
    """What is left of some elements after some steps, in their order; all hidden columns are carried.

    Args:
        steps: without :class:`SparkColumns`, which takes the elements through Spark.
        frame: the elements with :data:`EVENT` and :data:`ARRIVAL`.

    Raises:
        DataError: ``DATA_PAR_DO`` where a user's function fails, or makes what it did not say it makes.
    """
    for step in steps:
        match step:
            case AssignWindows(window=window):
                frame = assign_windows(window, frame, ())
            case PerElement():
                frame = _per_element(step, frame)
            case Vectorised():
                frame = _vectorised(step, frame)
            case _:
                _refuse_spark(step)
    return frame


def _refuse_spark(step: ParDo) -> NoReturn:
    raise SubmissionError(
        f"{step!r} is asked for where there is no Spark",
        reason="only Spark knows what its expressions mean",
        hint="run the pipeline on Spark",
        code="ENGINE_PAR_DO",
    )


def check_has(schema: Schema, wanted: Sequence[str], who: str) -> None:
    """Refuse a step, or a grouping, that reads what an element does not have.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO``.
    """
    hidden = [name for name in wanted if name.startswith("_")]
    missing = [name for name in wanted if name not in schema]
    if hidden or missing:
        raise SubmissionError(
            f"{who} reads the column {(hidden or missing)[0]!r}, which an element does not have there",
            reason="names that start with '_' are the engine's" if hidden else "",
            hint=f"name one of its columns: {', '.join(schema) or 'it has none'}",
            code="SUBMIT_PAR_DO",
        )


def _columns(step: PerElement | Vectorised, frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if not name.startswith("_")] if step.reads is None else [*step.reads]


# One element at a time


def _per_element(step: PerElement, frame: pl.DataFrame) -> pl.DataFrame:
    names, columns = tuple(step.makes), _columns(step, frame)
    values: list[Any] = []
    made_of: list[int] = []
    # Of no columns polars would give no rows either.
    rows = frame.select(columns).iter_rows(named=True) if columns else ({} for _ in range(len(frame)))
    function, number = step.function, 0
    try:
        for number, row in enumerate(rows):
            results = function(row)
            if results is None:
                continue
            for result in (results,) if isinstance(results, dict | Mapping) else list(results):
                made_of.append(number)
                values += [result.get(name) for name in names]
    except Exception as error:
        raise blame(
            step, error, f"on {frame[number].select(columns).to_dicts() if columns else 'an element'}"
        ) from error
    made = [series(step, name, values[at :: len(names)]) for at, name in enumerate(names)]
    return _carried(frame, pl.Series(made_of, dtype=pl.Int64)).with_columns(made)


# All elements at once


def _vectorised(step: Vectorised, frame: pl.DataFrame) -> pl.DataFrame:
    given = frame.select(*_columns(step, frame), EVENT, ARRIVAL).with_columns(
        pl.int_range(len(frame), dtype=pl.Int64).alias(ELEMENT)
    )
    types = _made_by(step, tuple((name, frame.schema[name]) for name in _columns(step, frame)))
    if not len(frame):
        return _carried(frame, given[ELEMENT]).with_columns(pl.Series(name, [], dtype) for name, dtype in types.items())
    try:
        result = _call(step, given)
    except Exception as error:
        raise blame(step, error) from error
    _check_made(step, result, types, given)
    carried = _carried(frame, result[ELEMENT])
    times = [result[name].cast(pl.Int64) for name in (EVENT, ARRIVAL) if name in result.columns]
    return carried.with_columns([result[name].cast(dtype) for name, dtype in types.items()] + times)


def _call(step: Vectorised, frame: pl.DataFrame) -> pl.DataFrame:
    if not step.arrow:
        result = step.function(frame)
    else:
        # The oldest layout is the one that every function of Arrow's own knows.
        table = step.function(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
        result = pl.from_arrow(table)
    if not isinstance(result, pl.DataFrame):
        raise TypeError(
            f"it gave {type(result).__name__}, not {'a pyarrow.Table' if step.arrow else 'a polars.DataFrame'}"
        )
    return result


def _carried(frame: pl.DataFrame, made_of: pl.Series) -> pl.DataFrame:
    """The hidden columns of the elements that some results are made of."""
    hidden = frame.select(name for name in frame.columns if name.startswith("_"))
    if len(made_of) == len(frame) and (made_of == pl.int_range(len(frame), dtype=pl.Int64, eager=True)).all():
        return hidden
    return hidden.select(pl.all().gather(made_of))


def _check_made(step: Vectorised, result: pl.DataFrame, types: Schema, given: pl.DataFrame) -> None:
    """Refuse a result that is not what the function made of no rows, or not made of the elements that there are."""
    expected = set(types) | {ELEMENT}
    found = set(result.columns) - {EVENT, ARRIVAL}
    if expected != found:
        raise blame(step, TypeError(f"it made the columns {sorted(found)}, of no rows {sorted(expected)}"))
    for name, dtype in (*types.items(), *_SEEN.items()):
        made = result.schema.get(name, dtype)
        if kept_as(made) != dtype and made != pl.Null:
            raise blame(step, TypeError(f"it made {name!r} of type {made}, of no rows {dtype}"))
    for name in _SEEN:
        if name in result.columns and result[name].null_count():
            raise blame(step, ValueError(f"it made nulls in {name}"))
    outside = result[ELEMENT].filter(~result[ELEMENT].is_between(0, len(given) - 1))
    if len(outside):
        raise blame(step, ValueError(f"it made {ELEMENT}={outside[0]} of {len(given)} elements"))
    for name in (EVENT, ARRIVAL):
        if name not in result.columns:
            continue
        # Results of a grouping before may have times a little outside; these it has not made.
        far = result.filter(~in_range(pl.col(name)))
        changed = far[name].filter(far[name] != given[name].gather(far[ELEMENT]))
        if len(changed):
            raise blame(step, ValueError(f"it made {name}={changed[0]}, which is not in the years {ELEMENT_YEARS}"))


# Types


@lru_cache(maxsize=64)
def _made_by(step: PerElement | Vectorised, schema: tuple[tuple[str, pl.DataType], ...]) -> Schema:
    """The types of the columns that a step makes.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO``.
    """
    if isinstance(step, PerElement):
        hidden = [name for name in step.makes if name.startswith("_")]
        if hidden:
            _refuse_made(step, f"makes the column {hidden[0]!r}", "names that start with '_' are the engine's")
        return {name: MADE_BY_PYTHON[kind] for name, kind in step.makes.items()}
    read = dict(schema) if step.reads is None else {name: dict(schema)[name] for name in step.reads}
    try:
        made = _call(step, pl.DataFrame(schema=read | _SEEN)).schema
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises
        _refuse_made(step, "fails on a frame without rows", f"{type(error).__name__}: {error}")
    types = {name: kept_as(dtype) for name, dtype in made.items() if name not in _SEEN}
    if ELEMENT not in made:
        _refuse_made(step, f"drops the column {ELEMENT!r}", "it says which element each row of the result is made of")
    for name in _SEEN:
        if kept_as(made.get(name, pl.Int64())) != pl.Int64:
            _refuse_made(step, f"makes {name!r} of type {made[name]}", "it is a whole number")
    for name, dtype in types.items():
        if name.startswith("_"):
            _refuse_made(step, f"makes the column {name!r}", "names that start with '_' are the engine's")
        if dtype in (pl.Null, pl.Object, pl.Unknown):
            _refuse_made(step, f"makes {name!r} of type {dtype}", "a column must have the same type in every frame")
    return types


def _refuse_made(step: ParDo, what: str, reason: str) -> NoReturn:
    raise SubmissionError(
        f"{step!r} {what}",
        reason=reason,
        hint="see the contract in the reference of ParDo; cast columns whose type is not plain",
        code="SUBMIT_PAR_DO",
    )
