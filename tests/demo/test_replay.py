from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from airflow_dataflow_provider.model.errors import DefinitionError, StateError
from airflow_dataflow_provider.model.time import from_iso, to_micros
from dags_examples.data import load_flights
from dags_examples.replay import Replay, main

ROOT = Path(__file__).parents[2]
START, END = from_iso("2013-01-01T00:00:00Z"), from_iso("2013-01-03T00:00:00Z")
EVER = from_iso("2015-01-01T00:00:00Z")
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def replays() -> Callable[..., Replay]:
    """Replays of the same two days that read the data once."""
    files: dict[int, dict[int, pl.DataFrame]] = {}

    def make(out: Path, file_minutes: int = 15) -> Replay:
        replay = Replay(out, START, END, file_minutes)
        if file_minutes in files:
            replay.__dict__["files"] = files[file_minutes]
        files[file_minutes] = replay.files
        return replay

    return make


@pytest.fixture(scope="module")
def departures() -> pl.DataFrame:
    """What must come out: every flight scheduled in the two days that was not cancelled, as it became known."""
    scheduled = pl.col("scheduled").dt.epoch("us")
    return load_flights().drop_nulls("departed").filter(scheduled >= START, scheduled < END).sort("departed")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_flight_that_left_is_in_exactly_one_file(
    replays: Callable[..., Replay], departures: pl.DataFrame, tmp_path: Path
) -> None:
    written = replays(tmp_path).write_until(EVER)
    assert sorted(tmp_path.glob("*.parquet")) == written
    everything = pl.concat([pl.read_parquet(path) for path in written])
    assert everything.height > 1_000
    assert_frame_equal(everything, departures, check_row_order=False)


def test_the_names_of_the_files_sort_by_arrival(replays: Callable[..., Replay], tmp_path: Path) -> None:
    replays(tmp_path).write_until(EVER)
    arrivals = pl.concat([pl.read_parquet(path) for path in sorted(tmp_path.glob("*.parquet"))])["departed"]
    assert arrivals.is_sorted()


@pytest.mark.parametrize("file_minutes", [5, 60])
def test_a_file_holds_the_arrivals_of_the_minutes_before_its_name(
    replays: Callable[..., Replay], tmp_path: Path, file_minutes: int
) -> None:
    for path in replays(tmp_path, file_minutes).write_until(EVER):
        end = to_micros(path.stem.removeprefix("departures-"))
        arrived = pl.read_parquet(path)["departed"].dt.epoch("us")
        assert arrived.is_between(end - file_minutes * MINUTE, end, closed="left").all()


def test_nothing_is_known_before_it_arrives(
    replays: Callable[..., Replay], departures: pl.DataFrame, tmp_path: Path
) -> None:
    noon = "2013-01-01T12:00:00Z"
    replays(tmp_path).write_until(noon)
    known = pl.read_parquet(tmp_path / "*.parquet")
    assert_frame_equal(
        known, departures.filter(pl.col("departed").dt.epoch("us") < from_iso(noon)), check_row_order=False
    )
    # A file whose minutes are not over is not there: one minute earlier, its departures are missing.
    assert not (tmp_path / "departures-20130101T121500Z.parquet").exists()


def test_a_replay_that_is_started_again_goes_on_where_it_stopped(
    replays: Callable[..., Replay], tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = replays(whole).write_until(EVER)
    first = replays(parts).write_until("2013-01-01T18:00:00Z")
    before = content(parts)
    rest = replays(parts).write_until(EVER)
    assert replays(parts).write_until(EVER) == []
    assert [path.name for path in [*first, *rest]] == [path.name for path in expected]
    assert content(parts) == content(whole)
    assert {name: content(parts)[name] for name in before} == before


def test_a_file_is_written_when_the_clock_reaches_its_end(replays: Callable[..., Replay], tmp_path: Path) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        assert seconds > 0
        now += seconds

    replay = replays(tmp_path)
    begin = min(replay.files) - 15 * MINUTE
    written = 0
    for path in replay.run(3600, clock=lambda: now, sleep=sleep):
        end = to_micros(path.stem.removeprefix("departures-"))
        assert now == pytest.approx((end - begin) / 1e6 / 3600)
        written += 1
    assert written == len(replay.files)


def test_a_replay_that_goes_on_does_not_wait_for_what_is_there(replays: Callable[..., Replay], tmp_path: Path) -> None:
    replays(tmp_path).write_until("2013-01-02T00:00:00Z")
    waited: list[float] = []
    next(replays(tmp_path).run(1.0, clock=lambda: 0.0, sleep=waited.append))
    assert waited == [15 * 60]


def test_a_folder_belongs_to_one_replay(replays: Callable[..., Replay], tmp_path: Path) -> None:
    replays(tmp_path, 15)
    with pytest.raises(StateError, match="another folder") as refused:
        replays(tmp_path, 5)
    assert refused.value.code == "STATE_OTHER_REPLAY"


def test_a_span_that_ends_before_it_starts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="--to"):
        Replay(tmp_path / "never", END, START)
    assert not (tmp_path / "never").exists()


def test_a_replay_that_is_killed_leaves_only_whole_files_and_can_go_on(
    replays: Callable[..., Replay], tmp_path: Path
) -> None:
    span = ["--from", "2013-01-01T00:00:00Z", "--to", "2013-01-03T00:00:00Z", "--file-minutes", "15"]
    command = [sys.executable, "-m", "dags_examples.replay", "--out", str(tmp_path / "out"), *span]
    process = subprocess.Popen([*command, "--speed", "36000"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    first = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert Path(first.strip()).exists()
    killed = list((tmp_path / "out").glob("*.parquet"))
    assert 0 < len(killed) < len(replays(tmp_path / "whole").write_until(EVER))
    for path in killed:
        assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()
    assert main(["--out", str(tmp_path / "out"), *span, "--speed", "max"]) == 0
    files = {path.name for path in (tmp_path / "out").glob("*.parquet")}
    assert files == {path.name for path in (tmp_path / "whole").glob("*.parquet")}


def test_a_time_without_a_zone_is_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path), "--from", "2013-01-01", "--to", "2013-01-02T00:00:00Z"]) == 2
    assert "TIME_NAIVE" in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast"])
def test_a_speed_that_is_none_is_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], speed: str
) -> None:
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--from", "x", "--to", "y", f"--speed={speed}"])
    assert "--speed" in capsys.readouterr().err
