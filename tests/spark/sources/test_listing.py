"""Which splits a source has: paths, patterns, odd names, and folders that are not listed twice."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import fsspec
import pytest

from airflow_dataflow_provider import Files
from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.spark.sources import file_systems
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from airflow_dataflow_provider.spark.sources.read_splits import ReadSplits

ODD_NAMES = ("with space", "per%20cent", "hash#tag", "question?", "a:b", "ümlaut", "plus+and&", "[1]", "{a,b}", "*")


def files(path: object) -> Files:
    return Files(str(path), event_time="happened", format="parquet")


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def found(path: object) -> list[str]:
    return [split.path for split in SourceListing(files(path)).everything()]


def below(folder: Path, names: Iterable[str]) -> list[str]:
    return sorted(f"{folder}/{name}" for name in names)


def test_a_folder_means_all_files_of_the_format_below_it_and_hidden_names_are_none(tmp_path: Path) -> None:
    put(
        tmp_path, "a.parquet", "b.csv", "2013/01/c.parquet", "2013/_delta_log/d.parquet", ".e.parquet", "_f.parquet",
        "part=1/g.parquet", "no-suffix",
    )  # fmt: skip
    assert found(tmp_path) == below(tmp_path, ["2013/01/c.parquet", "a.parquet", "part=1/g.parquet"])
    assert found(f"{tmp_path}/") == found(tmp_path) == found(f"file://{tmp_path}") == found(f"file:{tmp_path}")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.parquet", ["a.parquet", "b.parquet"]),
        ("?.parquet", ["a.parquet", "b.parquet"]),
        ("[b-z].parquet", ["b.parquet"]),
        ("[!b].parquet", ["a.parquet"]),
        ("{a,b}.parquet", ["a.parquet", "b.parquet"]),
        ("{a,b,2013/{01,03}/*}.parquet", ["a.parquet", "b.parquet", "2013/01/c.parquet"]),
        ("20*/*/*.parquet", ["2013/01/c.parquet", "2014/02/d.parquet"]),
        ("**/*.parquet", ["a.parquet", "b.parquet", "2013/01/c.parquet", "2014/02/d.parquet"]),
        ("**/02/*", ["2014/02/d.parquet"]),
        ("2013*", ["2013/01/c.parquet"]),
        ("2013/01/c.parquet", ["2013/01/c.parquet"]),
        ("nothing-*.parquet", []),
    ],
)
def test_a_pattern_means_the_names_that_it_matches(pattern: str, names: list[str], tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", "b.parquet", "2013/01/c.parquet", "2014/02/d.parquet")
    assert found(f"{tmp_path}/{pattern}") == below(tmp_path, names)


def test_a_relative_path_is_one_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "source/a.parquet")
    monkeypatch.chdir(tmp_path)
    assert found("source/*.parquet") == found("./source") == below(tmp_path, ["source/a.parquet"])


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_name_is_a_name_and_a_path_that_exists_is_no_pattern(name: str, tmp_path: Path) -> None:
    put(tmp_path, f"{name}.parquet", "a1.parquet", "aq.parquet")
    assert f"{tmp_path}/{name}.parquet" in found(tmp_path)
    assert found(f"{tmp_path}/{name}.parquet") == [f"{tmp_path}/{name}.parquet"]
    put(tmp_path, f"{name}/b.parquet")
    assert found(f"{tmp_path}/{name}/") == found(f"{tmp_path}/{name}") == [f"{tmp_path}/{name}/b.parquet"]


def test_a_split_has_its_version_and_new_ones_come_oldest_first(tmp_path: Path) -> None:
    put(tmp_path, "new.parquet", "old.parquet", "same.parquet")
    for name, seconds in (("new", 20), ("old", 10), ("same", 10)):
        os.utime(tmp_path / f"{name}.parquet", (seconds, seconds))
    assert SourceListing(files(tmp_path)).unread(ReadSplits()) == [
        Split(f"{tmp_path}/old.parquet", 11, 10_000_000),
        Split(f"{tmp_path}/same.parquet", 12, 10_000_000),
        Split(f"{tmp_path}/new.parquet", 11, 20_000_000),
    ]


def test_a_link_to_a_folder_above_is_not_followed_and_others_are(tmp_path: Path) -> None:
    put(tmp_path, "source/a.parquet", "elsewhere/b.parquet")
    (tmp_path / "source" / "up").symlink_to(tmp_path / "source")
    (tmp_path / "source" / "beside").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "source" / "gone.parquet").symlink_to(tmp_path / "nowhere")
    assert found(tmp_path / "source") == below(tmp_path / "source", ["a.parquet", "beside/b.parquet"])


def test_a_name_that_no_document_can_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.parquet")).write_bytes(b"")
    with pytest.raises(DataflowError) as refusal:
        found(tmp_path)
    assert refusal.value.code == "SOURCE_FILE_NAME"


@pytest.mark.parametrize("path", ["nowhere", "nowhere/*.parquet", "nowhere/{a,b}/*.parquet"])
def test_a_folder_that_is_not_there_is_refused_and_an_empty_one_is_empty(path: str, tmp_path: Path) -> None:
    with pytest.raises(DataflowError, match="nowhere") as refusal:
        SourceListing(files(tmp_path / path)).check()
    assert refusal.value.code == "SOURCE_NOT_FOUND"
    assert found(tmp_path / path) == []
    SourceListing(files(tmp_path)).check()
    assert SourceListing(files(tmp_path)).is_empty()


def test_a_folder_that_cannot_be_listed_is_an_error_and_not_an_empty_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.parquet")

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(file_systems.os, "scandir", refuse)
    with pytest.raises(DataflowError, match="Permission denied") as refusal:
        found(tmp_path)
    assert refusal.value.code == "SOURCE_UNREADABLE"


class Listed:
    """A source whose folders' listings are counted, and the clock by which they become quiet."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.folders, self.read = 0.0, list[str](), ReadSplits()
        scan = os.scandir

        def counted(folder: str) -> object:
            self.folders.append(Path(folder).name)
            return scan(folder)

        monkeypatch.setattr(file_systems.os, "scandir", counted)
        self.listing = SourceListing(files(folder), lambda: self.now)

    def tick(self, seconds: float = 0.0) -> tuple[list[str], list[str]]:
        """The folders that are listed, and the names that are new."""
        self.now += seconds
        self.folders.clear()
        new = self.listing.unread(self.read)
        self.read.commit(new)
        return self.folders, [Path(split.path).name for split in new]


