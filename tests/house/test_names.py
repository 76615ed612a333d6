"""The names that users import: all that a pipeline is written with comes from the package itself, and comes cheap."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import pytest

import airflow_dataflow_provider as package
from airflow_dataflow_provider.model import (
    batch,
    combiners,
    errors,
    grouping,
    modes,
    par_do,
    refinement,
    triggers,
    windows,
)
from airflow_dataflow_provider.testing.stream import TestStream

INSIDE = {
    "Accumulator": "a combiner's own business",
    "ExactSum": "what retractable() gives",
    "KeepingValues": "what retractable() gives",
    "AssignWindows": "what assign_windows() makes",
    "Boundedness": "what a source says of itself",
    "ParDo": "the base of the three steps",
}
"""Public names of the model that no pipeline is written with, and why."""


@pytest.mark.parametrize(
    "module", [combiners, triggers, windows], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_every_name_of_a_folder_of_the_model_can_be_imported_from_the_package(module: ModuleType) -> None:
    assert {*module.__all__} - {*INSIDE} <= {*package.__all__}


@pytest.mark.parametrize(
    "module", [batch, errors, modes, par_do, refinement], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_every_class_of_a_module_of_the_model_can_be_imported_from_the_package(module: ModuleType) -> None:
    own = {
        name for name, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__
    }
    assert own
    assert {name for name in own if not name.startswith("_")} - {*INSIDE} <= {*package.__all__}


def test_what_is_said_to_be_inside_is_there_and_is_not_exported() -> None:
    there = {*combiners.__all__, *triggers.__all__, *windows.__all__, "AssignWindows", "Boundedness", "ParDo"}
    assert {*INSIDE} <= there
    assert not {*INSIDE} & {*package.__all__}


def test_every_exported_name_is_there_and_is_there_once() -> None:
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert len({*package.__all__}) == len(package.__all__)
    assert grouping.END_OF_WINDOW is package.END_OF_WINDOW


def test_what_is_loaded_when_it_is_used_is_what_its_module_has() -> None:
    assert {*package.LOADED_WHEN_USED} == {"PaneLogReader", "SideOutputs", "TestStream", "run"}
    assert package.TestStream is TestStream
    assert {*package.__all__} <= {*dir(package)}
    with pytest.raises(AttributeError, match="no attribute 'Key'"):
        _ = package.Key  # type: ignore[attr-defined]


def test_importing_the_package_brings_nothing_heavy() -> None:
    code = (
        "import json, sys, airflow_dataflow_provider as package;"
        "[getattr(package, name) for name in {*package.__all__} - {*package.LOADED_WHEN_USED}];"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = {*json.loads(out)}
    assert "airflow_dataflow_provider" in loaded
    assert not loaded & {"pyspark", "airflow", "pandas", "polars", "numpy", "pyarrow", "datasketches", "fsspec", "rich"}
