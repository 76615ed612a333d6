"""Pane logs without Spark: a pipeline's own writer and kernel, fed with elements or with panes made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from airflow_dataflow_provider import DISCARDING, AtCount, Combiner, Count, Files, FixedWindows, Pipeline, Repeat, Sum
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.progress.store import Store
from airflow_dataflow_provider.spark.pane_writer import PaneWriter
from airflow_dataflow_provider.spark.stages import Stages

SCHEMA = {"key": pl.String(), "value": pl.Int64()}
STATE_ID = "the state"


def pipeline(combiners: Mapping[str, Combiner] | None = None, refinement: Refinement = DISCARDING) -> Pipeline:
    return (
        Pipeline("small", Files("source/*.parquet", event_time="happened"))
        .group_by_key_and_window(
            key="key", window=FixedWindows("1m"), trigger=Repeat(AtCount(1)), refinement=refinement
        )
        .combine(**(combiners or {"count": Count(), "total": Sum("value")}))
    )


def open_log(state: Path, what: Pipeline) -> tuple[PaneWriter, Stages]:
    """A new or known pane log of a state that has nothing else."""
    stages = Stages.of(what, SCHEMA)
    writer = PaneWriter(Store.open(state), STATE_ID, what)
    writer.open(stages)
    return writer, stages
