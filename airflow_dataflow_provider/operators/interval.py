"""Which interval of event time a run is about."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Micros, iso, parse_iso, to_micros
from airflow_dataflow_provider.operators.grain import Grain, wall_time

if TYPE_CHECKING:
    from airflow.sdk import Context

Moment = str | dt.datetime


@dataclass(frozen=True, slots=True)
class Interval:
    """``[start, end)`` of event time, and who said so."""

    start: Micros
    end: Micros
    said_by: str

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise DefinitionError(
                f"{self.said_by} asks for the interval from {iso(self.start)} to {iso(self.end)}",
                reason="an interval ends after it starts",
                hint="check the two times, and their order",
                code="SUBMIT_INTERVAL",
            )

    def __str__(self) -> str:
        return f"[{iso(self.start)}, {iso(self.end)}) by {self.said_by}"

    def arguments(self) -> list[str]:
        """The interval as the command line takes it."""
        return ["--from", iso(self.start), "--to", iso(self.end)]


def explicit_interval(data_from: Moment | None, data_to: Moment | None) -> Interval | None:
    """The interval of ``data_from`` and ``data_to``, None where neither is given.

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
) -> Interval:
    """The interval that a run is about.

    The first that there is of: the explicit arguments; ``from`` and ``to`` in the DAG run's conf; its partition key;
    its data interval, if it has a width (cron texts and timedeltas as schedules give none). Never "now".

    Raises:
        DefinitionError: ``SUBMIT_NO_INTERVAL`` where there is none of them, and as :func:`explicit_interval`.
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


def _pair(start: Moment | None, end: Moment | None, said_by: str) -> Interval | None:
    if start is None and end is None:
        return None
    for name, moment in (("start", start), ("end", end)):
        if moment is None or moment in ("", "None"):
            raise DefinitionError(
                f"{said_by} leave the {name} of the interval open ({moment!r})",
                reason="an interval needs both ends; a template over a value that the run does not have is empty",
                hint="give both, or neither",
                code="SUBMIT_INTERVAL",
            )
    return Interval(to_micros(start, what=said_by), to_micros(end, what=said_by), said_by)  # type: ignore[arg-type]


def _of_partition(key: str | None, date: dt.datetime | None, grain: Grain | None, zone: ZoneInfo) -> Interval | None:
    """The interval of a partition.

    A key ``"START/END"`` says both; else it starts at the date that the timetable gives, else at the key's, and is a
    grain long. A key without an offset is in the timetable's zone. An hour that clocks have twice has one key: its
    interval is both.
    """
    if key is None:
        return None
    first, separator, last = key.partition("/")
    said_by = f"the partition key {key!r}"
    if separator:
        begin, until = (to_micros(wall_time(parse_iso(text, what=said_by), zone)) for text in (first, last))
        return Interval(begin, until, said_by)
    if grain is None:
        raise DefinitionError(
            f"{said_by} says where the interval starts, but not how long it is",
            hint='set partition_grain, for example "hour" or "day", or use keys of the form START/END',
            code="SUBMIT_INTERVAL",
        )
    if date is not None:
        start = wall_time(date, zone)
        return Interval(to_micros(start, what=said_by), grain.end(start), said_by)
    start = wall_time(parse_iso(first, what=said_by), zone)
    end = grain.end(start.replace(fold=1) if is_twice(start) and grain.fixed else start)
    return Interval(to_micros(start, what=said_by), end, said_by)


def is_twice(time: dt.datetime) -> bool:
    """Whether clocks show this time twice, because they are put back."""
    return time.replace(fold=0).utcoffset() != time.replace(fold=1).utcoffset() and time.fold == 0
