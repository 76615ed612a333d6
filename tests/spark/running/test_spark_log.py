"""What Java and Spark print is not for users: a file takes it, which stays only where they have failed."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.spark

PIPELINE = """
from airflow_dataflow_provider import Count, Files, FixedWindows, Pipeline

p = (
    Pipeline("p", Files("source/*.parquet", event_time="at", arrival_time="at"))
    .group_by_key_and_window(key="key", window=FixedWindows("1h"))
    .combine(count=Count())
)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "p.py").write_text(PIPELINE)
    at = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
    pl.DataFrame({"at": [at], "key": ["a"]}).write_parquet(tmp_path / "source/a.parquet")
    return tmp_path


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A batch in a process of its own, whose temporary files are in ``logs``."""
    command = [
        sys.executable, "-m", "airflow_dataflow_provider", "run", "p.py:p", "--mode", "batch", "--state", "state",
        "--master", "local[1]", "--conf", "spark.ui.enabled=false", *options,
    ]  # fmt: skip
    environment = os.environ | {"TMPDIR": str(folder / "logs"), "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def logs(folder: Path) -> list[Path]:
    return sorted((folder / "logs").glob("dataflow-spark-*.log"))


@pytest.mark.slow
def test_a_green_run_prints_its_epochs_and_its_outcome_and_nothing_else(folder: Path) -> None:
    done = run(folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()[:2]) for line in done.stdout.splitlines()]
    assert lines == ["p batch", "epoch 0", "epoch 1", "p done:", "1 window"]
    assert logs(folder) == []


def test_a_spark_that_does_not_start_leaves_its_words_in_a_file_that_is_named(folder: Path) -> None:
    failed = run(folder, "--conf", "spark.driver.memory=1k")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("[ENGINE_START] Spark does not start")
    assert len(failed.stderr.splitlines()) == 5
    (log,) = logs(folder)
    assert f"Spark's log: {log}" in failed.stderr
    assert log.read_text()


def test_verbose_shows_them(folder: Path) -> None:
    failed = run(folder, "--conf", "spark.driver.memory=1k", "--verbose")
    assert failed.returncode == 1
    assert logs(folder) == []
    assert len((failed.stdout + failed.stderr).splitlines()) > 4
