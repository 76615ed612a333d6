"""CSV as text: rows with a value for each column of the header, and those without, which are kept as they are.

An empty field is null, ``""`` is empty text. Blank lines are no rows, except where there is one column only.
"""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

if TYPE_CHECKING:
    from pyarrow.csv import InvalidRow

_BLOCK = 2**24
"""What is parsed at once; also the longest row."""
TEXT = "_text"
"""A row that is not one of the table's, as it is in the file."""


@dataclass(frozen=True, slots=True)
class CsvRows:
    """What a CSV file holds.

    Attributes:
        rows: the columns, all of them text.
        ragged: rows that have more or fewer fields than the header: :data:`TEXT` and the reason.
    """

    rows: pl.DataFrame
    ragged: pl.DataFrame


def header(data: bytes) -> list[str]:
    """The columns of a file.

    Raises:
        ValueError: there are none, one comes twice, or the file is not UTF-8.
    """
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""), strict=False)
    names: list[str] = next((line for line in lines if line), [])
    if not names:
        raise ValueError("it has no header")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"its header has the column {twice[0]!r} twice")
    return names


def read_csv(data: bytes, columns: Sequence[str] | None = None) -> CsvRows:
    """Read a file.

    Args:
        data: its bytes.
        columns: those that are wanted, in the order of the result; None: all.

    Raises:
        ValueError: it is no CSV: no header, not UTF-8, a quote that is never closed.
    """
    names = header(data)
    ragged: list[tuple[str, str]] = []

    def keep(row: InvalidRow) -> str:
        ragged.append(
            (row.text, f"row {row.number} has {row.actual_columns} fields, the header {row.expected_columns}")
        )
        return "skip"

    # A quote that is never closed would swallow the rest of the file, and this last line with it.
    last = uuid.uuid4().hex if b'"' in data else None
    if last is not None:
        data += (b"" if data.endswith((b"\n", b"\r")) else b"\n") + last.encode()
    table = arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        parse_options=arrow_csv.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=len(names) > 1, invalid_row_handler=keep
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            include_columns=names if columns is None else [*columns],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    rows = pl.DataFrame(pl.from_arrow(table, rechunk=False))
    if last is not None:
        end = rows[-1, 0] if len(names) == 1 else ragged.pop()[0] if ragged else None
        rows = rows[:-1] if len(names) == 1 else rows
        if end != last:
            raise ValueError("a quotation mark is opened and never closed")
    return CsvRows(rows, pl.DataFrame(ragged, schema={TEXT: pl.String, "_reason": pl.String}, orient="row"))
