"""Reading one file of a source, whatever its format: the interface of a format, and what a file gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from airflow_dataflow_provider.spark.sources.conversion import Conversion
from airflow_dataflow_provider.spark.values.type_table import Schema, type_named

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.sources import Files

TEXT, LINE, FILE, REASON = "_text", "_line", "_file", "_reason"
"""Columns of rejected rows: a row that is none of the table's, the line where it begins, its file, and the reason."""
LOOKED_AT = 10_000
"""Rows of a first file of text that say what types its columns have."""


@dataclass(frozen=True, slots=True)
class Found:
    """The columns of a first file.

    Attributes:
        types: of every column; ``Null`` where all are null, ``Unknown`` where there is no type for all of them.
        texts: values of columns with text, to see how times are written.
    """

    types: Mapping[str, pl.DataType]
    texts: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rows of a file.

    Attributes:
        rows: the wanted columns, as the file has them.
        broken: rows that are none, with :data:`REASON`, and :data:`TEXT` and :data:`LINE`.
        whole: the rows where a mask is true, as they stand in the file, with :data:`LINE` where the format has lines.
    """

    rows: pl.DataFrame
    broken: pl.DataFrame
    whole: Callable[[pl.Series], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class FileReader(ABC):
    """Reads one file.

    Args:
        source: says what the file is.
        file: its path or URL.
    """

    has_lines: ClassVar[bool] = True
    """Whether the file is text: its values say what they are one by one, and a row can be found by its line."""

    source: Files
    file: str

    @abstractmethod
    def found(self) -> Found:
        """The columns of the file, as one that is the first of its source."""

    @abstractmethod
    def load(self, schema: Schema, between: tuple[int, int] | None) -> Loaded:
        """Read the file.

        Args:
            schema: the wanted columns, in the types they are kept in.
            between: only event times in ``[from, to)`` are of interest; microseconds. A hint.

        Raises:
            DataError: ``DATA_COLUMN_MISSING``.
        """

    @abstractmethod
    def conversion(self, name: str, found: pl.DataType, kept: pl.DataType) -> Conversion | None:
        """How a column that is no time gets its kept type; None where values of its type never do."""

    def said(self) -> Schema:
        """The types that ``schema=`` says."""
        times = self.source.columns()
        return {name: type_named(of) for name, of in self.source.said().items() if name not in times}


def broken_rows(texts: list[str], lines: list[int], reasons: list[str] | None = None) -> pl.DataFrame:
    """Rows as they stand in a file, in the order of its lines."""
    columns = {TEXT: pl.Series(texts, dtype=pl.String), LINE: pl.Series(lines, dtype=pl.Int64)}
    return pl.DataFrame(columns if reasons is None else columns | {REASON: pl.Series(reasons, dtype=pl.String)})
