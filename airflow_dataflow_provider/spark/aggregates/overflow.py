"""Sums that leave 64 bits are refused by name; they never wrap around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from airflow_dataflow_provider.model.errors import DataError
from airflow_dataflow_provider.spark.aggregates.polars_errors import errors_carried

_TOO_LARGE = re.compile(r"conversion from `i128` to `i64` failed in column '([^']*)'")


@contextmanager
def sums_that_fit() -> Iterator[None]:
    """Around whatever adds up; errors of the user's own combiners come out with their codes.

    Raises:
        DataError: ``DATA_OVERFLOW`` where a sum of integers has more than 64 bits.
    """
    try:
        with errors_carried():
            yield
    except pl.exceptions.InvalidOperationError as error:
        found = _TOO_LARGE.search(str(error))
        if found is None:
            raise
        raise DataError(
            f"a sum of integers ({found[1].removesuffix('.sum')}) does not fit into 64 bits",
            reason="published as it is it would be another, smaller number",
            hint="sum floating-point numbers instead, or a larger unit; what is committed stays as it was",
            code="DATA_OVERFLOW",
        ) from error
