"""How long a partition is: by the calendar of the timetable's zone, or a fixed time."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, to_micros

_DAY: Micros = 86_400_000_000
_WORDS = {"hour": "1h", "day": "1d", "week": "7d", "month": "1M"}
_WEEKS_OR_MONTHS = re.compile(r"(\d+)\s*([wWM])")


@dataclass(frozen=True, slots=True)
class Grain:
    """The length of a partition.

    Days, weeks and months are the calendar's: on the days on which clocks change they have an hour less or more, so
    that partitions that follow one another leave no time out and have none twice.

    Args:
        months: of the calendar.
        days: of the calendar.
        fixed: microseconds, which no clock changes.
    """

    months: int = 0
    days: int = 0
    fixed: Micros = 0

    @classmethod
    def read(cls, value: Duration) -> Grain:
        """Read ``"hour"``, ``"day"``, ``"week"``, ``"month"``, ``"1w"``, ``"1M"`` (a month), or a duration.

        A duration of whole days is so many days of the calendar.

        Raises:
            DefinitionError: ``TIME_BAD_DURATION``.
        """
        text = _WORDS.get(value, value) if isinstance(value, str) else value
        named = _WEEKS_OR_MONTHS.fullmatch(text.strip()) if isinstance(text, str) else None
        if named:
            count = int(named[1])
            grain = cls(months=count) if named[2] == "M" else cls(days=7 * count)
        else:
            length = duration(text, what="partition_grain")
            grain = cls(fixed=length) if length % _DAY else cls(days=length // _DAY)
        if max(grain.months, grain.days, grain.fixed) <= 0:
            raise DefinitionError(
                f"partition_grain={value!r} is no length",
                reason="every partition would be empty",
                hint='give "hour", "day", "week", "month", or a duration such as "15m"',
                code="TIME_BAD_DURATION",
            )
        return grain

    def end(self, start: dt.datetime) -> Micros:
        """The end of the partition that starts at a time; the calendar is that of the time's zone.

        Raises:
            DefinitionError: ``SUBMIT_INTERVAL``, for a month that starts on a day that other months do not have.
        """
        if self.fixed:
            return to_micros(start, what="the start of a partition") + self.fixed
        day = start.date() + dt.timedelta(days=self.days)
        if self.months:
            if day.day > 28:
                raise DefinitionError(
                    f"a partition of months starts on {day}, a day that not every month has",
                    hint="let partitions start on the first of a month",
                    code="SUBMIT_INTERVAL",
                )
            years, month = divmod(day.month - 1 + self.months, 12)
            day = day.replace(year=day.year + years, month=month + 1)
        return to_micros(dt.datetime.combine(day, start.time(), tzinfo=start.tzinfo), what="the end of a partition")


def wall_time(time: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """A time as the clocks of a zone have it."""
    return time.astimezone(zone) if time.tzinfo else time.replace(tzinfo=zone)
