"""The types that a source's columns can be said to have, by name: ``int64``, ``string``, ``decimal(18,2)``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_dataflow_provider.model.errors import DefinitionError

TYPE_NAMES = ("int64", "uint64", "float64", "string", "boolean", "binary", "date", "timestamp")
"""Beside ``decimal(precision,scale)``. A ``timestamp`` is an instant, in microseconds."""
TIMESTAMP = "timestamp"
MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")

ColumnTypes = tuple[tuple[str, str], ...]
"""Columns with the names of their types, in the order of columns: a mapping that can be hashed."""


def digits(name: str) -> tuple[int, int] | None:
    """Precision and scale of a ``decimal(precision,scale)``; None for another type."""
    match = _DECIMAL.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def column_types(schema: object) -> ColumnTypes:
    """Check what a source's columns are said to be.

    Args:
        schema: a mapping from columns to names of types, or what this function gave for one.

    Raises:
        DefinitionError: ``DEFINITION_SOURCE``.
    """
    if isinstance(schema, tuple):
        schema = dict(schema)
    if not isinstance(schema, Mapping) or not all(isinstance(name, str) and name for name in schema):
        raise _refused(f"schema={schema!r} is not a mapping from columns to types")
    reserved = sorted(name for name in schema if name.startswith("_"))
    if reserved:
        raise _refused(f"schema= names the column {reserved[0]!r}, and names that start with '_' are the engine's")
    return tuple(sorted((column, _checked(column, name)) for column, name in schema.items()))


def _checked(column: str, name: object) -> str:
    text = name.strip().lower() if isinstance(name, str) else ""
    decimal = digits(text)
    if decimal is not None and 1 <= decimal[0] <= MOST_DIGITS and decimal[1] <= decimal[0]:
        return f"decimal({decimal[0]},{decimal[1]})"
    if text in TYPE_NAMES:
        return text
    raise _refused(f"schema={{{column!r}: {name!r}}} names no type")


def _refused(what: str) -> DefinitionError:
    return DefinitionError(
        f"Files {what}",
        hint=f'write schema={{"zip": "string", "price": "decimal(18,2)"}}; the types are {", ".join(TYPE_NAMES)} '
        f"and decimal(precision,scale) with at most {MOST_DIGITS} digits",
        code="DEFINITION_SOURCE",
    )
