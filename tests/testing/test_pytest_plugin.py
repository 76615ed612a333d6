"""The fixtures as a user gets them: from a wheel, in a pytest of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TESTS = """
import os
import sys

import pytest

import airflow_dataflow_provider
from airflow_dataflow_provider import Count, Files, FixedWindows, Pipeline, RuntimeMode, Sum
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from airflow_dataflow_provider.testing.stream import TestStream

PIPELINE = (
    Pipeline("p", Files("events/*.parquet", event_time="happened"))
    .group_by_key_and_window(key="key", window=FixedWindows("1m"))
    .combine(total=Sum("value"))
)


def test_where_it_is_installed():
    assert airflow_dataflow_provider.__file__.startswith(os.environ["SITE"])


def test_a_stream(dataflow_stream, dataflow_engine):
    stream = dataflow_stream(PIPELINE, day="2024-02-29").add(("k", 5, "12:00:26")).end_of_input()
    assert (stream.engine, stream.day) == (dataflow_engine, "2024-02-29")
    [came] = stream.run()
    assert came.values == {"total": 5}
    assert ("pyspark" in sys.modules) == (dataflow_engine != "reference")


@pytest.mark.parametrize("dataflow_engine", ["reference"], indirect=True)
def test_engines_named_by_the_test_itself(dataflow_engine):
    assert dataflow_engine == "reference"


def test_a_clock(dataflow_clock):
    before = dataflow_clock()
    assert dataflow_clock.advance("1s") == before + 1_000_000
"""
SESSIONS = """
import pytest


def test_one_session(dataflow_spark):
    assert dataflow_spark.range(3).count() == 3
    pytest.context = dataflow_spark.sparkContext


def test_the_same_session(dataflow_spark):
    assert dataflow_spark.sparkContext is pytest.context


"""
AFTER = """
import pytest


def pytest_unconfigure(config):
    context = getattr(pytest, "context", None)
    print("SPARK", "never" if context is None else "stopped" if context._jsc is None else "left")
"""

Say = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed."""
    folder = tmp_path_factory.mktemp("site")
    build = ["build", "--wheel", "--quiet", "--out-dir", str(folder / "dist"), str(ROOT)]
    # What builds it is in uv's cache, since it has installed this package before; else it is fetched.
    if uv(*build, "--offline").returncode:
        uv(*build).check_returncode()
    [wheel] = (folder / "dist").glob("*.whl")
    uv(
        "pip", "install", "--offline", "--no-deps", "--quiet", "--target", str(folder / "site"), str(wheel)
    ).check_returncode()
    return folder / "site"


def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("uv")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def say(site: Path, tmp_path: Path) -> Say:
    """Runs pytest in a folder of the user's; what it says."""
    (tmp_path / "test_mine.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(AFTER)

    def run(*options: str) -> tuple[int, str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment |= {"PYTHONPATH": str(site), "SITE": str(site)}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s", *options],
            cwd=tmp_path, env=environment | {"COLUMNS": "300"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_users_tests_run_on_the_reference_without_spark(say: Say) -> None:
    status, said = say("-v")
    assert status == 0, said
    assert "test_a_stream[reference] PASSED" in said
    assert "SPARK never" in said


def test_the_first_test_of_the_documentation_passes_and_its_complaint_is_the_documented_one(
    say: Say, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "testing.md").read_text()
    [complaint, *_] = re.findall(r"```\n(the panes .+?)```", text, re.DOTALL)
    snippets = ROOT / "docs" / "snippets" / "testing"
    test = (snippets / "test_departures.py").read_text()
    (tmp_path / "departures.py").write_text((snippets / "departures.py").read_text())
    (tmp_path / "test_departures.py").write_text(test)
    status, said = say("test_departures.py")
    assert status == 0, said
    (tmp_path / "test_departures.py").write_text(test.replace("mean_delay=10.0", "mean_delay=9.0"))
    _, said = say("test_departures.py")
    for line in complaint.splitlines():
        assert re.search(rf"^E +(AssertionError: )?{re.escape(line)}", said, re.MULTILINE), said


def test_an_unknown_engine_is_refused_with_those_that_there_are(say: Say) -> None:
    status, said = say("--dataflow-engine=steam")
    assert status != 0
    assert "spark-micro-batch" in said


def test_the_engines_come_from_the_ini_file_too(say: Say, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ndataflow_engines = reference spark-batch\n")
    _, said = say("--collect-only", "-q")
    assert re.findall(r"test_a_stream\[(.+)\]", said) == ["reference", "spark-batch"]
    _, said = say("--collect-only", "-q", "--dataflow-engine=all")
    assert len(re.findall(r"test_a_stream\[", said)) == 4
    assert len(re.findall(r"itself\[", said)) == 1


def test_the_class_of_streams_is_not_taken_for_tests(say: Say) -> None:
    _, said = say("--collect-only", "-q", "-W", "error")
    assert "TestStream" not in said


@pytest.mark.slow
@pytest.mark.spark
def test_spark_is_started_once_and_stopped_at_the_end(say: Say, tmp_path: Path) -> None:
    (tmp_path / "test_session.py").write_text(SESSIONS)
    status, said = say("-v", "--dataflow-engine=spark-micro-batch")
    assert status == 0, said
    assert "test_a_stream[spark-micro-batch] PASSED" in said
    assert "SPARK stopped" in said


def test_the_plugin_brings_neither_spark_nor_airflow_nor_polars() -> None:
    code = "import sys, airflow_dataflow_provider.testing.pytest_plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pyspark", "airflow", "polars", "numpy", "pandas", "hypothesis"} & {*loaded}
    assert "airflow_dataflow_provider.testing.stream" not in loaded
