from __future__ import annotations

from typing import Any

import pendulum
import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import from_iso, iso
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.grain import Grain
from airflow_dataflow_provider.operators.interval import interval_of
from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

T0, T1, T2 = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"


def found(context: dict[str, Any], **options: Any) -> tuple[str, str]:
    given: dict[str, Any] = {"data_from": None, "data_to": None, "partition_grain": None, "partition_timezone": "UTC"}
    interval = interval_of(context, **given | options).interval  # type: ignore[arg-type]
    return iso(interval.start), iso(interval.end)


def with_data_interval(context: dict[str, Any], start: str, end: str) -> dict[str, Any]:
    return context | {"data_interval_start": pendulum.parse(start), "data_interval_end": pendulum.parse(end)}


def test_the_arguments_come_first_then_the_conf_then_the_partition_then_the_data_interval(
    context: dict[str, Any],
) -> None:
    context = with_data_interval(context, T0, T1)
    assert found(context) == (T0, T1)
    context["partition_key"] = "2026-01-01T01"
    assert found(context, partition_grain=Grain.read("1h")) == (T1, T2)
    context["dag_run"].conf = {"from": T0, "to": T2}
    assert found(context, partition_grain=Grain.read("1h")) == (T0, T2)
    assert found(context, data_from=T1, data_to=pendulum.parse(T2)) == (T1, T2)


def test_without_any_interval_it_is_an_error_and_never_now(context: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="whole_input=True") as caught:
        found(context)
    assert caught.value.code == "SUBMIT_NO_INTERVAL"


def test_a_data_interval_without_width_is_none(context: dict[str, Any]) -> None:
    # What cron texts and timedeltas give as schedules.
    with pytest.raises(DefinitionError, match="CronDataIntervalTimetable"):
        found(with_data_interval(context, T0, T0))


@pytest.mark.parametrize("key", ["2026-01-01T01:00:00/2026-01-01T02:00:00", f"{T1}/{T2}"])
def test_a_partition_key_may_say_both_ends(context: dict[str, Any], key: str) -> None:
    assert found(context | {"partition_key": key}) == (T1, T2)


def test_a_partition_key_without_an_offset_is_in_the_timetables_zone(context: dict[str, Any]) -> None:
    key = {"partition_key": "2026-01-01T02:00:00"}
    assert found(context | key, partition_grain=Grain.read("1h"), partition_timezone="Europe/Vienna") == (T1, T2)


def hours_of(context: dict[str, Any], keys: list[str], grain: str) -> list[str]:
    """Every hour of the partitions of these keys in Vienna, in order."""
    hours: list[str] = []
    for key in keys:
        start, end = found(
            context | {"partition_key": key}, partition_grain=Grain.read(grain), partition_timezone="Europe/Vienna"
        )
        hours += [iso(hour) for hour in range(from_iso(start), from_iso(end), 3_600_000_000)]
    return hours


@pytest.mark.parametrize(("month", "days"), [("2026-03", 31), ("2026-10", 31)])
@pytest.mark.parametrize("grain", ["day", "1d", "24h"])
def test_the_days_of_a_month_have_each_of_its_hours_once(
    context: dict[str, Any], month: str, days: int, grain: str
) -> None:
    by_day = hours_of(context, [f"{month}-{day:02}" for day in range(1, days + 1)], grain)
    assert by_day == hours_of(context, [f"{month}-01"], "month") == hours_of(context, [f"{month}-01"], "1M")
    assert len(by_day) == 24 * days + {"2026-03": -1, "2026-10": 1}[month]


def test_the_weeks_of_a_year_have_each_of_its_hours_once(context: dict[str, Any]) -> None:
    mondays = [pendulum.datetime(2026, 1, 5).add(weeks=week).to_date_string() for week in range(52)]
    by_week = hours_of(context, mondays, "week")
    assert by_week == sorted(set(by_week))
    assert len(by_week) == 52 * 7 * 24


def test_an_hour_that_clocks_have_twice_has_one_key_and_both_hours(context: dict[str, Any]) -> None:
    keys = [f"2026-10-25T{hour:02}:00:00" for hour in range(24)]
    assert hours_of(context, keys, "hour") == hours_of(context, ["2026-10-25"], "day")
    keys = [f"2026-03-29T{hour:02}:00:00" for hour in range(24) if hour != 2]
    assert hours_of(context, keys, "hour") == hours_of(context, ["2026-03-29"], "day")


