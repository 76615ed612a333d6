from __future__ import annotations

from typing import Any

import pendulum
import pytest

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import duration, iso
from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
from airflow_dataflow_provider.operators.interval import interval_of

T0, T1, T2 = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"


def found(context: dict[str, Any], **options: Any) -> tuple[str, str]:
    given: dict[str, Any] = {"data_from": None, "data_to": None, "partition_grain": None, "partition_timezone": "UTC"}
    interval = interval_of(context, **given | options)  # type: ignore[arg-type]
    return iso(interval.start), iso(interval.end)


def with_data_interval(context: dict[str, Any], start: str, end: str) -> dict[str, Any]:
    return context | {"data_interval_start": pendulum.parse(start), "data_interval_end": pendulum.parse(end)}


def test_the_arguments_come_first_then_the_conf_then_the_partition_then_the_data_interval(
    context: dict[str, Any],
) -> None:
    context = with_data_interval(context, T0, T1)
    assert found(context) == (T0, T1)
    context["partition_key"] = "2026-01-01T01"
    assert found(context, partition_grain=duration("1h")) == (T1, T2)
    context["dag_run"].conf = {"from": T0, "to": T2}
    assert found(context, partition_grain=duration("1h")) == (T0, T2)
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
    assert found(context | key, partition_grain=duration("1h"), partition_timezone="Europe/Vienna") == (T1, T2)


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
