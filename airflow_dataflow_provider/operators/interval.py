"""The interval of event time of a batch run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import Micros, iso, parse_iso, to_micros
from airflow_dataflow_provider.operators.grain import Grain, wall_time

if TYPE_CHECKING:
    from airflow.sdk import Context

Moment = str | dt.datetime


@dataclass(frozen=True, slots=True)
class GivenInterval:
    """An interval and its origin, for messages."""

    interval: Interval
    given_by: str

    @classmethod
    def of(cls, start: Micros, end: Micros, given_by: str) -> GivenInterval:
        """Make the interval; an error names its origin."""
        try:
            return cls(Interval(start, end), given_by)
        except DefinitionError as error:
            raise DefinitionError(
                f"{given_by}: {error.what}", reason=error.reason, hint=error.hint, code="SUBMIT_INTERVAL"
            ) from None

    def __str__(self) -> str:
        return f"{self.interval}, given by {self.given_by}"

    def arguments(self) -> list[str]:
        """The interval as command line arguments."""
        return ["--from", iso(self.interval.start), "--to", iso(self.interval.end)]


def explicit_interval(data_from: Moment | None, data_to: Moment | None) -> GivenInterval | None:
    """The interval of ``data_from`` and ``data_to``; None where neither is given.

    Raises:
        DefinitionError: ``SUBMIT_INTERVAL``, ``TIME_NAIVE``, ``TIME_UNPARSABLE``.
    """
    return _pair(data_from, data_to, "the arguments data_from and data_to")


def interval_of(
    context: Context,
    *,
    data_from: Moment | None,
    data_to: Moment | None,
    partition_grain: Grain | None,
    partition_timezone: str,
) -> GivenInterval:
    """The interval of a run.

    It is the first of these that is given: the explicit arguments; ``from`` and ``to`` in the DAG run's conf; its
    partition key; its data interval, if it has a width (cron texts and timedeltas as schedules give none).

    Raises:
        DefinitionError: ``SUBMIT_NO_INTERVAL`` where none is given, and as :func:`explicit_interval`.
    """
    dag_run = context["dag_run"]
    conf = dag_run.conf if isinstance(dag_run.conf, Mapping) else {}
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    interval = (
        explicit_interval(data_from, data_to)
        or _pair(conf.get("from"), conf.get("to"), "the conf of the DAG run")
        or _of_partition(
            context.get("partition_key"), context.get("partition_date"), partition_grain, ZoneInfo(partition_timezone)
        )
        or (_pair(start, end, "the data interval") if start and end and start < end else None)
    )
    if interval is None:
        raise DefinitionError(
            "no interval was given for this batch run",
            reason="there are no data_from and data_to, no from and to in the DAG run's conf, no partition key, and no "
            "data interval with a width (a cron text or a timedelta as schedule gives none, nor may a manual run)",
            hint="schedule with CronDataIntervalTimetable, trigger with conf "
            '{"from": "2013-01-01T00:00:00Z", "to": "2013-01-02T00:00:00Z"}, or set whole_input=True',
            code="SUBMIT_NO_INTERVAL",
        )
    return interval


def _pair(start: Moment | None, end: Moment | None, given_by: str) -> GivenInterval | None:
    if start is None and end is None:
        return None
    for name, moment in (("start", start), ("end", end)):
        if moment is None or moment in ("", "None"):
            raise DefinitionError(
                f"{given_by} leave the {name} of the interval open ({moment!r})",
                reason="an interval needs both ends; a template of a value that the run does not have is empty",
                hint="give both, or neither",
                code="SUBMIT_INTERVAL",
            )
    return GivenInterval.of(to_micros(start, what=given_by), to_micros(end, what=given_by), given_by)  # type: ignore[arg-type]


def _of_partition(
    key: str | None, date: dt.datetime | None, grain: Grain | None, zone: ZoneInfo
) -> GivenInterval | None:
    """The interval of a partition.

    A key ``"START/END"`` holds both ends. Otherwise the start is the timetable's date, or else the key's, and the
    length is one grain. A key without an offset is in the timetable's zone. The hour that occurs twice when clocks are
    put back has one key, and its interval covers both.
    """
    if key is None:
        return None
    first, separator, last = key.partition("/")
    given_by = f"the partition key {key!r}"
    if separator:
        begin, until = (to_micros(wall_time(parse_iso(text, what=given_by), zone)) for text in (first, last))
        return GivenInterval.of(begin, until, given_by)
    if grain is None:
        raise DefinitionError(
            f"{given_by} holds the start of the interval, but not its length",
            hint='set partition_grain, for example "hour" or "day", or use keys of the form START/END',
            code="SUBMIT_INTERVAL",
        )
    if date is not None:
        start = wall_time(date, zone)
        return GivenInterval.of(to_micros(start, what=given_by), grain.end(start), given_by)
    start = wall_time(parse_iso(first, what=given_by), zone)
    end = grain.end(start.replace(fold=1) if is_twice(start) and grain.fixed else start)
    return GivenInterval.of(to_micros(start, what=given_by), end, given_by)


def is_twice(time: dt.datetime) -> bool:
    """Whether this local time occurs twice, because clocks are put back."""
    return time.replace(fold=0).utcoffset() != time.replace(fold=1).utcoffset() and time.fold == 0
