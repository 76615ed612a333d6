"""The arrows between the layers: who may import whom, inside functions too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "airflow_dataflow_provider"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer may import: layers of ours, and which heavy third parties.

    Attributes:
        ours: layers it may import anywhere.
        ours_inside: layers it may import inside functions only.
        outside: heavy third parties it may import anywhere.
        inside: heavy third parties it may import inside functions only.
    """

    ours: frozenset[str]
    ours_inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


HEAVY = names("pyspark airflow polars numpy pyarrow pandas datasketches")
"""Third parties that a layer must be allowed before it uses them."""

COLUMNS = names("polars numpy pyarrow pandas datasketches")
AIRFLOW_SIDE = Layer(
    ours=names("user_modules model progress hooks operators sensors triggers links plugins"),
    ours_inside=names("spark tables"),
    outside=names("airflow"),
    inside=COLUMNS | {"pyspark"},
)
LAYERS = {
    # Before everything else: where a driver and its workers find what users wrote.
    "user_modules": Layer(ours=names("")),
    # The user's vectorised combiner is expressions, and its meaning is what they give.
    "model": Layer(ours=names(""), inside=names("polars")),
    # The user's vectorised ParDo is a function of frames: to call it for one element takes a frame of one row.
    "reference": Layer(ours=names("model"), inside=names("polars")),
    "progress": Layer(ours=names("model")),
    "spark": Layer(ours=names("model progress"), outside=COLUMNS | {"pyspark"}),
    "tables": Layer(ours=names("model progress"), ours_inside=names("spark"), outside=COLUMNS, inside=names("pyspark")),
    "testing": Layer(
        ours=names("model reference progress"), ours_inside=names("spark tables"), inside=COLUMNS | {"pyspark"}
    ),
    "hooks": AIRFLOW_SIDE,
    "operators": AIRFLOW_SIDE,
    "sensors": AIRFLOW_SIDE,
    "triggers": AIRFLOW_SIDE,
    "links": AIRFLOW_SIDE,
    "plugins": AIRFLOW_SIDE,
    # The top: the names that users import, what Airflow reads at start, and the command line.
    "__init__": Layer(ours=names("user_modules model"), ours_inside=names("spark tables testing")),
    "get_provider_info": Layer(ours=names("")),
    "cli": Layer(
        ours=names("user_modules model progress"), ours_inside=names("spark reference tables"), inside=COLUMNS
    ),
    "__main__": Layer(ours=names("model progress"), ours_inside=names("cli")),
}

ROOMS = {
    "progress": ("wall", "store", "log", "panes", "ownership", "requests", "upkeep", "status"),
    "spark": (
        "values", "tasks", "watermark", "aggregates", "kernel", "sources", "par_do", "stages", "map_side",
        "reduce_side", "sinks", "running",
    ),
}  # fmt: skip
"""The folders of a layer, from the ground up: each imports itself and those before it."""


@dataclass(frozen=True, slots=True)
class Import:
    module: str
    line: int
    in_function: bool


def imports_of(source: str) -> Iterator[Import]:
    """Every module that this source names in an import, or imports by name."""

    def visit(node: ast.AST, in_function: bool) -> Iterator[Import]:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield Import(alias.name, node.lineno, in_function)
            case ast.ImportFrom(module=module, names=aliases):
                # `from package import module` names the module only in its second half.
                for alias in aliases:
                    yield Import(f"{'.' * node.level}{module or ''}.{alias.name}", node.lineno, in_function)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield Import(module, node.lineno, in_function)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                # Never runs: costs nothing. Layers still hold, as in a function.
                for child in ast.iter_child_nodes(node):
                    yield from visit(child, in_function=True)
                return
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    return visit(ast.parse(source), in_function=False)


def violations(layer: str, source: str) -> list[str]:
    """What this source imports and a module of this layer may not."""
    if layer not in LAYERS:
        return [f"{layer} is a new layer: say in LAYERS what it may import"]
    may = LAYERS[layer]
    found = []
    for imported in imports_of(source):
        first, *rest = imported.module.split(".")
        if first == "":
            found.append(f"line {imported.line}: a relative import hides its layer: {imported.module}")
        elif first == PACKAGE:
            target = rest[0] if rest else "__init__"
            allowed = may.ours | {layer} | (may.ours_inside if imported.in_function else frozenset())
            if target not in allowed and not target.startswith("__"):
                found.append(f"line {imported.line}: {layer} may not import {target} here")
        elif first in HEAVY:
            allowed = may.outside | (may.inside if imported.in_function else frozenset())
            if first not in allowed:
                found.append(f"line {imported.line}: {layer} may not import {first} here")
    return found


