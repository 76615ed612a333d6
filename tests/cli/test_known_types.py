from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    AtPeriod,
    Collect,
    Combiner,
    Count,
    CountDistinct,
    Files,
    First,
    FixedWindows,
    Last,
    Max,
    Mean,
    Min,
    Pipeline,
    Quantiles,
    Repeat,
    StdDev,
    Sum,
    TopK,
    Variance,
)
from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.spark.kernel.kernel import Kernel
from airflow_dataflow_provider.spark.stages.stages import Stages
from tests.cli.explained import departures, total

NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)


def by(records: list[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    return {record[name]: record for record in records}


def test_without_a_file_only_types_that_do_not_depend_on_the_input_are_known() -> None:
    facts = explain(departures)
    assert "does not exist" in facts["source"][0]["types"]
    assert {name: one["type"] for name, one in by(facts["aggregates"], "name").items()} == {
        "flights": "Int64",
        "mean_delay": "Float64",
    }
    assert explain(total)["aggregates"][1] | {"is": ""} == {
        "grouping": 1, "name": "total", "code": "Sum('amount')", "type": None, "is": "",
    }  # fmt: skip
    state = facts["state"][0]["columns"]
    assert (state["origin"], state["flights.count"], state["mean_delay.sum"]) == (None, "Int64", None)


COMBINERS: tuple[Combiner, ...] = (
    Count(), Count("x"), Sum("x"), Mean("x"), Variance("x"), StdDev("x"), Min("x"), Max("x"), First("x"), Last("x"),
    First(("x", "k")), Collect("x"), CountDistinct("x"), CountDistinct("x", exact=False), Quantiles("x", (0.5,)),
    TopK("x", 2), TopK("k", 2, by="x"),
)  # fmt: skip
TYPES = (
    pl.Int8(), pl.UInt64(), pl.Float32(), pl.Decimal(10, 3), pl.Boolean(), pl.String(), pl.Date(),
    pl.Datetime("us", "UTC"),
)  # fmt: skip


def aggregated(combiner: Combiner, *, takes_back: bool) -> Pipeline:
    pipeline = Pipeline("p", Files("nowhere/", event_time="at"))
    if takes_back:
        pipeline = pipeline.group_by_key_and_window(
            key=("k", "l"), window=FixedWindows("1h"), trigger=Repeat(AtPeriod("1m"))
        ).combine(x=Max("x"))
    return pipeline.group_by_key_and_window(
        key="l", window=FixedWindows("1d"), refinement=ACCUMULATING_AND_RETRACTING
    ).combine(it=combiner)


def kernels(pipeline: Pipeline) -> Iterator[Kernel]:
    """The kernels for every type that the engine takes."""
    for dtype in TYPES:
        with suppress(SubmissionError):
            yield Stages.of(pipeline, {"at": pl.String(), "k": pl.String(), "l": pl.String(), "x": dtype}).last


@pytest.mark.parametrize("takes_back", [False, True])
def test_a_type_that_is_known_without_a_file_is_the_type_with_any(takes_back: bool) -> None:
    compared = 0
    for combiner in COMBINERS:
        pipeline = aggregated(combiner, takes_back=takes_back)
        facts = explain(pipeline)
        known = {"it": facts["aggregates"][-1]["type"], **facts["state"][-1]["columns"]}
        for kernel in kernels(pipeline):
            real = {name: str(dtype) for name, dtype in (kernel.state_schema | kernel.aggregates.output_schema).items()}
            for name, dtype in known.items():
                assert dtype is None or real[name].replace("'", "") == dtype, (combiner, name)
                compared += dtype is not None
    assert compared > 500


def written(tmp_path: Path, **columns: list[Any]) -> Pipeline:
    pl.DataFrame({"at": [NOON], "user": ["ann"], **columns}).write_parquet(tmp_path / "a.parquet")
    return (
        Pipeline("p", Files(str(tmp_path), event_time="at"))
        .group_by_key_and_window(key="user", window=FixedWindows("1h"))
        .combine(total=Sum("amount"))
    )


def test_the_first_file_says_the_types(tmp_path: Path) -> None:
    facts = explain(written(tmp_path, amount=[Decimal("1.50")]))
    assert by(facts["columns"], "column")["user"]["type"] == "String"
    assert facts["aggregates"][0]["type"] == "Decimal(precision=38, scale=2)"
    assert None not in facts["state"][0]["columns"].values()
    assert facts["results"][0]["columns"]["user"] == "String"
    assert facts["refused"] == []


def test_a_column_that_the_first_file_lacks_is_refused_as_a_run_would(tmp_path: Path) -> None:
    (refused,) = explain(written(tmp_path))["refused"]
    assert refused["error"] == "SOURCE_NO_COLUMN"


def test_a_column_of_a_wrong_type_is_refused_as_a_run_would(tmp_path: Path) -> None:
    (refused,) = explain(written(tmp_path, amount=["a lot"]))["refused"]
    assert refused["error"] == "SUBMIT_COLUMN_TYPE"
