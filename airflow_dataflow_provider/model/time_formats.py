"""Time formats: how times are written that are neither timestamps nor ISO 8601 text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_dataflow_provider.model.column_types import TIMESTAMP
from airflow_dataflow_provider.model.errors import DefinitionError

EPOCH_UNITS = {
    "epoch_seconds": 10**9,
    "epoch_milliseconds": 10**6,
    "epoch_microseconds": 10**3,
    "epoch_nanoseconds": 1,
}
"""Counts since 1970-01-01T00:00:00Z, each with the nanoseconds of its unit."""
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_KNOWN = {*"YmdHIMSfpjbBaAz%"}
_REFUSED = {
    "y": "a year of two digits may be of either century",
    "Z": "names of time zones are ambiguous: leave the name out and say time_zone=",
    "s": "say 'epoch_seconds'",
}
_DAYS = ({"Y", "m", "d"}, {"Y", "b", "d"}, {"Y", "B", "d"}, {"Y", "j"})
"""Directives that together say which day it is."""

TimeFormats = tuple[tuple[str, str], ...]
"""Columns with their time formats, in the order of columns: a mapping that can be hashed."""


def time_formats(asked: object, columns: tuple[str, ...], schema: Mapping[str, str]) -> TimeFormats:
    """Check the time formats of a source.

    Args:
        asked: one format, for all the time columns of the source; or a mapping from columns; or what this gave for one.
        columns: the time columns of the source.
        schema: the types of other columns; timestamps and dates may have a format.

    Raises:
        DefinitionError: ``DEFINITION_SOURCE``.
    """
    if isinstance(asked, str):
        if not columns:
            raise _refused(f"time_format={asked!r} is for no column", "name the columns: time_format={column: format}")
        asked = dict.fromkeys(columns, asked)
    found = dict(asked) if isinstance(asked, tuple) else asked
    if not isinstance(found, Mapping):
        raise _refused(f"time_format={asked!r} is neither a format nor a mapping from columns to formats")
    for column, text in found.items():
        kind = TIMESTAMP if column in columns else schema.get(column)
        if kind not in {TIMESTAMP, "date"}:
            raise _refused(
                f"time_format= names {column!r}, which is no time", f"schema={{{column!r}: 'timestamp'}} makes it one"
            )
        _check(text)
        if kind == "date" and text in EPOCH_UNITS:
            raise _refused(f"time_format={{{column!r}: {text!r}}} is for a date", "say that it is a timestamp")
    return tuple(sorted(found.items()))


def has_offset(text: str) -> bool:
    """Whether times in a format say themselves which instant they mean."""
    return text in EPOCH_UNITS or "%z" in text


def _check(text: object) -> None:
    if not isinstance(text, str) or (text not in EPOCH_UNITS and "%" not in text):
        raise _refused(f"time_format={text!r} is not known")
    if text in EPOCH_UNITS:
        return
    found = _DIRECTIVE.findall(text)
    for each in found:
        if each not in _KNOWN:
            raise _refused(f"time_format={text!r} has %{each}", _REFUSED.get(each, ""))
    if not any(day <= {*found} for day in _DAYS):
        raise _refused(f"time_format={text!r} does not say which day it is", "it needs a year, a month and a day")
    if ("I" in found) != ("p" in found):
        raise _refused(f"time_format={text!r} has one of %I and %p", "they are an hour together; or use %H")
    if "f" in found and not re.search(r"%S\.%f|:%S,%f", text):
        raise _refused(f"time_format={text!r} has %f elsewhere than in '%S.%f' or ':%S,%f'")
    twice = [each for each in found if each != "%" and found.count(each) > 1]
    if twice:
        raise _refused(f"time_format={text!r} has %{twice[0]} twice", "name each part of a time once")


def _refused(what: str, hint: str = "") -> DefinitionError:
    known = f"write a pattern such as '%d.%m.%Y %H:%M:%S', or one of {', '.join(EPOCH_UNITS)}"
    return DefinitionError(f"Files {what}", hint=hint or known, code="DEFINITION_SOURCE")
