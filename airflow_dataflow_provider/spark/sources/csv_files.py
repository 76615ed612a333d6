"""CSV files: fields as text, and rows that have not a field for each column, which are kept as they are.

An empty field is null, ``""`` is empty text. Blank lines are no rows, except where there is one column only.
"""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from airflow_dataflow_provider.model.file_formats import Csv
from airflow_dataflow_provider.spark.sources.conversion import Conversion, inferred, of_text
from airflow_dataflow_provider.spark.sources.file_reader import (
    LINE,
    LOOKED_AT,
    FileReader,
    Found,
    Loaded,
    broken_rows,
)
from airflow_dataflow_provider.spark.sources.opening import text_of
from airflow_dataflow_provider.spark.values.type_table import Schema

if TYPE_CHECKING:
    from pyarrow.csv import InvalidRow

_BLOCK = 2**24
"""The bytes that are parsed at once; also the longest row."""


@dataclass(frozen=True, slots=True)
class CsvReader(FileReader):
    """Reads a CSV file."""

    def found(self) -> Found:
        rows = _Parsed(text_of(self.source, self.file), self._format()).rows.head(LOOKED_AT)
        said, times = self.said(), self.source.columns()
        types = {
            name: said.get(name) or (pl.String() if name in times else inferred(rows[name])) for name in rows.columns
        }
        return Found(types, rows)

    def load(self, schema: Schema, between: tuple[int, int] | None) -> Loaded:  # noqa: ARG002 - text has no statistics
        """Read the wanted columns as text: a value that does not read as its type must be seen, not become null."""
        data, form = text_of(self.source, self.file), self._format()
        parsed = _Parsed(data, form, list(schema) or None)
        broken = broken_rows(
            [row.text for row in parsed.ragged],
            parsed.lines_of_ragged(),
            [f"it has {row.actual_columns} fields, not {row.expected_columns}" for row in parsed.ragged],
        )

        def whole(mask: pl.Series) -> pl.DataFrame:
            everything, places = _Parsed(data, form), mask.arg_true()
            return everything.rows[places].with_columns(everything.lines_of_rows(places))

        return Loaded(parsed.rows, broken, whole)

    def conversion(self, name: str, found: pl.DataType, kept: pl.DataType) -> Conversion:
        if found == pl.Null:
            return Conversion(pl.lit(None, dtype=kept))
        form = self.source.time_formats().get(name)
        return of_text(name, kept, self.source.time_zone, form, said=name in self.source.said())

    def _format(self) -> Csv:
        form = self.source.file_format
        if not isinstance(form, Csv):
            raise TypeError(form)
        return form


class _Parsed:
    """A file, parsed.

    Args:
        data: its text.
        form: how its fields are written.
        columns: those that are wanted, in the order of :attr:`rows`; None: all.

    Raises:
        ValueError: it is no CSV: no header, a column that comes twice, not UTF-8, a quote that is never closed.
    """

    def __init__(self, data: bytes, form: Csv, columns: Sequence[str] | None = None) -> None:
        self._data, self._form = data, form
        self._names = list(form.columns) or self._header()
        self._has_one_column = len(self._names) == 1
        self.ragged: list[InvalidRow] = []
        self.rows = self._parse(self._names if columns is None else columns)

    def lines_of_ragged(self) -> list[int]:
        """The lines where ragged rows begin."""
        starts = self._starts() if self.ragged else []
        return [starts[row.number - 1] for row in self.ragged]

    def lines_of_rows(self, rows: pl.Series) -> pl.Series:
        """The lines where some of :attr:`rows` begin, by their places."""
        ragged = {row.number for row in self.ragged}
        header = 0 if self._form.columns else 1
        starts = [start for number, start in enumerate(self._starts(), 1) if number > header and number not in ragged]
        return pl.Series(LINE, starts, dtype=pl.Int64)[rows]

    def _header(self) -> list[str]:
        with self._reader() as reader:
            names: list[str] = next((row for row in reader if row), [])
        if not names:
            raise ValueError("it has no header")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"its header has the column {twice[0]!r} twice")
        return names

    def _parse(self, columns: Sequence[str]) -> pl.DataFrame:
        def keep(row: InvalidRow) -> str:
            self.ragged.append(row)
            return "skip"

        form, data = self._form, self._data
        if form.columns and not data.removeprefix(b"\xef\xbb\xbf").strip(b"" if self._has_one_column else b"\r\n"):
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        # A quote that is never closed would swallow the rest of the file, and this last line with it.
        last = uuid.uuid4().hex if form.quote is not None and form.quote.encode() in data else None
        if last is not None:
            data += (b"" if data.endswith((b"\n", b"\r")) else b"\n") + last.encode()
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=_BLOCK, column_names=list(form.columns) or None
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=form.separator,
                quote_char=form.quote or False,
                newlines_in_values=form.quote is not None,
                ignore_empty_lines=not self._has_one_column,
                invalid_row_handler=keep,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self._names, pa.large_string()),
                include_columns=[*columns],
                null_values=["", *form.null_values],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        rows = pl.DataFrame(pl.from_arrow(table, rechunk=False))
        if last is None:
            return rows
        if self._has_one_column:
            end, rows = rows[-1, 0], rows[:-1]
        else:
            end = self.ragged.pop().text if self.ragged else None
        if end != last:
            raise ValueError("a quotation mark is opened and never closed")
        return rows

    def _starts(self) -> list[int]:
        """The line where each row begins, the header among them."""
        starts, begin = list[int](), 1
        with self._reader() as reader:
            for row in reader:
                if row or self._has_one_column:
                    starts.append(begin)
                begin = reader.line_num + 1
        return starts

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """Python's parser, which knows the lines; it splits rows as Arrow's does."""
        form = self._form
        most = csv.field_size_limit(_BLOCK)
        try:
            yield csv.reader(
                io.TextIOWrapper(io.BytesIO(self._data), "utf-8-sig", newline=""),
                delimiter=form.separator,
                quotechar=form.quote,
                quoting=csv.QUOTE_NONE if form.quote is None else csv.QUOTE_MINIMAL,
            )
        except csv.Error as error:
            raise ValueError(str(error)) from error
        finally:
            csv.field_size_limit(most)
