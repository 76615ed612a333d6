"""The length of a partition: days or months of a calendar, or a fixed time."""

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

    Days, weeks and months are those of the calendar. A day on which clocks change is an hour shorter or longer, so that
    consecutive partitions neither overlap nor leave a gap.

    Args:
        months: calendar months.
        days: calendar days.
        fixed: microseconds.
    """

    months: int = 0
    days: int = 0
    fixed: Micros = 0

    @classmethod
    def read(cls, value: Duration) -> Grain:
        """Read ``"hour"``, ``"day"``, ``"week"``, ``"month"``, ``"1w"``, ``"1M"`` (a month), or a duration.

        A duration of whole days means calendar days.

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
                f"partition_grain={value!r} is not positive",
                reason="every partition would be empty",
                hint='give "hour", "day", "week", "month", or a duration such as "15m"',
                code="TIME_BAD_DURATION",
            )
        return grain

    def end(self, start: dt.datetime) -> Micros:
        """The end of the partition that starts at ``start``, by the calendar of its time zone.

        Raises:
            DefinitionError: ``SUBMIT_INTERVAL``, for months that start on a day that not every month has.
        """
        if self.fixed:
            return to_micros(start, what="the start of a partition") + self.fixed
        day = start.date() + dt.timedelta(days=self.days)
        if self.months:
            if day.day > 28:
                raise DefinitionError(
                    f"a partition of months starts on {day}, a day that not every month has",
                    hint="start partitions on the first of a month",
                    code="SUBMIT_INTERVAL",
                )
            years, month = divmod(day.month - 1 + self.months, 12)
            day = day.replace(year=day.year + years, month=month + 1)
        return to_micros(dt.datetime.combine(day, start.time(), tzinfo=start.tzinfo), what="the end of a partition")


def wall_time(time: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """A time in a time zone; a naive time is taken as local time there."""
    return time.astimezone(zone) if time.tzinfo else time.replace(tzinfo=zone)
