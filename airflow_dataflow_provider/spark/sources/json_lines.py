"""JSON lines: an object on each line. A key that is missing is null; a value of another kind rejects its line.

Lines are parsed by msgspec, which tells an integer from a float, a truth value and text, and keeps integers of any size
(``docs/decisions/0019-json-lines.md``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
import polars as pl

from airflow_dataflow_provider.spark.sources.conversion import Conversion, of_column, of_text
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
    from polars._typing import PolarsDataType

_BOM = b"\xef\xbb\xbf"
_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_GREATEST_FLOAT = int(sys.float_info.max)
_Line = tuple[int, bytes]
"""A line of a file with its number."""


@dataclass(frozen=True, slots=True)
class JsonLinesReader(FileReader):
    """Reads a file of JSON lines."""

    def found(self) -> Found:
        said = self.said()
        first = islice(_lines(text_of(self.source, self.file)), LOOKED_AT)
        lines, objects, _ = _decoded(first, msgspec.json.Decoder(dict[str, Any]).decode)
        names = list(dict.fromkeys(name for each in objects for name in each))
        types = {name: _type_of([each.get(name) for each in objects]) for name in names}
        times = [name for name in self.source.columns() if name in types or not objects]
        texts = {
            name: _taken(_written([each.get(name) for each in objects], name, lines), pl.String())[0] for name in times
        }
        types |= dict.fromkeys(times, pl.String())
        return Found(types | said, pl.DataFrame(texts))

    def load(self, schema: Schema, between: tuple[int, int] | None) -> Loaded:  # noqa: ARG002 - text has no statistics
        fields = {name: f"f{number}" for number, name in enumerate(schema)}
        row = msgspec.defstruct(
            "Row",
            [(field, Any, None) for field in fields.values()],
            rename={field: name for name, field in fields.items()},
            gc=False,
        )
        lines, objects, reasons = _decoded(_lines(text_of(self.source, self.file)), msgspec.json.Decoder(row).decode)
        columns: dict[str, pl.Series] = {}
        others: dict[int, str] = {}
        for name, dtype in schema.items():
            values = [getattr(each, fields[name]) for each in objects]
            if name in self.source.columns() or _is_written(dtype):
                columns[name], other = _taken(_written(values, name, lines), pl.String())
            else:
                columns[name], other = _taken(values, dtype)
            for place in other:
                others.setdefault(place, f"{name} does not read as {dtype}")
        rows = pl.DataFrame(columns) if columns else pl.DataFrame({LINE: range(len(lines))})
        if others:
            reasons += [(lines[place], reason) for place, reason in others.items()]
            good = [place for place in range(len(lines)) if place not in others]
            rows, lines = rows[good], [lines[place] for place in good]
        reasons.sort()

        def whole(mask: pl.Series) -> pl.DataFrame:
            bad = [lines[place] for place in mask.arg_true()]
            return broken_rows([_text(line) for _, line in bad], [number for number, _ in bad])

        texts, numbers = [_text(line) for (_, line), _ in reasons], [number for (number, _), _ in reasons]
        return Loaded(rows, broken_rows(texts, numbers, [reason for _, reason in reasons]), whole)

    def conversion(self, name: str, found: pl.DataType, kept: pl.DataType) -> Conversion:
        if _is_written(kept) and found == pl.String:
            form = self.source.time_formats().get(name)
            return of_text(name, kept, self.source.time_zone, form, said=True)
        return of_column(name, found, kept, self.source.time_zone)


def _lines(data: bytes) -> Iterator[_Line]:
    """The lines that are not blank."""
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if line and not line.isspace():
            yield number, line


def _decoded(
    found: Iterable[_Line], decode: Callable[[bytes], Any]
) -> tuple[list[_Line], list[Any], list[tuple[_Line, str]]]:
    """The lines that are objects, the objects, and the other lines with the reason."""
    lines: list[_Line] = []
    objects: list[Any] = []
    reasons: list[tuple[_Line, str]] = []
    for each in found:
        try:
            objects.append(decode(each[1]))
        except _MALFORMED as error:
            reasons.append((each, f"it is no JSON object: {error}"))
        else:
            lines.append(each)
    return lines, objects, reasons


def _is_written(dtype: pl.DataType) -> bool:
    """Whether JSON writes values of a type as text, or as numbers of which every digit counts."""
    return dtype in (pl.Date, pl.Datetime) or dtype.is_decimal()


def _text(line: bytes) -> str:
    return line.decode(errors="replace")


class _Other:
    """Stands for a value of another kind."""


_OTHER: Final = _Other()


def _written(values: list[Any], name: str, lines: Sequence[_Line]) -> list[Any]:
    """Values as text: numbers with every digit that their line has."""
    if {*map(type, values)} <= {str, type(None)}:
        return values
    return [
        value if value is None or isinstance(value, str) else _token(value, name, line)
        for value, (_, line) in zip(values, lines, strict=True)
    ]


def _token(value: Any, name: str, line: bytes) -> Any:  # noqa: ANN401 - of every kind
    match value:
        case bool():
            return _OTHER
        case int():
            return str(value)
        case float():
            return bytes(msgspec.json.decode(line, type=dict[str, msgspec.Raw])[name]).decode().strip()
        case _:
            return _OTHER


def _taken(values: list[Any], dtype: pl.DataType) -> tuple[pl.Series, list[int]]:
    """Values as a column of a type takes them, and the places of those that it does not take, which are null there."""
    kind = _KINDS.get(dtype)
    if kind is not None and {*map(type, values)} <= {kind, type(None)}:
        try:
            return pl.Series(values, dtype=dtype, strict=True), []
        except (TypeError, OverflowError):
            pass  # an integer that is none of this type's
    taken = [_as(value, dtype) for value in values]
    others = [place for place, value in enumerate(taken) if value is _OTHER]
    for place in others:
        taken[place] = None
    return pl.Series(taken, dtype=dtype, strict=True), others


def _type_of(values: Sequence[Any]) -> pl.DataType:
    """The type of values: ``Null`` where all are null, ``Unknown`` where it is not known for all that is in them."""
    given = [value for value in values if value is not None]
    match sorted(kind.__name__ for kind in {*map(type, given)}):
        case []:
            return pl.Null()
        case ["bool"]:
            return pl.Boolean()
        case ["str"]:
            return pl.String()
        case ["int"] if all(-(2**63) <= value < 2**63 for value in given):
            return pl.Int64()
        case ["float"] | ["float", "int"]:
            return pl.Float64()
        case ["list"]:
            inner = _type_of([item for value in given for item in value])
            return pl.Unknown() if inner in _NOT_KNOWN else pl.List(inner)
        case ["dict"]:
            names = dict.fromkeys(name for value in given for name in value)
            parts = {name: _type_of([value.get(name) for value in given]) for name in names}
            unknown = not parts or any(part in _NOT_KNOWN for part in parts.values())
            return pl.Unknown() if unknown else pl.Struct(parts)
        case _:
            return pl.Unknown()


_NOT_KNOWN = (pl.Null, pl.Unknown)
_KINDS: dict[PolarsDataType, type] = {
    pl.String(): str,
    pl.Boolean(): bool,
    pl.Float64(): float,
    pl.Int64(): int,
    pl.UInt64(): int,
}
"""Kinds of values that a column takes as they are, integers within its bounds."""


def _as(value: Any, dtype: PolarsDataType) -> Any:  # noqa: ANN401 - of every kind
    """A value as a column of a type takes it: one that is equal; :data:`_OTHER` where there is none."""
    if value is None:
        return None
    match value, dtype:
        case bool(), pl.Boolean():
            return value
        case bool(), _:
            return _OTHER
        case (str(), pl.String()) | (float(), pl.Float64()):
            return value
        case int(), pl.Float64():
            return float(value) if abs(value) <= _GREATEST_FLOAT and int(float(value)) == value else _OTHER
        case int() | float(), pl.Int64() | pl.UInt64():
            least, most = (-(2**63), 2**63 - 1) if dtype == pl.Int64 else (0, 2**64 - 1)
            return int(value) if value == value // 1 and least <= value <= most else _OTHER
        case list(), pl.List(inner=inner):
            items = [_as(item, inner) for item in value]
            return _OTHER if _OTHER in items else items
        case dict(), pl.Struct(fields=fields):
            parts = {field.name: _as(value.get(field.name), field.dtype) for field in fields}
            return _OTHER if _OTHER in parts.values() else parts
        case _:
            return _OTHER
