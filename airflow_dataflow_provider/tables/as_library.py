"""Converts results to the types of other libraries. A library is imported only when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    import polars as pl


def as_library(frame: pl.DataFrame, name: str) -> Any:  # noqa: ANN401 - of libraries that need not be installed
    """A frame as a value of another library.

    Args:
        frame: the rows.
        name: ``polars``, ``arrow`` (a table), ``pandas``, ``duckdb`` (a relation of its default connection), or
            ``spark`` (a data frame of the running session, or of a new one).

    Raises:
        SubmissionError: ``SUBMIT_LIBRARY``, where it is none of these, or is not installed.
    """
    if name not in _MAKERS:
        raise SubmissionError(
            f"results cannot be converted to {name!r}",
            hint=f"choose one of {', '.join(_MAKERS)}",
            code="SUBMIT_LIBRARY",
        )
    try:
        return _MAKERS[name](frame)
    except ImportError as error:
        raise SubmissionError(
            f"results cannot be converted to {name}: {error}",
            hint=f"install it, for example with pip install {'pyspark' if name == 'spark' else name}",
            code="SUBMIT_LIBRARY",
        ) from error


def _arrow(frame: pl.DataFrame) -> Any:  # noqa: ANN401
    import polars as pl

    # The oldest equivalent types, since not every library has string views.
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _duckdb(frame: pl.DataFrame) -> Any:  # noqa: ANN401
    import duckdb

    return duckdb.from_arrow(_arrow(frame))


def _spark(frame: pl.DataFrame) -> Any:  # noqa: ANN401
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate().createDataFrame(_arrow(frame))


_MAKERS: Final[dict[str, Callable[[pl.DataFrame], Any]]] = {
    "polars": lambda frame: frame,
    "arrow": _arrow,
    "pandas": lambda frame: frame.to_pandas(),
    "duckdb": _duckdb,
    "spark": _spark,
}
