"""Rules about files: their size, their names, their place."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

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


def test_no_file_is_too_long_to_be_about_one_thing() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in PYTHON}
    too_long = [f"{name}: {count} lines" for name, count in lines.items() if count >= MOST_LINES]
    assert not too_long, "\n".join(too_long)


def test_every_module_is_named_after_what_it_is_about() -> None:
    parts = {name_of(path): {part.strip("_") for part in Path(name_of(path)).with_suffix("").parts} for path in PYTHON}
    nameless = [f"{name}: {found & NO_CONCEPT}" for name, found in parts.items() if found & NO_CONCEPT]
    assert not nameless, "\n".join(nameless)


def test_the_top_level_holds_only_what_it_should() -> None:
    allowed = re.compile(
        r"pyproject\.toml|airflow_dataflow_provider|dags_examples|tests|docs"
        r"|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|Makefile|requirements\.lock|\..*"
    )
    top = {path.relative_to(ROOT).parts[0] for path in TRACKED}
    assert sorted(name for name in top if not allowed.fullmatch(name)) == []
