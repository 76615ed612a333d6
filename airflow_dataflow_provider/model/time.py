"""Time: users see aware UTC times, the package computes with integer microseconds since the epoch.

The two infinities are integers too, far enough from the ends of int64 that adding a lateness or a gap cannot overflow.
"""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import Final, Literal

import pendulum

from airflow_dataflow_provider.model.errors import DefinitionError

Micros = int
"""Microseconds since 1970-01-01T00:00:00Z (a time) or a number of microseconds (a duration)."""

MIN_TIME: Final[Micros] = -(2**62)
"""Minus infinity: the watermark before anything is known."""
MAX_TIME: Final[Micros] = 2**62
"""Plus infinity: the watermark at the end of input, and the end of the global window."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
CALENDAR: Final[tuple[Micros, Micros]] = (
    (dt.datetime(1, 1, 1, tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND,
    (dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND,
)
"""The first and the last instant that Python's calendar has."""
ELEMENT_TIMES: Final[tuple[Micros, Micros]] = (
    (dt.datetime(1000, 1, 1, tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND,
    (dt.datetime(9000, 1, 1, tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND,
)
"""The times that an element can have, ``[first, last)``: other times are mistakes, or stand for "none".

They are a thousand years from the calendar's ends, and durations have at most a hundred years, so windows, gaps and
lateness stay inside the calendar."""
ELEMENT_YEARS: Final = "1000 to 8999"
LONGEST: Final[Micros] = 36_525 * 86_400_000_000
"""The longest duration: a hundred years."""
_UNITS: Final[dict[str, Micros]] = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|min|s|m|h|d)", re.IGNORECASE)

Duration = str | Literal[0] | dt.timedelta
"""How users write a duration: ``"1h"``, ``"1h 30m"``, a ``timedelta`` (pendulum's too), or 0."""


def duration(value: Duration, *, what: str = "duration") -> Micros:
    """Read a duration as whole microseconds.

    Raises:
        DefinitionError: ``TIME_BAD_DURATION`` for a number without a unit, for a fraction of a microsecond, for more
            than :data:`LONGEST`, and for anything else.
    """
    length = _length(value)
    if length is None:
        reason, hint = _meant(value)
        raise DefinitionError(f"{what}={value!r} is not a duration", reason=reason, hint=hint, code="TIME_BAD_DURATION")
    if abs(length) > LONGEST:
        raise DefinitionError(
            f"{what}={value!r} is longer than a hundred years",
            reason="windows would reach beyond the years 1 to 9999 of the calendar",
            hint="give at most 36525d; a window without an end is GlobalWindows()",
            code="TIME_BAD_DURATION",
        )
    return length


def _length(value: object) -> Micros | None:
    if isinstance(value, dt.timedelta):
        return _whole_micros(value)
    if isinstance(value, int) and value == 0:
        return None if isinstance(value, bool) else 0
    if isinstance(value, str):
        text = value.strip().replace(" ", "")
        sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
        parts = _DURATION_PART.findall(text)
        if parts and "".join(map("".join, parts)) == text and not _names_a_month(parts):
            total = sum((Fraction(number) * _UNITS[unit.lower()] for number, unit in parts), Fraction())
            if total.denominator == 1:
                return sign * total.numerator
    return None


def _names_a_month(parts: list[tuple[str, str]]) -> bool:
    return any(unit == "M" for _, unit in parts)


def _meant(value: object) -> tuple[str, str]:
    """Why a value is not a duration, and what to write instead."""
    text = str(value).strip()
    if isinstance(value, str) and _names_a_month(_DURATION_PART.findall(value)):
        return '"M" is a month in other notations', 'write "m" for minutes; windows of months: CalendarWindows("month")'
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        return "", 'write for example "90s", "5m", "1h 30m", "1d", or a timedelta'
    seconds = Fraction(text) * _UNITS["s"]
    in_seconds = duration_text(int(seconds)) if seconds.denominator == 1 and seconds else f"{text}s"
    return "a number without a unit can mean anything", f'say "{in_seconds}" for seconds, "{text}ms" for milliseconds'


def duration_text(micros: Micros) -> str:
    """The shortest text that :func:`duration` reads back, e.g. ``"1h30m"``; ``"0s"`` for zero."""
    if micros == 0:
        return "0s"
    sign, rest, out = ("-" if micros < 0 else ""), abs(micros), []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            out.append(f"{count}{unit}")
    return sign + "".join(out)


def check_element_time(time: Micros, what: str) -> None:
    """Refuse a time that sources reject.

    Raises:
        DefinitionError: ``TIME_OUT_OF_RANGE``.
    """
    if not ELEMENT_TIMES[0] <= time < ELEMENT_TIMES[1]:
        raise DefinitionError(
            f"{what} {iso(time)} ({time} us) is not in the years {ELEMENT_YEARS}",
            reason="windows around it could leave the calendar; a run rejects rows with such times",
            hint="give a time within these years",
            code="TIME_OUT_OF_RANGE",
        )


def to_micros(value: dt.datetime | str, *, what: str = "time") -> Micros:
    """Read an aware datetime or an ISO 8601 text with an offset as microseconds since the epoch.

    Raises:
        DefinitionError: ``TIME_NAIVE`` if there is no time zone, ``TIME_UNPARSABLE`` if it is not a time.
    """
    if isinstance(value, str):
        value = parse_iso(value, what=what)
    if not isinstance(value, dt.datetime):
        raise DefinitionError(f"{what}={value!r} is not a time", hint=_ISO_HINT, code="TIME_UNPARSABLE")
    if value.tzinfo is None or value.utcoffset() is None:
        raise DefinitionError(
            f"{what}={value.isoformat()!r} has no time zone",
            reason="a naive time means another instant on every machine",
            hint=_ISO_HINT,
            code="TIME_NAIVE",
        )
    return _whole_micros(dt.datetime.__sub__(value, _EPOCH))


def _whole_micros(delta: dt.timedelta) -> Micros:
    # The base class's arithmetic: pendulum's subclasses take only their own kind as operands.
    return dt.timedelta.__floordiv__(delta, _MICROSECOND)


_ISO_HINT = 'give an offset, for example "2013-01-01T10:00:00Z" or "2013-01-01T05:00:00-05:00"'


def parse_iso(text: str, *, what: str = "time") -> dt.datetime:
    """Parse ISO 8601. The result keeps the offset of the text; without one it is naive."""
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise DefinitionError(
            f"{what}={text!r} is not an ISO 8601 time", hint=_ISO_HINT, code="TIME_UNPARSABLE"
        ) from None


def to_datetime(micros: Micros) -> pendulum.DateTime | None:
    """The UTC datetime of a time, or None for the infinities and for times outside the years 1 to 9999."""
    try:
        return pendulum.instance(_EPOCH + dt.timedelta(microseconds=micros))
    except OverflowError:
        return None


def iso(micros: Micros) -> str:
    """ISO 8601 in UTC with a ``Z``, or ``"-inf"`` / ``"+inf"``, as in documents and messages."""
    moment = to_datetime(micros)
    if moment is None:
        return "-inf" if micros < 0 else "+inf"
    text = f"{moment.year:04d}-{moment.strftime('%m-%dT%H:%M:%S')}"
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{text}{fraction}Z"


def from_iso(text: str) -> Micros:
    if text == "-inf":
        return MIN_TIME
    if text == "+inf":
        return MAX_TIME
    return to_micros(text)
