"""The engines that rules and laws are tested on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter

Engine = Callable[[Pipeline, Sequence[Epoch]], list[list[Pane]]]
"""Runs epochs from an empty state on, and gives the panes of each."""


def on_the_reference(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[list[Pane]]:
    interpreter = Interpreter(pipeline)
    return [interpreter.epoch(epoch) for epoch in epochs]


def in_this_process(pipeline: Pipeline, epochs: Sequence[Epoch]) -> list[list[Pane]]:
    """The Spark engine's map and reduce sides, without Spark."""
    import polars as pl

    from tests.spark.in_process import SCHEMA, InProcess

    names = {name for epoch in epochs for element in epoch.elements for name in element.row}
    schema = {name: kind for name, kind in {**SCHEMA, "value": pl.Int64()}.items() if name in names}
    return InProcess(pipeline, schema or SCHEMA).run(epochs)


ENGINES: dict[str, Engine] = {"reference": on_the_reference, "kernel": in_this_process}


@pytest.fixture(scope="session", params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    return ENGINES[request.param]
