"""``SparkColumns`` on Spark: what its expressions mean, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from airflow_dataflow_provider import DataError, FixedWindows, PerElement, SparkColumns, SubmissionError, Vectorised
from airflow_dataflow_provider.model.par_do import AssignWindows
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT
from airflow_dataflow_provider.spark.par_do.spark_columns import Passed, schema_through, through_spark
from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled
from airflow_dataflow_provider.spark.tasks.spark_errors import with_codes
from airflow_dataflow_provider.spark.values.frames import from_blob, to_blob
from airflow_dataflow_provider.spark.values.type_table import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.model.par_do import ParDo

NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
ROWS = pl.DataFrame(
    {
        "text": ["a", "ß", None],
        "number": [1, -2, 2**62],
        "share": [0.5, None, float("inf")],
        "yes": [True, None, False],
        "day": [dt.date(2013, 1, 1), None, dt.date(1969, 12, 31)],
        "at": pl.Series([NOON, None, NOON + dt.timedelta(microseconds=1)], dtype=pl.Datetime("us", "UTC")),
        "naive": pl.Series([dt.datetime(2013, 1, 1), None, None], dtype=pl.Datetime("us")),  # noqa: DTZ001
        "price": pl.Series([Decimal("1.10"), None, Decimal(-3)], dtype=pl.Decimal(10, 2)),
        "raw": [b"\x00\xff", None, b""],
        "several": [[1, 2], None, []],
        "parts": pl.Series([{"x": 1}, None, {"x": None}], dtype=pl.Struct({"x": pl.Int64})),
    }
)
HIDDEN: Schema = {EVENT: pl.Int64(), ARRIVAL: pl.Int64(), "_sign": pl.Int8()}


def run(
    spark: SparkSession, steps: list[ParDo], rows: pl.DataFrame = ROWS, *, tasks: int = 1
) -> tuple[pl.DataFrame, list[bytes]]:
    """What comes out of the steps, and the reports; every task has all of the rows."""
    with_times = rows.with_columns(
        pl.int_range(len(rows), dtype=pl.Int64).alias(EVENT),
        pl.lit(7, pl.Int64).alias(ARRIVAL),
        pl.lit(-1, pl.Int8).alias("_sign"),
    )

    def read(listed: Iterator[Mapping[str, Any]]) -> Iterator[Passed]:
        names = [row["id"] for row in listed]
        yield with_times[:1]
        yield f"begin {names}".encode()
        yield with_times[1:]
        yield f"end {names}".encode()

    def send(passed: Iterator[Passed]) -> Iterator[Shuffled]:
        for each in passed:
            yield (0, ("report", each)) if isinstance(each, bytes) else (1, ("rows", to_blob(each)))

    listing = spark.range(0, tasks, 1, tasks)
    sent = through_spark(listing, read, steps, dict(rows.schema), hidden=HIDDEN, send=send).collect()
    frames = [from_blob(blob) for _, (kind, blob) in sent if kind == "rows"]
    return pl.concat(frames) if frames else pl.DataFrame(), [blob for _, (kind, blob) in sent if kind == "report"]


def test_every_type_comes_back_from_spark_as_it_went_there(spark: SparkSession) -> None:
    found, _ = run(spark, [SparkColumns("true")])
    assert found.select(ROWS.columns).equals(ROWS)
    assert found.select(ROWS.columns).schema == ROWS.schema
    assert found.select([*HIDDEN]).rows() == [(0, 7, -1), (1, 7, -1), (2, 7, -1)]


def test_reports_reach_the_shuffle_once_a_task_whatever_the_condition(spark: SparkSession) -> None:
    found, reports = run(spark, [SparkColumns("false", text="CAST(raise_error('not an element') AS STRING)")], tasks=2)
    assert not len(found)
    assert sorted(reports) == [b"begin [0]", b"begin [1]", b"end [0]", b"end [1]"]


def test_expressions_see_the_columns_as_they_were_and_a_condition_that_is_null_is_not_true(spark: SparkSession) -> None:
    found, _ = run(spark, [SparkColumns("yes IS NULL OR yes", text="share", share="number")])
    assert found.select("text", "share", EVENT).rows() == [(0.5, 1, 0), (None, -2, 1)]


def test_steps_of_all_forms_follow_one_another_and_carry_what_belongs_to_an_element(spark: SparkSession) -> None:
    steps = [
        Vectorised(lambda frame: frame.filter(pl.col("number") < 10)),
        SparkColumns(number="number + 1"),
        SparkColumns(number="number * 10"),
        AssignWindows(FixedWindows(dt.timedelta(microseconds=1))),
        PerElement(lambda row: [{"n": row["number"]}, {"n": None}], {"n": int}),
        SparkColumns("n IS NOT NULL", n="CAST(n AS INT)"),
        Vectorised(lambda frame: frame.with_columns(m=pl.col("n") + 1)),
    ]
    found, reports = run(spark, steps)
    assert found.select("n", "m", EVENT, ARRIVAL, "_sign", "_start", "_end").rows() == [
        (20, 21, 0, 7, -1, 0, 1),
        (-10, -9, 1, 7, -1, 1, 2),
    ]
    assert found.schema["n"] == pl.Int64
    assert len(reports) == 2


def test_steps_without_any_of_sparks_take_the_same_way(spark: SparkSession) -> None:
    found, reports = run(spark, [PerElement(lambda row: {"n": row["number"]}, {"n": int})])
    assert found["n"].to_list() == [1, -2, 2**62]
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (SparkColumns(x="nowhere + 1"), "nowhere"),
        (SparkColumns(x="number +"), "PARSE_SYNTAX_ERROR"),
        (SparkColumns(x="upper(number, 2)"), "WRONG_NUM_ARGS"),
        (SparkColumns("number"), "BOOLEAN"),
        (SparkColumns(x="_event"), "_event"),
        (SparkColumns(x="sum(number)"), "GROUP"),
        (SparkColumns(x="row_number() OVER (ORDER BY number)"), "Window"),
        (SparkColumns(x="explode(several)"), "Generate"),
        (SparkColumns(x="rand()"), "not always give the same"),
        (SparkColumns(x="NULL"), "void"),
        (SparkColumns(x="map('a', 1)"), "map<string,int>"),
    ],
)
def test_an_expression_that_spark_or_the_engine_cannot_take_is_refused_before_it_runs(
    spark: SparkSession, step: SparkColumns, told: str
) -> None:
    with pytest.raises(SubmissionError, match=told) as refusal:
        schema_through([step], dict(ROWS.schema), spark)
    assert refusal.value.code == "SUBMIT_PAR_DO"


def test_a_column_of_a_type_that_spark_lacks_is_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(SubmissionError, match="'clock' of type Time") as refusal:
        schema_through([SparkColumns("true")], {"clock": pl.Time()}, spark)
    assert refusal.value.code == "SUBMIT_PAR_DO"


def test_what_an_expression_meets_in_the_data_is_told_in_sparks_words(spark: SparkSession) -> None:
    with pytest.raises(DataError) as failure, with_codes():
        run(spark, [SparkColumns(x="10 / (number - 1)")])
    assert failure.value.code == "DATA_PAR_DO"
    assert "10 / (number - 1)" in failure.value.what
    assert failure.value.reason.startswith("[DIVIDE_BY_ZERO] Division by zero")
