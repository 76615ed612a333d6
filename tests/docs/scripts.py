"""Runs the snippets of the pages: Python as a file, commands in this process, so that they share one Spark."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from airflow_dataflow_provider.__main__ import main
from docs.site.build import DOCS

SNIPPETS = DOCS / "snippets"
TUTORIAL = {
    "tutorial/first_run.sh", "tutorial/first_table.txt", "tutorial/morning.csv", "tutorial/noon.csv",
    "tutorial/orders.py", "tutorial/read.py", "tutorial/second_run.sh", "tutorial/second_table.txt",
    "tutorial/wednesday.csv",
}  # fmt: skip
HOW_TO = {
    "how-to/back_up.sh", "how-to/batch.sh", "how-to/correct.sh", "how-to/follow.py", "how-to/micro_batch.sh",
    "how-to/old_data.py", "how-to/old_data.sh", "how-to/read_results.py", "how-to/read_state.py", "how-to/restore.sh",
    "how-to/rows_set_aside.py", "how-to/run_in_python.py", "how-to/start_over.sh", "how-to/status.sh",
}  # fmt: skip
TESTING = {"testing/audit.py", "testing/departures.py", "testing/test_nightly.py"}
ON_SPARK = TUTORIAL | HOW_TO | TESTING
"""What tests/docs/test_on_spark.py runs, or compares."""
DAG_FILES = {
    "how-to/correct_dag.py", "how-to/gate_batch_dag.py", "how-to/gate_dag.py", "how-to/micro_batch_dag.py",
    "how-to/nightly_dag.py", "how-to/signal_dag.py", "how-to/stream_dag.py", "tutorial/orders_dag.py",
}  # fmt: skip
TOLD_TO_AIRFLOW = {
    "how-to/backfill.sh", "how-to/connections_cluster.sh", "tutorial/airflow.sh", "tutorial/connections.sh",
}  # fmt: skip
"""What tests/airflow/test_documented_dags.py loads and runs, or parses."""

OURS = "dataflow"


def lines_of(script: str) -> list[list[str]]:
    """The words of each command of a script."""
    text = (SNIPPETS / script).read_text(encoding="utf-8")
    return [shlex.split(line) for line in text.splitlines() if line.strip()]


def run_commands(script: str) -> None:
    """Run a script of commands in the present folder, line by line; the first that fails ends it."""
    for line, words in zip((SNIPPETS / script).read_text(encoding="utf-8").splitlines(), lines_of(script), strict=True):
        if words[0] == OURS:
            assert main(words[1:]) == 0, line
        else:
            subprocess.run(["sh", "-c", line], check=True)


def run_file(name: str) -> None:
    """Run a snippet of Python that was copied into the present folder."""
    runpy.run_path(Path(name).name, run_name="__main__")


def load(name: str) -> Any:
    """A snippet as a module, without its tests being collected."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, SNIPPETS / name)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_here(*names: str) -> None:
    for name in names:
        shutil.copy(SNIPPETS / name, Path(name).name)


def shown() -> dict[str, set[str]]:
    """The pages that show each snippet."""
    found: dict[str, set[str]] = {}
    for page in DOCS.rglob("*.md"):
        for name in re.findall(r'^\s*--8<-- "([^"]+)"$', page.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name.partition(":")[0], set()).add(str(page.relative_to(DOCS)))
    return found
