"""Times in tests, which may be written as times of day."""

from __future__ import annotations

import datetime as dt
import re

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_micros

DEFAULT_DAY = "2013-01-01"
"""The day of a time of day, in UTC."""

Moment = dt.datetime | str
"""An aware datetime, ISO 8601 text with an offset, a time of day such as ``"12:00:26"``, ``"-inf"`` or ``"+inf"``."""

_TIME_OF_DAY = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")


def moment(value: Moment, *, day: str = DEFAULT_DAY, what: str = "time") -> Micros:
    """Read a time as microseconds since the epoch.

    Raises:
        DefinitionError: ``TIME_NAIVE`` or ``TIME_UNPARSABLE``.
    """
    if value in ("-inf", "+inf"):
        return MIN_TIME if value == "-inf" else MAX_TIME
    if isinstance(value, str) and _TIME_OF_DAY.fullmatch(value):
        return to_micros(f"{day}T{value}Z", what=what)
    return to_micros(value, what=what)


def start_of(day: str) -> Micros:
    """Midnight of a day such as ``"2013-01-01"``, UTC.

    Raises:
        DefinitionError: ``TIME_UNPARSABLE``.
    """
    try:
        return to_micros(f"{dt.date.fromisoformat(day)}T00:00:00Z")
    except (TypeError, ValueError):
        raise DefinitionError(
            f"day={day!r} is not a day", hint=f"write for example {DEFAULT_DAY!r}", code="TIME_UNPARSABLE"
        ) from None