def test_the_timetables_date_of_a_partition_comes_before_what_its_key_says(context: dict[str, Any]) -> None:
    given = {"partition_key": "at|2026-10-25", "partition_date": pendulum.parse("2026-10-24T22:00:00Z")}
    interval = found(context | given, partition_grain=Grain.read("day"), partition_timezone="Europe/Vienna")
    assert interval == ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")
    second = {"partition_key": "2026-10-25T02:00:00", "partition_date": pendulum.parse("2026-10-25T01:00:00Z")}
    interval = found(context | second, partition_grain=Grain.read("hour"), partition_timezone="Europe/Vienna")
    assert interval == ("2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z")


def test_a_month_from_the_last_of_a_month_on_is_refused(context: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="not every month has"):
        found(context | {"partition_key": "2026-01-31"}, partition_grain=Grain.read("month"))


@pytest.mark.parametrize("grain", ["0h", "-1d", "0M", "fortnight", "1h 1M", "5M 1d"])
def test_a_grain_that_is_no_length_is_refused(grain: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Grain.read(grain)
    assert caught.value.code == "TIME_BAD_DURATION"


def test_a_run_without_an_interval_is_told_so_and_does_not_die_of_its_templates(context: dict[str, Any]) -> None:
    operator = DataflowBatchOperator(
        task_id="batch", pipeline="a:b", data_from="{{ data_interval_start }}", data_to="{{ data_interval_end }}"
    )
    operator.render_template_fields(context)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"leave the start of the interval open") as caught:
        found(context, data_from=operator.data_from, data_to=operator.data_to)
    assert caught.value.code == "SUBMIT_INTERVAL"
    sensor = WatermarkSensor(task_id="complete", state="s", target="{{ data_interval_end }}")
    sensor.render_template_fields(context)  # type: ignore[arg-type]
    with pytest.raises(AirflowFailException, match="TIME_"):
        sensor.execute(context)  # type: ignore[arg-type]


@pytest.mark.parametrize(("key", "message"), [("2026-01-01", "partition_grain"), ("us|2026-01-01", "us|2026")])
def test_a_partition_key_that_gives_no_interval_is_an_error(context: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        found(context | {"partition_key": key})
    assert message in str(caught.value)


@pytest.mark.parametrize("conf", [{"from": T0}, {"from": T0, "to": T0}, {"from": T1, "to": T0}, {"from": "", "to": T0}])
def test_half_an_interval_or_one_that_ends_before_it_starts_is_an_error(
    context: dict[str, Any], conf: dict[str, str]
) -> None:
    context["dag_run"].conf = conf
    with pytest.raises(DefinitionError, match="conf of the DAG run") as caught:
        found(with_data_interval(context, T0, T1))
    assert caught.value.code == "SUBMIT_INTERVAL"


def test_a_template_that_renders_to_nothing_does_not_fall_through(context: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="data_from and data_to"):
        found(with_data_interval(context, T0, T1), data_from="None", data_to=T1)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"data_from": "2026-01-01T00:00:00", "data_to": T1}, "TIME_NAIVE"),
        ({"data_from": "{{ ds }}", "data_to": "soon"}, "TIME_UNPARSABLE"),
        ({"data_from": T1, "data_to": T0}, "SUBMIT_INTERVAL"),
        ({"data_from": T1}, "SUBMIT_INTERVAL"),
        ({"data_from": T0, "data_to": T1, "whole_input": True}, "SUBMIT_INTERVAL"),
        ({"partition_grain": "an hour"}, "TIME_BAD_DURATION"),
        ({"partition_timezone": "Vienna"}, "TIME_ZONE"),
        ({"pipeline": "flights"}, "SUBMIT_PIPELINE"),
    ],
)
def test_what_is_wrong_without_a_template_is_refused_when_the_dag_is_parsed(options: dict[str, Any], code: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        DataflowBatchOperator(**{"task_id": "batch", "pipeline": "flights:departures"} | options)
    assert caught.value.code == code


def test_what_is_a_template_is_left_to_the_run() -> None:
    operator = DataflowBatchOperator(
        task_id="batch",
        pipeline="{{ params.pipeline }}",
        data_from="{{ data_interval_start }}",
        data_to="{{ data_interval_end }}",
    )
    assert {"pipeline", "state", "data_from", "data_to"} <= {*operator.template_fields}
