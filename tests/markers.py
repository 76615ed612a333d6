"""The marks ``spark`` and ``airflow``, by folder and fixture. A test without them may start neither."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = {
    "airflow": {"airflow"},
    "cluster": {"cluster", "spark"},
    "crash": {"spark"},
    "simulate": {"airflow"},
}
"""The marks of every test in a folder."""
FIXTURES = {"spark": "spark", "dataflow_spark": "spark", "airflow_database": "airflow"}
"""The mark of every test that uses a fixture."""

JAVA = """\
#!/bin/sh
echo "java $*" >> "{found}"
exit 1
"""
AIRFLOW = """\
with open({found!r}, "a") as file:
    print("import airflow", file=file)
raise ImportError("this test is not marked airflow")
"""


def excluded(config: pytest.Config) -> set[str]:
    """The marks that ``-m`` excludes, where it is as plain as ``not spark and not airflow``."""
    expression: str = config.option.markexpr
    terms = [] if " or " in expression else expression.split(" and ")
    return {term.removeprefix("not ") for term in terms if term.startswith("not ")}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the tests of an excluded folder: they import Airflow, too."""
    below = collection_path.relative_to(HERE).parts if collection_path.is_relative_to(HERE) else ()
    return True if FOLDERS.get("".join(below[:1]), set()) & excluded(config) else None


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by its folder and its fixtures."""
    for item in items:
        marks = set(FOLDERS.get(item.path.relative_to(HERE).parts[0], ()))
        marks |= {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
        for mark in sorted(marks):
            item.add_marker(mark)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a run without Airflow for which a test module has imported it."""
    if "airflow" in excluded(session.config) and "airflow" in sys.modules:
        raise pytest.UsageError("a test module that is not marked airflow imports Airflow")


@pytest.fixture(scope="session")
def tripwire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Java and an Airflow that fail, and write into ``found`` that they were started."""
    folder = tmp_path_factory.mktemp("tripwire")
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(JAVA.format(found=folder / "found"))
    java.chmod(0o755)
    (folder / "airflow.py").write_text(AIRFLOW.format(found=str(folder / "found")))
    return folder


@pytest.fixture(autouse=True)
def neither_java_nor_airflow(request: pytest.FixtureRequest, tripwire: Path) -> Iterator[None]:
    """Fail an unmarked test that starts Java, uses a Spark session or imports Airflow, also in a child process."""
    if {"spark", "airflow"} & {mark.name for mark in request.node.iter_markers()}:
        yield
        return
    found = tripwire / "found"
    imported = "airflow" in sys.modules
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(tripwire))
        patch.setenv("PATH", str(tripwire / "bin"), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(tripwire), prepend=os.pathsep)
        if "pyspark.sql" in sys.modules:

            def get_or_create(_: object) -> None:
                found.write_text("a Spark session\n")
                raise AssertionError("this test is not marked spark")

            patch.setattr("pyspark.sql.SparkSession.Builder.getOrCreate", get_or_create)
        yield
    wanted = found.read_text() if found.exists() else ""
    found.unlink(missing_ok=True)
    if not imported and "airflow" in sys.modules:
        wanted += "import airflow\n"
    assert not wanted, f"this test is marked neither spark nor airflow, and started:\n{wanted}"
