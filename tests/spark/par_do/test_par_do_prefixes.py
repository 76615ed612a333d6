"""The paper's prefix expansion (section 2.1): every prefix of a key is a key, grouped and summed per window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    AtWatermark,
    Files,
    FixedWindows,
    PerElement,
    Pipeline,
    Repeat,
    SparkColumns,
    Sum,
    Vectorised,
)
from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.par_do import ParDo
from airflow_dataflow_provider.testing.stream import TestStream
from tests.spark.in_process import InProcess


def prefixes(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """``(fix, 1)`` becomes ``(f, 1), (fi, 1), (fix, 1)``."""
    for length in range(1, len(row["key"]) + 1):
        yield {"key": row["key"][:length], "value": row["value"]}


def prefixes_at_once(frame: pl.DataFrame) -> pl.DataFrame:
    """The same, of all elements."""
    lengths = pl.int_ranges(1, pl.col("key").str.len_chars() + 1).alias("length")
    return frame.with_columns(lengths).explode("length").with_columns(pl.col("key").str.head(pl.col("length")))


STEPS = {
    "per element": PerElement(prefixes, {"key": str, "value": int}, reads=("key", "value")),
    "vectorised": Vectorised(prefixes_at_once, reads=("key", "value")),
}
PER_PREFIX = {"f": 3, "fi": 3, "fix": 1, "fit": 2}


def stream(*steps: ParDo) -> TestStream:
    pipeline = Pipeline("prefixes", Files("unused", event_time="at"))
    for step in steps:
        pipeline = pipeline.par_do(step)
    pipeline = pipeline.group_by_key_and_window(
        key="key", window=FixedWindows("2m"), trigger=Repeat(AtWatermark()), refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness="1h",
    ).combine(total=Sum("value"))  # fmt: skip
    return (
        TestStream(pipeline)
        .advance_processing_time("12:01")
        .add({"key": "fix", "value": 1, "at": "12:00:30"})
        .advance_watermark("12:02")
        .add({"key": "fit", "value": 2, "at": "12:01:30"})
        .end_of_input()
    )


def told(panes: list[Pane]) -> set[tuple[Any, ...]]:
    return {(pane.key, pane.window, pane.values["total"], pane.timing, pane.is_retraction) for pane in panes}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_every_prefix_is_summed_and_corrected(step: ParDo) -> None:
    script = stream(step)
    panes = script.run("reference")
    stands = {pane.key[0]: pane.values["total"] for pane in panes if not pane.is_retraction}
    assert stands == PER_PREFIX
    assert sum(pane.is_retraction for pane in panes) == 2  # f and fi were told with 1 at first
    schema = {"key": pl.String(), "value": pl.Int64()}
    found = [pane for epoch in InProcess(script.pipeline, schema).run(script.epochs()) for pane in epoch]
    assert told(found) == told(panes)


@pytest.mark.usefixtures("spark")
def test_prefixes_are_the_same_panes_on_spark() -> None:
    script = stream(STEPS["per element"])
    assert told(script.run("spark-micro-batch")) == told(script.run("reference"))


@pytest.mark.usefixtures("spark")
def test_sparks_own_expressions_expand_nothing_but_may_stand_before_and_after() -> None:
    script = stream(
        SparkColumns("value > 0", value="value * 10"), STEPS["vectorised"], SparkColumns(value="value / 10")
    )
    panes = script.run("spark-micro-batch")
    assert {pane.key[0]: pane.values["total"] for pane in panes if not pane.is_retraction} == PER_PREFIX
