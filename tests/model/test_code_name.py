"""A definition with functions of the user's is the same however its module was loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_dataflow_provider.model.code_name import code_name

MODULE = """
from airflow_dataflow_provider import *

def double(row):
    return {"key": row["key"], "value": 2 * row["value"]}

def is_last(row):
    return row["value"] > 5

own = (
    Pipeline("own", Files("source/*.parquet", event_time="at"))
    .par_do(PerElement(double, makes={"key": str, "value": int}))
    .group_by_key_and_window(
        key="key", window=FixedWindows("1h"), trigger=AnyOf(AtPunctuation(is_last), AtWatermark()),
        accept=[Risk.MAY_LOSE_DATA],
    )
    .combine(total=Sum("value"))
)
if __name__ == "__main__":
    print(own.fingerprint())
"""
BY_REFERENCE = "import sys; from airflow_dataflow_provider.cli.pipelines import load_pipeline as load; "


def fingerprint(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("package", ["", "flights"], ids=["alone", "in a package"])
def test_a_pipeline_is_the_same_by_its_path_by_its_name_and_as_the_program(package: str, tmp_path: Path) -> None:
    folder = tmp_path / package
    folder.mkdir(exist_ok=True)
    if package:
        (folder / "__init__.py").touch()
    (folder / "my_flights.py").write_text(MODULE)
    name = f"{package}.my_flights".lstrip(".")
    path = f"{package}/my_flights.py".lstrip("/")
    found = {
        fingerprint(tmp_path, "-c", f"{BY_REFERENCE} print(load(sys.argv[1]).fingerprint())", reference)
        for reference in (f"{path}:own", f"{name}:own", f"{tmp_path / path}:own")
    }
    assert found == {fingerprint(tmp_path, path)} == {fingerprint(tmp_path, "-m", name)}


def test_a_name_tells_modules_functions_and_methods_apart() -> None:
    names = [code_name(code) for code in (fingerprint, Path.exists, code_name, str.lower, len)]
    assert names[0] == "test_code_name.fingerprint"
    assert names[2] == "airflow_dataflow_provider.model.code_name.code_name"
    assert names[4] == "builtins.len"
    assert len({*names}) == len(names)
