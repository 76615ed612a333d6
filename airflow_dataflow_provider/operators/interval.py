"""Which interval of event time a run is about."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Micros, iso, parse_iso, to_micros

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
                why="an interval ends after it starts",
                todo="check the two times, and their order",
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
    partition_grain: Micros | None,
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
        or _of_partition(context.get("partition_key"), partition_grain, partition_timezone)
        or (_pair(start, end, "the data interval") if start and end and start < end else None)
    )
    if interval is None:
        raise DefinitionError(
            "nobody says which interval this batch run is about",
            why="there are no data_from and data_to, no from and to in the DAG run's conf, no partition key, and no "
            "data interval with a width (a cron text or a timedelta as schedule gives none, nor may a manual run)",
            todo="schedule with CronDataIntervalTimetable, trigger with conf "
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
                why="an interval needs both ends; a template over a value that the run does not have is empty",
                todo="give both, or neither",
                code="SUBMIT_INTERVAL",
            )
    return Interval(to_micros(start, what=said_by), to_micros(end, what=said_by), said_by)  # type: ignore[arg-type]


def _of_partition(key: str | None, grain: Micros | None, timezone: str) -> Interval | None:
    """``"START/END"``, or ``"START"`` and a grain; a key without an offset is in the timetable's zone."""
    if key is None:
        return None
    start, separator, end = key.partition("/")
    said_by = f"the partition key {key!r}"
    if separator:
        return Interval(_partition_time(start, timezone, said_by), _partition_time(end, timezone, said_by), said_by)
    if grain is None:
        raise DefinitionError(
            f"{said_by} says where the interval starts, but not how long it is",
            todo='set partition_grain, for example "1h", or use keys of the form START/END',
            code="SUBMIT_INTERVAL",
        )
    begin = _partition_time(start, timezone, said_by)
    return Interval(begin, begin + grain, said_by)


def _partition_time(text: str, timezone: str, said_by: str) -> Micros:
    moment = parse_iso(text, what=said_by)
    return to_micros(moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone)), what=said_by)
