"""The benchmark: answers are checked, a wrong one fails it, and the figures have the shape that readers expect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.check import Answer, WrongAnswerError, compare, write_truth
from tests.benchmarks.engines import ENGINES, DuckDB, Engine, Polars
from tests.benchmarks.generate import LONGEST_DELAY, Events, Workload, generate
from tests.benchmarks.measure import Meter
from tests.benchmarks.places import Here
from tests.benchmarks.queries import QUERIES, Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = QUERIES["Q1"]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return generate(Workload(rows=2_000, keys=7, files=2), tmp_path_factory.mktemp("events"))


@pytest.fixture
def truth(events: Events, tmp_path: Path) -> Path:
    write_truth(QUERY, events, tmp_path / "truth.parquet")
    return tmp_path / "truth.parquet"


def here(log: Path) -> Here:
    return Here()


def benchmark(out: Path, *engines: Engine) -> int:
    arguments = ["--queries", "Q1", "--rows", "20000", "--keys", "50", "--files", "4", "--repeats", "1"]
    return main([*arguments, "--out", str(out)], engines, here)


class Liar(Polars):
    """One sum of many is wrong by one."""

    name = "liar"

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:
        answer = super().answer(query, events, folder)
        wrong = pl.read_parquet(answer.path).with_row_index()
        wrong = wrong.with_columns(
            pl.when(pl.col("index") == 0).then(pl.col("total") + 1).otherwise("total").alias("total")
        )
        wrong.drop("index").write_parquet(answer.path)
        return answer


class Secretive(Polars):
    """Computes, but shows nobody what."""

    name = "secretive"

    def answer(self, query: Query, events: Events, folder: Path) -> None:  # noqa: ARG002
        return None


@pytest.mark.spark
@pytest.mark.slow
def test_all_engines_give_the_same_answer_and_the_figures_have_their_shape(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.benchmarks.engines.spark_session._TRIED", (2, 4))
    monkeypatch.setattr("tests.benchmarks.bench._WARM_UP", Workload(rows=1_000, keys=10, files=2))
    assert benchmark(tmp_path, *ENGINES) == 0

    figures = json.loads((tmp_path / "bench.json").read_text())
    assert [(row["engine"], row["mode"]) for row in figures] == [
        ("ours", "micro-batch"),
        ("spark-update", "micro-batch"),
        ("spark-append", "micro-batch"),
        ("ours-batch", "batch"),
        ("ours-interval", "batch"),
        ("spark-batch", "batch"),
        ("duckdb", "batch"),
        ("polars", "batch"),
    ]
    fields = ["query", "keys", "rows", "mode", "engine", "seconds", "rows_per_s", "cpu_s", "peak_mb", "ratio"]
    more = ["workers_mb", "open_windows", "state_bytes", "state_bytes_per_epoch", "epochs"]
    assert all(list(row) == fields + more for row in figures)
    assert {(row["query"], row["keys"], row["rows"]) for row in figures} == {("Q1", 50, 20_000)}
    assert all(row["seconds"] > 0 and row["peak_mb"] > 0 for row in figures)
    ours, update, append, ours_batch, ours_interval, spark_batch, *floors = figures
    fastest = min(update["seconds"], append["seconds"])
    assert ours["ratio"] == pytest.approx(fastest / ours["seconds"], rel=0.02)
    assert ours_batch["ratio"] == pytest.approx(spark_batch["seconds"] / ours_batch["seconds"], rel=0.02)
    assert ours_interval["ratio"] == pytest.approx(spark_batch["seconds"] / ours_interval["seconds"], rel=0.02)
    assert [row["ratio"] for row in (update, append, spark_batch, *floors)] == [None] * 5
    assert ours["peak_mb"] > 0 == ours["workers_mb"], "so little is read and reduced in the driver"
    assert ours["state_bytes"] > 8 * ours["open_windows"] > 0
    assert ours["state_bytes_per_epoch"] > 0
    assert ours["epochs"] == 2
    assert ours_batch["open_windows"] > 0
    assert [row["open_windows"] for row in (update, append, ours_interval, spark_batch, *floors)] == [None] * 6

    epochs = json.loads((tmp_path / "bench-epochs.json").read_text())
    ten_rows, quiet, closing = epochs
    assert [row["epoch"] for row in epochs] == ["10 rows", "clock, nothing due", "clock, a minute closes"]
    assert 0 < ten_rows["keyed_bytes"] < ten_rows["state_bytes"]
    assert (quiet["panes"], quiet["keyed_bytes"]) == (0, 0)
    assert closing["panes"] == 50

    told = capsys.readouterr().out
    assert "spark-append: ends without having published" in told
    assert "spark-update: " in told
    assert "shuffle partitions, the best of 2, 4" in told
    assert "panes published in this time" in told
    assert list((tmp_path / "bench" / "runs").glob("0*")) == []


def test_a_wrong_answer_fails_the_run_and_leaves_no_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bench.json").write_text("of a run before")

    assert benchmark(tmp_path, DuckDB(), Liar()) == 1

    assert "liar Q1: of" in capsys.readouterr().out
    assert not (tmp_path / "bench.json").exists()


def test_an_engine_that_shows_no_answer_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark(tmp_path, DuckDB(), Secretive()) == 1
    assert "no answer of secretive was checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda rows: rows[1:], id="a row is missing"),
        pytest.param(lambda rows: pl.concat([rows, rows[:1]]), id="a row is there twice"),
        pytest.param(lambda rows: rows.with_columns(pl.col("key") + 1), id="keys are exchanged"),
        pytest.param(lambda rows: rows.with_columns(pl.lit(None, pl.Int64).alias("total")), id="values are null"),
        pytest.param(lambda rows: rows.clear(), id="there is nothing"),
    ],
)
def test_every_difference_is_a_wrong_answer(change, events: Events, truth: Path, tmp_path: Path) -> None:  # noqa: ANN001
    path = tmp_path / "answer.parquet"
    rows = pl.read_parquet(truth)
    rows.sample(fraction=1, shuffle=True, seed=1).write_parquet(path)
    assert compare(QUERY, "the truth in another order", Answer(path), truth) == 0

    change(rows).write_parquet(path)
    with pytest.raises(WrongAnswerError, match="an engine Q1"):
        compare(QUERY, "an engine", Answer(path), truth)


def test_an_answer_that_stops_at_a_watermark_owes_all_before_it_and_nothing_after(truth: Path, tmp_path: Path) -> None:
    rows = pl.read_parquet(truth)
    until = rows["window_end"].unique().sort()[2]
    complete = rows.filter(pl.col("window_end") <= until)
    path = tmp_path / "answer.parquet"
    complete.write_parquet(path)
    assert compare(QUERY, "append", Answer(path, until), truth) == len(rows) - len(complete)

    for wrong in (complete[1:], rows):
        wrong.write_parquet(path)
        with pytest.raises(WrongAnswerError):
            compare(QUERY, "append", Answer(path, until), truth)


def test_comparing_nothing_with_nothing_is_no_check(truth: Path, tmp_path: Path) -> None:
    pl.read_parquet(truth).clear().write_parquet(tmp_path / "answer.parquet")
    with pytest.raises(WrongAnswerError, match="nothing could be checked"):
        compare(QUERY, "append", Answer(tmp_path / "answer.parquet", 0), truth)


def test_files_that_are_not_the_workload_are_refused(events: Events, tmp_path: Path) -> None:
    less = Events(Workload(rows=1_999, keys=7, files=2), events.folder)
    with pytest.raises(WrongAnswerError, match="holds 2000 rows, not 1999"):
        write_truth(QUERY, less, tmp_path / "truth.parquet")


def test_events_lie_in_the_order_of_arrival_and_the_first_is_the_latest(events: Events) -> None:
    rows = pl.concat(pl.read_parquet(path) for path in events.paths)
    delay = (rows["arrival_time"] - rows["event_time"]).dt.total_microseconds()

    assert rows["arrival_time"].is_sorted()
    assert not rows["event_time"].is_sorted()
    assert delay[0] == LONGEST_DELAY == delay.max()
    assert delay.min() >= 1_000_000
    assert 1_000_000 < delay.median() < 2_000_000 < 10 * delay.median() < delay.quantile(0.99)
    modified = [path.stat().st_mtime for path in events.paths]
    assert modified == sorted(set(modified))


def test_keys_of_bursts_are_silent_for_two_minutes_of_three(tmp_path: Path) -> None:
    bursts = generate(Workload(rows=20_000, keys=30, files=2, bursts=True), tmp_path)
    rows = pl.read_parquet(bursts.glob).sort("key", "event_time")
    pause = (rows["event_time"].diff().dt.total_seconds()).filter(rows["key"] == rows["key"].shift())

    assert rows["key"].n_unique() == 30
    assert pause.filter(pause > 30).len() > 2 * 30
    assert 115 < pause.max() <= 240


def test_events_are_made_once_and_the_same_wherever(events: Events, tmp_path: Path) -> None:
    before = [path.stat().st_ino for path in events.paths]
    again = generate(events.workload, events.folder.parent)
    assert [path.stat().st_ino for path in again.paths] == before

    elsewhere = generate(events.workload, tmp_path)
    assert pl.read_parquet(elsewhere.glob).equals(pl.read_parquet(events.glob))


def test_what_a_child_process_uses_is_measured() -> None:
    work = "import sys\nkept = b'x' * 200_000_000\nfor _ in range(3_000_000): pass\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", work]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child,
        Meter(child.pid) as of_child,
        Meter(Here().pid) as of_tree,
    ):
        assert child.stdout is not None
        child.stdout.readline()

    assert of_tree.cost.peak_mb > of_child.cost.peak_mb > 200
    assert of_child.cost.cpu_s > 0
    assert of_child.cost.workers_mb == 0
