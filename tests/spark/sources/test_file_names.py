"""A file is read by its name, whatever characters are in it; no name is a pattern."""

from __future__ import annotations

from pathlib import Path

import fsspec
import polars as pl
import pytest

from airflow_dataflow_provider import Files
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.sources.reading import column_types, read

NOW = to_micros("2026-01-01T00:00:00Z")
AT = "2013-01-01T12:00:00Z"
NAMES = {
    "a[1]": "a1",
    "q?x": "qax",
    "all*": "allow",
    "{a,b}": "a",
    "a:b": "a",
    "a::b": "b",
    "h#x": "h",
    "p%20y": "p y",
    "sp ace": "space",
    "größe 日本": "große",
    "~home": "home",
    "back\\slash": "slash",
    'it\'s "it"': "its it",
    "-": "--",
    "[": "]",
    "key=1": "key",
}
"""Names that mean something to a shell, a URL or a partitioned table, each with one that it might be taken for."""


def write(name: str, form: str, value: str) -> None:
    rows = pl.DataFrame({"at": [AT], value: [value]})
    with fsspec.open(name, "wb") if name.startswith("memory:") else Path(name).open("wb") as stream:
        rows.write_parquet(stream) if form == "parquet" else rows.write_csv(stream)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("written", ["{}", "file://{}", "file:{}"])
def test_a_file_is_read_by_its_name(tmp_path: Path, name: str, form: str, written: str) -> None:
    other = tmp_path / f"{NAMES[name]}.{form}"
    write(str(tmp_path / f"{name}.{form}"), form, "mine")
    write(str(other), form, "other")
    source = Files(str(tmp_path), event_time="at", format=form)
    file = written.format(tmp_path / f"{name}.{form}")
    assert list(column_types(source, file)) == ["at", "mine"]
    found = read(source, {"at": pl.String(), "mine": pl.String()}, file, NOW)
    assert found.rows["mine"].to_list() == ["mine"]
    within = read(source, {"at": pl.String(), "mine": pl.String()}, file, NOW, (0, to_micros(AT) + 1))
    assert within.rows["mine"].to_list() == ["mine"]


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["a[1]", "q?x", "all*", "h#x", "p%20y", "größe 日本"])
def test_a_file_elsewhere_is_read_by_its_name(name: str, form: str) -> None:
    filesystem = fsspec.filesystem("memory")
    folder = "/names"
    filesystem.makedirs(folder, exist_ok=True)
    try:
        with filesystem.open(f"{folder}/{name}.{form}", "wb") as stream:
            rows = pl.DataFrame({"at": [AT], "mine": ["mine"]})
            rows.write_parquet(stream) if form == "parquet" else rows.write_csv(stream)
        source = Files(f"memory:/{folder}", event_time="at", format=form)
        file = f"memory:/{folder}/{name}.{form}"
        assert list(column_types(source, file)) == ["at", "mine"]
        assert read(source, {"at": pl.String(), "mine": pl.String()}, file, NOW).rows["mine"].to_list() == ["mine"]
    finally:
        filesystem.rm(folder, recursive=True)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_folder_of_a_file_says_nothing_about_its_columns(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "at=2020" / "mine=other"
    folder.mkdir(parents=True)
    file = str(folder / f"x.{form}")
    write(file, form, "mine")
    source = Files(str(tmp_path), event_time="at", format=form)
    found = read(source, {"at": pl.String(), "mine": pl.String()}, file, NOW)
    assert found.rows["mine"].to_list() == ["mine"]
