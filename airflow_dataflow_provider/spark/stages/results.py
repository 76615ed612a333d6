"""The steps after the last grouping, on its panes as frames: what is published in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.model.errors import DataError, SubmissionError
from airflow_dataflow_provider.model.pipeline import RESERVED_COLUMNS
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT, TIMESTAMP
from airflow_dataflow_provider.spark.par_do.par_do import apply, schema_after
from airflow_dataflow_provider.spark.values.type_table import MOMENT, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_dataflow_provider.model.par_do import ParDo
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel


_BOUNDS = ("window_start", "window_end")
_OF_PANE = "_pane."
"""Before the name of a column that belongs to the pane: it is carried through the steps."""
_NUMBER = "_pane.number"


def results_schema(steps: Sequence[ParDo], kernel: Kernel) -> Schema:
    """The types of the columns that are published: the pane's own, its key, and those that the steps make.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO`` for a step that makes one of the pane's own columns, or cannot be taken.
    """
    given = kernel.no_panes.schema
    if not steps:
        return dict(given)
    bounds = dict.fromkeys(_BOUNDS, MOMENT)
    made = schema_after(steps, {**kernel.key_types, **kernel.aggregates.output_schema, **bounds})
    taken = sorted({*made} & {*RESERVED_COLUMNS} - {*_BOUNDS})
    if taken:
        raise SubmissionError(
            f"a step after the last grouping makes the column {taken[0]!r}",
            reason="a pane has a column of that name of its own",
            hint="choose another name",
            code="SUBMIT_PAR_DO",
        )
    belonging = {**bounds, **kernel.key_types}
    own = {name: dtype for name, dtype in given.items() if name in RESERVED_COLUMNS}
    return {**belonging, **{name: dtype for name, dtype in made.items() if name not in belonging}, **own}


def results_of(steps: Sequence[ParDo], kernel: Kernel, panes: pl.DataFrame) -> pl.DataFrame:
    """The rows that are published in place of some panes of one epoch and partition, in their order.

    Of a grouping that accumulates, a pane replaces the one before. Its retraction is only published where nothing is
    left of the pane that replaces it.

    Raises:
        DataError: ``DATA_PAR_DO`` where a step fails, or changes the key or the window of a result.
    """
    if not steps:
        return panes
    schema = results_schema(steps, kernel)
    belonging = [*_BOUNDS, *kernel.grouping.key]
    carried = [name for name in schema if name in belonging or name in RESERVED_COLUMNS]
    if TIMESTAMP in panes.columns:
        event = pl.col(TIMESTAMP)
    else:
        event = pl.col("window_end").dt.epoch("us").fill_null(MAX_TIME) - 1
    elements = panes.select(
        *kernel.grouping.output_columns,
        event.alias(EVENT),
        pl.col("processing_time").dt.epoch("us").alias(ARRIVAL),
        *(pl.col(name).alias(_OF_PANE + name) for name in carried),
        pl.int_range(pl.len(), dtype=pl.Int64).alias(_NUMBER),
    )
    made = apply(steps, elements).sort(_NUMBER, maintain_order=True)
    _check_belongs(made, belonging)
    found = made.select(pl.col(_OF_PANE + name).alias(name) if name in carried else pl.col(name) for name in schema)
    return (
        _with_needed_retractions(found, panes, belonging)
        if kernel.keeps_last_published and not kernel.retracts
        else found
    )


def _check_belongs(made: pl.DataFrame, belonging: Sequence[str]) -> None:
    for name in belonging:
        if name in made.columns:
            changed = made.filter(pl.col(name).ne_missing(pl.col(_OF_PANE + name)))
            if len(changed):
                before, after = changed[_OF_PANE + name][0], changed[name][0]
                raise DataError(
                    f"a step after the last grouping changes {name!r} from {before!r} to {after!r}",
                    reason="a result belongs to its key and window, by which a later one replaces it",
                    hint="give the new column another name",
                    code="DATA_PAR_DO",
                )


def _with_needed_retractions(found: pl.DataFrame, panes: pl.DataFrame, belonging: Sequence[str]) -> pl.DataFrame:
    """Without the retraction of each pane that the next one replaces, or that no pane of its window follows."""
    by = [*belonging, "pane_index"]
    replaced = pl.col("pane_index") - 1

    def replacing(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.filter(~pl.col("pane_is_retraction")).select(*belonging, replaced).unique()

    back = found.with_row_index(_NUMBER).filter(pl.col("pane_is_retraction"))
    needed = back.join(replacing(panes), on=by, how="semi", nulls_equal=True)
    needed = needed.join(replacing(found), on=by, how="anti", nulls_equal=True)
    at = pl.int_range(pl.len(), dtype=pl.UInt32)
    return found.filter(~pl.col("pane_is_retraction") | at.is_in(needed[_NUMBER].implode()))
