"""The epoch log alone says what was read: files that go away, come back or change are neither lost nor read twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import DataError, DataflowError, Pipeline, RuntimeMode
from airflow_dataflow_provider.__main__ import main
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.sources import read_splits
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import as_truth, events, pipeline, truth, write_files

MICRO_BATCH, BATCH = RuntimeMode.MICRO_BATCH, RuntimeMode.BATCH
ALWAYS = Interval(0, 2**52)
"""An interval in which every window ends."""


class Crash(Exception):  # noqa: N818 - it is none of the package's errors
    """A driver falls over."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_files(tmp_path / "source", events(4_000), files=4)
    return tmp_path / "source"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def go(what: Pipeline, state: Path, mode: RuntimeMode = MICRO_BATCH, interval: Interval | None = None) -> Status:
    conf = {"dataflow.state.partitions": "2"}
    run(Submission(what, mode, str(state), interval, conf=conf, workers=ThisProcess()))
    return read_status(str(state))


def falls_over(monkeypatch: pytest.MonkeyPatch, what: Pipeline, state: Path, owner: Any, step: str) -> None:
    """A driver that dies where it calls this."""

    def die(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, die)
        with pytest.raises(Crash):
            go(what, state)


def complete(what: Pipeline, state: Path, frame: pl.DataFrame) -> None:
    """After the end of input the table is that of one batch over all rows, and the log tells the same story."""
    status = go(what, state, BATCH)
    assert (status.rows.read, status.rows.expired, status.left_out) == (len(frame), 0, None)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(frame))
    assert_panes(panes_of(PaneLogReader(str(state)).panes(), what.grouping), panes_of_reference(str(state), what))


def kinds(state: Path) -> list[str]:
    return [record.kind for record in EpochLog(Store.open(str(state))).records()]