def test_a_folder_that_has_been_quiet_for_a_minute_is_listed_again_once_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "day=1/a.parquet", "day=2/b.parquet")
    source = Listed(tmp_path, monkeypatch)
    all_of_it = [tmp_path.name, "day=1", "day=2"]
    assert source.tick() == (all_of_it, ["a.parquet", "b.parquet"])
    assert source.tick(1) == (all_of_it, []), "a file that came right after the listing may show the same time"
    assert source.tick(60) == ([], [])
    put(tmp_path, "day=2/c.parquet")
    assert source.tick(1) == (["day=2"], ["c.parquet"])
    put(tmp_path, "day=3/d.parquet")
    assert source.tick(1) == ([tmp_path.name, "day=2", "day=3"], ["d.parquet"])
    assert source.tick(601) == ([*all_of_it, "day=3"], []), "some mounts do not keep the times of folders"


def test_what_waits_in_a_quiet_folder_still_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.parquet", "b.parquet")
    source = Listed(tmp_path, monkeypatch)
    first, second = source.listing.unread(source.read)
    source.now = 61.0
    source.listing.unread(source.read)
    source.read.commit([first])
    assert source.listing.unread(source.read) == [second]


def test_files_that_changed_after_they_were_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.parquet", "b.parquet")
    source = Listed(tmp_path, monkeypatch)
    source.tick()
    (tmp_path / "b.parquet").write_bytes(b"something else")
    again = SourceListing(files(tmp_path))
    assert again.unread(source.read) == []
    assert [Path(split.path).name for split in again.changed] == ["b.parquet"]


@pytest.mark.parametrize("pattern", ["*.parquet", "", "**/*.parquet", "{a,b}.parquet", "20*/*/*.parquet"])
def test_a_remote_source_is_listed_as_a_local_one_is(pattern: str, tmp_path: Path) -> None:
    names = ["a.parquet", "b.parquet", "2013/01/c.parquet", "_hidden.parquet", "_folder/d.parquet"]
    put(tmp_path, *names)
    remote = fsspec.filesystem("memory")
    for name in names:
        remote.pipe_file(f"/{tmp_path.name}/{name}", b"rows")
    local = [path.removeprefix(f"{tmp_path}/") for path in found(f"{tmp_path}/{pattern}")]
    listing = SourceListing(files(f"memory://{tmp_path.name}/{pattern}"))
    listing.check()
    split, *more = listing.everything()
    assert [each.path.removeprefix(f"memory:///{tmp_path.name}/") for each in (split, *more)] == local
    assert (split.size, split.modified > 0) == (4, True)
    assert file_systems.is_there(split)
    read = ReadSplits()
    read.commit([split])
    assert listing.unread(read) == more
    remote.rm(f"/{tmp_path.name}", recursive=True)
    assert not file_systems.is_there(split)
    assert listing.everything() == []
