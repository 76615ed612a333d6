"""What the documents show as Python is Python, with names that exist; the pipelines among it can be built and run."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import airflow_dataflow_provider
from airflow_dataflow_provider import Pipeline
from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.testing.stream import TestStream

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_dataflow_provider"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NAMES = {name: getattr(airflow_dataflow_provider, name) for name in airflow_dataflow_provider.__all__}


def blocks() -> Iterator[tuple[str, str]]:
    """Each block of Python, by its page and line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: found.start()].count("\n") + 1
            yield f"{page.relative_to(ROOT)}:{line}", found[1]


BLOCKS = dict(blocks())
DEFINING = {name: code for name, code in BLOCKS.items() if re.search(r"^\w+ = \(?\s*Pipeline\(", code, re.MULTILINE)}


def run(code: str) -> dict[str, Any]:
    """What a block defines, where the names of the package are there."""
    names: dict[str, Any] = {**NAMES, "__name__": "example", "__file__": str(ROOT / "dags_examples" / "example.py")}
    exec(compile(code, "example", "exec"), names)
    return names


def test_there_are_examples() -> None:
    assert len(BLOCKS) > 12
    assert len(DEFINING) > 2


def wrong_in(name: str) -> Iterator[str]:
    """What is not Python in a block, or is imported from the package and is not there."""
    try:
        parsed = ast.parse(textwrap.dedent(BLOCKS[name]))
    except SyntaxError as error:
        yield f"{name}: {error}"
        return
    for node in ast.walk(parsed):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE.name):
            missing = {alias.name for alias in node.names} - names_in(str(node.module))
            yield from (f"{name}: {node.module} has no {each}" for each in sorted(missing))


@cache
def names_in(module: str) -> frozenset[str]:
    """What can be imported from a module of the package. Read, not imported: some modules would load Airflow."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = {each.stem for each in path.iterdir()} if path.is_dir() else set()
    body = ast.parse(file.read_text()).body if file.is_file() else []
    # What is loaded when it is used is named where types are checked.
    checked = [each for node in body if isinstance(node, ast.If) for each in node.body]
    for node in (*body, *checked):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.ImportFrom(module=str(source), names=[ast.alias(name="*")]):
                found.update(names_in(source))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update(alias.asname or alias.name for alias in aliases)
    return frozenset(found)


def test_an_example_is_python_and_what_it_imports_from_the_package_is_there() -> None:
    wrong = [found for name in BLOCKS for found in wrong_in(name)]
    assert not wrong, "\n".join(wrong)


def test_an_import_of_what_is_not_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = {
        "module": "from airflow_dataflow_provider.spark.no_such import run",
        "name": "from airflow_dataflow_provider import Pipeline, NoSuch",
        "method": "from airflow_dataflow_provider.operators.stop import execute",
        "syntax": "Pipeline(",
        "right": "from airflow_dataflow_provider.operators.stop import DataflowStopOperator",
    }
    for name, code in examples.items():
        monkeypatch.setitem(BLOCKS, name, code)
    assert [name for name in examples if len([*wrong_in(name)]) != 1] == ["right"]


def test_a_pipeline_of_an_example_is_one_that_can_be_explained() -> None:
    wrong = []
    for name, code in DEFINING.items():
        pipelines = [value for value in run(code).values() if isinstance(value, Pipeline)]
        # A function of an example stands in no module that could be named.
        errors = {error["error"] for pipeline in pipelines for error in explain(pipeline)["refused"]}
        refused = errors - {"SUBMIT_FUNCTION"}
        if refused or not pipelines:
            wrong.append(f"{name}: {refused or 'no pipeline'}")
    assert not wrong, "\n".join(wrong)


def test_the_whole_model_of_the_readme_publishes_what_it_says() -> None:
    (code,) = [code for name, code in DEFINING.items() if name.startswith("README") and "SessionWindows" in code]
    (pipeline,) = [value for value in run(code).values() if isinstance(value, Pipeline)]

    def view(user: str, seconds: int, at: str) -> dict[str, Any]:
        return {"user": user, "ad": "shoes", "seconds": seconds, "seen": at}

    stream = (
        TestStream(pipeline)
        .advance_processing_time("10:05")
        .add(view("ann", 3, "10:00"), view("bob", 4, "10:01"))
        .advance_watermark("11:00")
        .add(view("ann", 9, "10:02"))
        .end_of_input()
    )
    panes = stream.run()
    standing = [pane.values["unpopular"] for pane in panes if not pane.is_retraction]
    assert standing[0] == 2  # both looked away within five seconds
    assert standing[-1] == 1  # but what came late says that ann did not
    assert any(pane.is_retraction for pane in panes)


def test_what_examples_call_is_there() -> None:
    """Calls by a plain name in pipelines: a class that is gone, or has another name now, would show here."""
    unknown = {
        node.func.id
        for code in DEFINING.values()
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    defined = {node.name for code in BLOCKS.values() for node in ast.walk(ast.parse(code)) if hasattr(node, "name")}
    assert unknown - {*NAMES} - {*dir(builtins)} - defined - {"Path"} == set()