@pytest.mark.parametrize("step", ["prepare", "commit"])
def test_a_driver_that_dies_within_an_epoch_is_followed_by_one_that_reads_each_file_once(
    step: str, source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h", max_files_per_epoch=2)
    falls_over(monkeypatch, what, state, EpochLog, step)
    assert go(what, state).rows.read == 4_000
    complete(what, state, events(4_000))


def test_input_that_is_away_when_its_epoch_is_finished_is_left_out_by_name_and_read_when_it_returns(
    source: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    falls_over(monkeypatch, what, state, Epochs, "_execute")
    away = tmp_path / "away"
    away.mkdir()
    for name in ("part-0001.parquet", "part-0002.parquet", "part-0003.parquet"):
        (source / name).rename(away / name)
    status = go(what, state)
    assert status.rows.read == 1_000
    assert status.left_out is not None
    assert [Path(split.path).name for split in status.left_out.files] == sorted(path.name for path in away.iterdir())
    told = status.watermarks

    with pytest.raises(DataError, match=r"3 files.*part-0001\.parquet") as refusal:
        go(what, state, BATCH)
    assert refusal.value.code == "DATA_FILE_AWAY"
    assert read_status(str(state)).watermarks == told, "nothing is claimed of rows that nobody has read"

    for path in away.iterdir():
        path.rename(source / path.name)
    assert go(what, state).left_out is None
    complete(what, state, events(4_000))


def test_a_file_that_is_forgotten_keeps_nobody_waiting_and_is_read_if_it_comes_back_after_all(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    falls_over(monkeypatch, what, state, Epochs, "_execute")
    away = source / "part-0003.parquet"
    content = away.read_bytes()
    away.unlink()
    before = go(what, state)
    assert main(["forget", str(source / "other.parquet"), "--state", str(state)]) == 2
    assert main(["forget", str(away), "--state", str(state)]) == 0
    status = go(what, state)
    assert (status.left_out, status.rows.read) == (None, 3_000)
    go(what, state)
    assert read_status(str(state)).watermarks.at(100) > before.watermarks.at(100)
    assert pending(Store.open(str(state))) == []
    go(what, state, BATCH)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(events(4_000)[:3_000]))
    away.write_bytes(content)
    assert go(what, state).rows.read == 4_000


def test_a_folder_that_is_empty_when_an_epoch_is_finished_leaves_all_of_it_out(
    source: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    falls_over(monkeypatch, what, state, Epochs, "_execute")
    shutil.move(source, tmp_path / "unmounted")
    source.mkdir()
    status = go(what, state)
    assert (status.rows.read, len(status.left_out.files) if status.left_out else 0) == (0, 4)
    source.rmdir()
    shutil.move(tmp_path / "unmounted", source)
    assert go(what, state).rows.read == 4_000
    complete(what, state, events(4_000))


def test_a_damaged_file_that_is_taken_away_repaired_and_put_back_is_read(source: Path, state: Path) -> None:
    what = pipeline(source, lateness="1h")
    damaged = source / "part-0002.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"part-0002.parquet cannot be read"):
        go(what, state)
    damaged.unlink()
    status = go(what, state)
    assert (status.rows.read, len(status.left_out.files) if status.left_out else 0) == (3_000, 1)
    damaged.write_bytes(content)
    assert go(what, state).rows.read == 4_000
    complete(what, state, events(4_000))


def test_a_file_that_has_changed_since_its_epoch_was_planned_is_read_as_it_is_now_by_a_later_epoch(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    falls_over(monkeypatch, what, state, Epochs, "_execute")
    other = events(1_200, seed=9)
    other.write_parquet(source / "part-0000.parquet")
    status = go(what, state)
    assert (status.rows.read, status.left_out) == (4_200, None)
    assert kinds(state)[:2] == ["data", "data"]
    complete(what, state, pl.concat([events(4_000)[1_000:], other]))


def test_a_file_that_changes_while_it_is_read_ends_the_run_with_a_code_and_is_read_by_the_next(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    execute = Epochs._execute

    def meanwhile(self: Epochs, *arguments: Any) -> Any:
        os.utime(source / "part-0003.parquet", (1, 1))
        return execute(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Epochs, "_execute", meanwhile)
        with pytest.raises(DataError, match=r"part-0003\.parquet has changed") as refusal:
            go(what, state)
    assert refusal.value.code == "DATA_FILE_CHANGED"
    assert go(what, state).rows.read == 4_000
    complete(what, state, events(4_000))


def test_a_file_that_changed_after_it_was_read_is_told_and_not_read_again(
    source: Path, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    what = pipeline(source, lateness="1h")
    go(what, state)
    events(10).write_parquet(source / "part-0001.parquet")
    assert go(what, state).rows.read == 4_000
    assert "SOURCE_FILE_CHANGED" in caplog.text
    assert "part-0001.parquet" in caplog.text


def test_a_file_of_the_year_2200_hides_no_other(source: Path, state: Path) -> None:
    what = pipeline(source, lateness="1h", max_files_per_epoch=1)
    os.utime(source / "part-0000.parquet", (7_258_118_400, 7_258_118_400))
    assert go(what, state).rows.read == 4_000
    later = events(1_000, seed=3)
    write_files(source, later, files=1, first=4)
    assert go(what, state).rows.read == 5_000


def test_what_was_read_is_known_from_a_copy_and_without_the_copy_from_the_log(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(read_splits, "_EPOCHS", 2)
    what = pipeline(source, lateness="1h", max_files_per_epoch=1)
    for first in (4, 8, 12):
        go(what, state)
        write_files(source, events(400, seed=first), files=4, first=first)
    assert go(what, state).rows.read == 5_200
    copies = sorted((state / "read").iterdir())
    assert copies
    assert go(what, state).rows.read == 5_200
    assert caplog.text == ""
    copies[0].write_bytes(b"damaged")
    assert go(what, state).rows.read == 5_200
    for copy in copies:
        copy.unlink(missing_ok=True)
    write_files(source, events(100, seed=20), files=1, first=20)
    assert go(what, state).rows.read == 5_300
    assert "taken from the epoch log" in caplog.text


def test_a_damaged_file_under_an_interval_leaves_nothing_behind_that_stops_other_runs(
    source: Path, state: Path
) -> None:
    what = pipeline(source, lateness="1h")
    damaged = source / "part-0002.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"part-0002.parquet cannot be read"):
        go(what, state, BATCH, ALWAYS)
    damaged.unlink()
    assert go(what, state).rows.read == 3_000
    assert kinds(state)[:2] == ["abandoned", "data"]
    damaged.write_bytes(content)
    assert go(what, state).rows.read == 4_000
    complete(what, state, events(4_000))


def test_an_interval_finishes_what_an_interrupted_run_had_planned(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    falls_over(monkeypatch, what, state, Epochs, "_execute")
    go(what, state, BATCH, Interval(0, 1))
    assert kinds(state) == ["data", "interval"]
    assert go(what, state).rows.read == 4_000


def test_an_abandoned_interval_covers_nothing_and_an_interval_that_was_prepared_is_finished(
    source: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline(source, lateness="1h")
    with monkeypatch.context() as patch:
        patch.setattr(EpochLog, "commit", lambda *_: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            go(what, state, BATCH, ALWAYS)
    go(what, state, BATCH, ALWAYS)
    assert kinds(state) == ["interval", "interval"]
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(events(4_000)))


def test_a_panic_ends_the_run_and_says_so(source: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("no such thing")

    with monkeypatch.context() as patch:
        patch.setattr(Epochs, "_execute", panic)
        with pytest.raises(BaseException, match="no such thing") as refusal:
            go(pipeline(source), state)
    assert not isinstance(refusal.value, DataflowError)
    assert read_status(str(state)).state == "failed"