def layer_of(path: Path) -> str:
    """The folder below the package, or the module at its top."""
    return path.relative_to(ROOT / PACKAGE).parts[0].removesuffix(".py")


def imports_upwards(layer: str, room: str, source: str) -> list[str]:
    """The rooms of the same layer that this source imports and that stand above its own."""
    rooms = ROOMS[layer]
    if room not in rooms:
        return [f"{room} is a new room: say in ROOMS where it stands"]
    found = []
    for imported in imports_of(source):
        first, *rest = imported.module.split(".")
        if (first, *rest[:1]) != (PACKAGE, layer):
            continue
        target = rest[1] if len(rest) > 1 else ""
        if target not in rooms:
            found.append(f"line {imported.line}: {target} is no room of {layer}: name the module")
        elif rooms.index(target) > rooms.index(room):
            found.append(f"line {imported.line}: {room} may not import {target}, which stands above it")
    return found


MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


def test_no_module_imports_against_the_arrows() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {violation}"
        for path in MODULES
        for violation in violations(layer_of(path), path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


def test_no_room_imports_one_above_it() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {upwards}"
        for layer in ROOMS
        for path in (ROOT / PACKAGE / layer).rglob("*.py")
        if (room := path.relative_to(ROOT / PACKAGE / layer).parts[0].removesuffix(".py")) != "__init__"
        for upwards in imports_upwards(layer, room, path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("layer", ROOMS)
def test_the_documents_list_the_rooms_from_the_top_down(layer: str) -> None:
    listing = (ROOT / "docs/architecture.md").read_text().partition(f"\n{layer}/\n")[2].partition("```")[0]
    rooms = [line.split()[0].strip("/").removesuffix(".py") for line in listing.splitlines() if line.strip()]
    assert rooms == [*reversed(ROOMS[layer])]


def test_an_import_upwards_is_found() -> None:
    upwards = [
        ("sources", f"from {PACKAGE}.spark.map_side.map_report import MapReport"),
        ("kernel", f"def f():\n    import {PACKAGE}.spark.running.job"),
        ("map_side", f"if TYPE_CHECKING:\n    from {PACKAGE}.spark.running import job"),
        ("running", f"from {PACKAGE}.spark import job"),
        ("a_new_room", ""),
    ]
    assert [case for case in upwards if len(imports_upwards("spark", *case)) != 1] == []


def test_an_import_downwards_is_left_alone() -> None:
    assert imports_upwards("spark", "running", f"from {PACKAGE}.spark.kernel.kernel import Kernel") == []


@pytest.mark.parametrize("layer", ["", ".model", ".reference", ".progress", ".spark.running.java"])
def test_what_every_process_imports_brings_nothing_heavy_along(layer: str) -> None:
    code = f"import sys, {PACKAGE}{layer}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_the_package_was_found() -> None:
    assert {"model", "progress", "spark", "operators"} <= {layer_of(path) for path in MODULES}


def test_an_import_against_an_arrow_is_found() -> None:
    against = [
        ("model", "import polars"),
        ("model", "def f():\n    import numpy as np"),
        ("model", f"from {PACKAGE}.progress import status"),
        ("model", f"from {PACKAGE} import spark"),
        ("reference", "import polars"),
        ("reference", "def f():\n    import numpy as np"),
        ("progress", f"import {PACKAGE}.reference.interpreter"),
        ("progress", f"def f():\n    from {PACKAGE}.spark.running.java import java_home"),
        ("spark", "def f():\n    from airflow.sdk import DAG"),
        ("spark", f"from {PACKAGE}.hooks.dataflow import DataflowHook"),
        ("spark", "import importlib\nimportlib.import_module('airflow.models')"),
        ("tables", "from pyspark.sql import SparkSession"),
        ("operators", "from pyspark.sql import SparkSession"),
        ("operators", "class C:\n    import polars"),
        ("operators", f"from {PACKAGE}.spark.running.java import java_home"),
        ("sensors", "try:\n    import pandas\nexcept ImportError:\n    pass"),
        ("testing", "import pyspark"),
        ("reference", "from .interpreter import run"),
        ("a_new_layer", ""),
    ]
    assert [case for case in against if len(violations(*case)) != 1] == []


def test_an_import_along_an_arrow_is_left_alone() -> None:
    along = [
        ("operators", "def f():\n    from pyspark.sql import SparkSession"),
        ("operators", f"class C:\n    def execute(self):\n        from {PACKAGE}.spark.running.java import java_home"),
        ("hooks", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pyspark"),
        ("model", f"from {PACKAGE}.model.time import Micros"),
        ("reference", "def f():\n    import polars as pl"),
        ("spark", f"import polars\nfrom {PACKAGE}.progress.log.log import EpochLog"),
    ]
    assert [case for case in along if violations(*case)] == []
