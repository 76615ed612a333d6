"""Carries errors with a code out of functions that polars calls.

Polars raises the exception of such a function anew, from its class and its text alone, with words of its own behind the
text. An error with a code would not survive that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import polars as pl

from airflow_dataflow_provider.model.errors import DataflowError


class InFrame(Exception):  # noqa: N818 - carries an error, and is none that anybody sees
    """Carries an error as JSON, in the first line of its text."""


def carrying(function: Callable[[pl.Series], pl.Series]) -> Callable[[pl.Series], pl.Series]:
    """The function, with its errors carried; :func:`errors_carried` takes them out again."""

    def called(column: pl.Series) -> pl.Series:
        try:
            return function(column)
        except DataflowError as error:
            raise InFrame(json.dumps(error.to_json())) from error

    return called


@contextmanager
def errors_carried() -> Iterator[None]:
    """Around whatever lets polars call functions that are :func:`carrying`."""
    try:
        yield
    except InFrame as error:
        raise DataflowError.from_json(json.loads(str(error).partition("\n")[0])) from error
