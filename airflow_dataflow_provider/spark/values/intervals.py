"""Intervals of event time as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.interval import Interval


def contains(interval: Interval, times: pl.Expr) -> pl.Expr:
    """Whether windows that end at these times belong to an interval; false where the time is null.

    Args:
        interval: the interval.
        times: microseconds.
    """
    return ((times > interval.start) & (times <= interval.end)).fill_null(value=False)
