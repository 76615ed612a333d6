"""What the demo's tests share: the original file, and the pipeline on a folder of the test's own."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_dataflow_provider import Files, Pipeline
from dags_examples.data import archive


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The flights as they were published."""
    with zipfile.ZipFile(archive()) as zipped:
        return zipped.extract("flights.csv", tmp_path_factory.mktemp("flights"))


@pytest.fixture
def departures_from() -> Callable[[Path], Pipeline]:
    """The demo's pipeline, reading another folder."""
    from dags_examples.departures import departures

    assert isinstance(departures.source, Files)
    source = departures.source
    return lambda folder: replace(departures, source=replace(source, path=f"{folder}/*.parquet"))
