"""A test that is marked neither spark nor airflow fails if it starts either, here or in a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TESTS = """
import os, subprocess, sys
import pytest

def child(code):
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

def test_java_by_its_path():
    subprocess.run(["java", "-version"], check=False)

def test_java_by_its_home():
    subprocess.run([os.environ["JAVA_HOME"] + "/bin/java", "-version"], check=False)

def test_spark():
    from airflow_dataflow_provider.spark.running.java import ensure_java
    ensure_java()

def test_airflow_in_a_child():
    child("import airflow")

def test_airflow_here():
    sys.modules["airflow"] = sys

@pytest.mark.airflow
def test_marked():
    subprocess.run(["java", "-version"], check=True)

def test_neither():
    child("import json")
"""


def test_an_unmarked_test_that_starts_java_or_airflow_fails(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.markers import neither_java_nor_airflow, tripwire\n")
    (tmp_path / "test_mine.py").write_text(TESTS)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    environ = os.environ | {"PATH": f"{java.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-W", "ignore", "."],
        cwd=tmp_path, env=environ | {"XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    errors = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")}
    assert errors == {
        "test_java_by_its_path", "test_java_by_its_home", "test_spark", "test_airflow_in_a_child", "test_airflow_here",
    }, done.stdout + done.stderr  # fmt: skip
