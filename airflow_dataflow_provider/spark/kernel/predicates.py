"""Predicates, column-wise."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.predicates import (
    COMPARISONS,
    Both,
    Comparison,
    Either,
    IsIn,
    IsNull,
    Not,
    Predicate,
    PythonPredicate,
)

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.triggers.node import Mask


def mask_of(predicate: Predicate, frame: pl.DataFrame) -> Mask:
    """Where a predicate matches. A user's own function is called for each row."""
    match predicate:
        case Both(left=left, right=right):
            return mask_of(left, frame) & mask_of(right, frame)
        case Either(left=left, right=right):
            return mask_of(left, frame) | mask_of(right, frame)
        case Not(of=of):
            return ~mask_of(of, frame)
        case Comparison(column=column, sign=sign, value=value):
            # Of expressions Python's operators make expressions.
            found = cast("pl.Expr", COMPARISONS[sign](pl.col(column), pl.lit(value)))
        case IsIn(column=column, values=values):
            found = pl.any_horizontal(pl.col(column) == value for value in values) if values else pl.lit(value=False)
        case IsNull(column=column):
            found = pl.col(column).is_null()
        case PythonPredicate() | _:
            names = [name for name in frame.columns if not name.startswith("_")]
            answers = (predicate.matches(row) for row in frame.select(names).iter_rows(named=True))
            return np.fromiter(answers, dtype=np.bool_, count=len(frame))
    matches: Mask = frame.select(found.fill_null(value=False).alias("matches"))["matches"].to_numpy()
    return matches
