"""Rules about files: their size, their names, their place."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
NO_CONCEPT = {"util", "utils", "helper", "helpers", "common", "misc", "shared"}
"""Names that say nothing of what a module is about."""

TRACKED = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    if name and (ROOT / name).is_file()
]
PYTHON = [path for path in TRACKED if path.suffix == ".py"]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_files_were_found() -> None:
    assert Path(__file__) in PYTHON
    assert ROOT / "airflow_dataflow_provider" / "model" / "time.py" in PYTHON


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_no_file_is_too_long_to_be_about_one_thing(path: Path) -> None:
    assert len(path.read_text().splitlines()) < MOST_LINES


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_every_module_is_named_after_what_it_is_about(path: Path) -> None:
    parts = {part.strip("_") for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not parts & NO_CONCEPT


def test_the_top_level_holds_only_what_it_should() -> None:
    allowed = re.compile(
        r"pyproject\.toml|airflow_dataflow_provider|dags_examples|tests|docs"
        r"|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|Makefile|requirements\.lock|\..*"
    )
    top = {path.relative_to(ROOT).parts[0] for path in TRACKED}
    assert sorted(name for name in top if not allowed.fullmatch(name)) == []
