"""The types that a source's columns can be said to have, by name: ``int64``, ``decimal(18,2)``, ``list<string>``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from airflow_dataflow_provider.model.errors import DefinitionError

TYPE_NAMES = ("int64", "uint64", "float64", "string", "boolean", "binary", "date", "timestamp")
"""Beside decimals, lists and structs. A ``timestamp`` is an instant, in microseconds."""
TIMESTAMP = "timestamp"
MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")

ColumnTypes = tuple[tuple[str, str], ...]
"""Columns with the names of their types, in the order of columns: a mapping that can be hashed."""


def digits(name: str) -> tuple[int, int] | None:
    """Precision and scale of a ``decimal(precision,scale)``; None for another type."""
    match = _DECIMAL.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def items(name: str) -> str | None:
    """The type of the items of a ``list<type>``; None for another type."""
    return name[len("list<") : -1].strip() if name.startswith("list<") and name.endswith(">") else None


def fields(name: str) -> tuple[tuple[str, str], ...] | None:
    """Names and types of the fields of a ``struct<name:type,...>``; None for another type."""
    if not (name.startswith("struct<") and name.endswith(">")):
        return None
    parts = (part.partition(":") for part in _parts(name[len("struct<") : -1]))
    return tuple((field.strip(), of.strip()) for field, _, of in parts)


def leaves(name: str) -> Iterator[str]:
    """The types that a type consists of, without lists and structs."""
    item = items(name)
    inner = [item] if item is not None else [of for _, of in fields(name) or ()]
    for each in inner:
        yield from leaves(each)
    if not inner:
        yield name


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
    text = _normal(name.strip()) if isinstance(name, str) else None
    if text is None:
        raise _refused(f"schema={{{column!r}: {name!r}}} names no type")
    return text


def _normal(text: str) -> str | None:
    """A type as it is written without blanks; None where it is none."""
    item, parts, decimal = items(text), fields(text), digits(text.lower())
    if item is not None:
        inner = _normal(item)
        return None if inner is None else f"list<{inner}>"
    if parts is not None:
        types = {field: _normal(of) for field, of in parts}
        if not all(types) or None in types.values() or len(types) < len(parts):
            return None
        return f"struct<{','.join(f'{field}:{of}' for field, of in types.items())}>"
    if decimal is not None and 1 <= decimal[0] <= MOST_DIGITS and decimal[1] <= decimal[0]:
        return f"decimal({decimal[0]},{decimal[1]})"
    return text.lower() if text.lower() in TYPE_NAMES else None


def _parts(text: str) -> Iterator[str]:
    """What commas separate that stand in no brackets."""
    depth = begin = 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _refused(what: str) -> DefinitionError:
    return DefinitionError(
        f"Files {what}",
        hint=f'write schema={{"zip": "string", "price": "decimal(18,2)"}}; the types are {", ".join(TYPE_NAMES)}, '
        f"decimal(precision,scale) with at most {MOST_DIGITS} digits, list<type> and struct<name:type,name:type>",
        code="DEFINITION_SOURCE",
    )
