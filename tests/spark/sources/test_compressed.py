"""Compressed files: what their names say they are, whole, or refused by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_dataflow_provider import INGRESS_TIME, DataError, Files
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from airflow_dataflow_provider.spark.sources.reading import column_types, read
from airflow_dataflow_provider.spark.sources.splits import expected_bytes, in_tasks

NOW = to_micros("2026-01-01T00:00:00Z")
TEXT = b"key,value\na,1\nb,2\n"
PACKED = {"gz": gzip.compress(TEXT), "zst": pa.compress(TEXT, "zstd", asbytes=True)}


def values(folder: Path, name: str, data: bytes) -> list[int]:
    file = folder / name
    file.write_bytes(data)
    source = Files(str(file), event_time=INGRESS_TIME)
    found = read(source, {"value": column_types(source, str(file))["value"]}, str(file), NOW)
    return found.rows["value"].to_list()


@pytest.mark.parametrize("ending", PACKED)
def test_a_compressed_file_is_read_as_what_is_in_it(tmp_path: Path, ending: str) -> None:
    assert values(tmp_path, f"x.csv.{ending}", PACKED[ending]) == [1, 2]
    assert values(tmp_path, f"x.CSV.{ending.upper()}", PACKED[ending]) == [1, 2]
    lines = b'{"value": 1}\n{"value": 2}'
    packed = gzip.compress(lines) if ending == "gz" else pa.compress(lines, "zstd", asbytes=True)
    assert values(tmp_path, f"x.jsonl.{ending}", packed) == [1, 2]


def test_files_that_were_appended_to_one_another_are_read_to_the_end(tmp_path: Path) -> None:
    assert values(tmp_path, "x.csv.gz", PACKED["gz"] + gzip.compress(b"c,3\n")) == [1, 2, 3]
    assert values(tmp_path, "x.csv.zst", PACKED["zst"] + pa.compress(b"c,3\n", "zstd", asbytes=True)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("x.csv.gz", TEXT, "not a whole gzip file"),
        ("x.csv.gz", PACKED["zst"], "not a whole gzip file"),
        ("x.csv.gz", PACKED["gz"][:-1], "not a whole gzip file"),
        ("x.csv.gz", PACKED["gz"][:-8], "not a whole gzip file"),
        ("x.csv.gz", PACKED["gz"][:20], "not a whole gzip file"),
        ("x.csv.gz", PACKED["gz"][:12] + b"\0" + PACKED["gz"][13:], "not a whole gzip file"),
        ("x.csv.gz", PACKED["gz"] + b"rest", "not a whole gzip file"),
        ("x.csv.gz", b"", "empty"),
        ("x.csv.zst", TEXT, "not a whole zstd file"),
        ("x.csv.zst", PACKED["zst"][:-3], "not a whole zstd file"),
        ("x.csv.zst", b"", "empty"),
        ("x.csv", PACKED["gz"], "does not end in .gz"),
        ("x.csv", PACKED["zst"], "does not end in .zst"),
        ("x.jsonl", PACKED["gz"], "does not end in .gz"),
        ("x.csv.gz", gzip.compress(PACKED["gz"]), "compressed"),
        ("x.csv.gz", gzip.compress("key,value\n".encode("utf-16")), "UTF-16"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_by_name(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    with pytest.raises(DataError, match=says) as refusal:
        values(tmp_path, name, data)
    assert refusal.value.code == "DATA_UNREADABLE"
    assert name in refusal.value.what


@pytest.mark.parametrize("cut", range(1, len(PACKED["gz"])))
def test_no_part_of_a_gzip_file_is_taken_for_the_whole(tmp_path: Path, cut: int) -> None:
    with pytest.raises(DataError, match="not a whole gzip file"):
        values(tmp_path, "x.csv.gz", PACKED["gz"][:cut])


def test_a_folder_has_files_of_its_format_only_and_a_pattern_those_it_matches(tmp_path: Path) -> None:
    names = ("a.csv", "b.csv.gz", "c.csv.zst", "d.jsonl", "e.ndjson", "f.json")
    for name in names:
        (tmp_path / name).touch()

    def listed(path: object, form: str = "") -> list[str]:
        source = Files(str(path), event_time=INGRESS_TIME, format=form)
        return [Path(split.path).name for split in SourceListing(source).everything()]

    # A file that is compressed after it was read must not be read again.
    assert listed(tmp_path, "csv") == ["a.csv"]
    assert listed(tmp_path, "jsonl") == ["d.jsonl"]
    assert listed(tmp_path / "*.{csv,csv.gz,csv.zst}") == ["a.csv", "b.csv.gz", "c.csv.zst"]
    assert listed(tmp_path / "*.{jsonl,ndjson}") == ["d.jsonl", "e.ndjson"]
    assert listed(tmp_path / "*.json", "jsonl") == ["f.json"]


def test_a_compressed_file_is_as_much_work_as_what_is_in_it() -> None:
    plain = [Split(f"{number}.csv", 8, 0) for number in range(8)]
    assert in_tasks([Split("x.csv.gz", 8, 0), *plain], 2) == ((Split("x.csv.gz", 8, 0),), tuple(plain))
    assert expected_bytes(Split("empty.csv", 0, 0)) == 1
