"""The growth table: what it measures, and its ratios; with a stand-in for ours that needs no Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.check import Answer, StateSize
from tests.benchmarks.engines import Polars
from tests.benchmarks.generate import Events
from tests.benchmarks.growth import Axes
from tests.benchmarks.places import Here
from tests.benchmarks.queries import Query

AXES = Axes(rows=(2_000, 4_000, 12_000), keys=(5, 50, 200), epochs=(20, 30, 40), sources=((20, 2),))


class StandIn(Polars):
    """Says that a window is open for each key, and that each is ten bytes."""

    name, side, mode, place = "ours", "ours", "micro-batch", "polars"

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:
        keys = events.workload.keys
        return replace(super().answer(query, events, folder), state=StateSize(keys, 10 * keys, 7, 2))


def benchmark(out: Path, *arguments: str) -> list[dict[str, float | str]]:
    common = ["--queries", "Q1", "Q2", "Q3", "--repeats", "1", "--files", "4", "--out", str(out)]
    # Small epochs need the real engine.
    assert main([*common, *arguments], [StandIn()], lambda _: Here(), AXES) == 0
    rows: list[dict[str, float | str]] = json.loads((out / "bench.json").read_text())
    return rows


def test_it_grows_along_one_axis_at_a_time_and_compares_with_the_middle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.benchmarks.__main__.SMALL_EPOCHS_OF", "none")
    figures = benchmark(tmp_path, "--rows", "2000", "--keys", "5", "--growth")
    assert [row["query"] for row in figures[:3]] == ["Q1", "Q2", "Q3"]
    growth = figures[3:]
    one_query = [("rows", 2_000, 50), ("rows", 4_000, 50), ("rows", 12_000, 50)]
    one_query += [("keys", 4_000, 5), ("keys", 4_000, 50), ("keys", 4_000, 200)]
    assert [(row["query"], row["axis"], row["rows"], row["keys"]) for row in growth] == [
        (query, *point) for query in ("Q1", "Q3") for point in one_query
    ]
    assert {row["engine"] for row in growth} == {"ours-growth"}
    assert [row["open_ratio"] for row in growth] == [1, 1, 1, 0.1, 1, 4] * 2
    assert [row["state_ratio"] for row in growth] == [1, 1, 1, 0.1, 1, 4] * 2
    for row in growth:
        assert row["us_per_row"] == pytest.approx(float(row["seconds"]) / float(row["rows"]) * 1e6, abs=1)
    for three in (growth[at : at + 3] for at in range(0, len(growth), 3)):
        middle = three[1]["us_per_row"]
        assert [row["time_ratio"] for row in three] == [
            pytest.approx(float(row["us_per_row"]) / float(middle), abs=0.02) for row in three
        ]
    assert "How ours grows" in capsys.readouterr().out


def test_narrowing_leaves_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.__main__.SMALL_EPOCHS_OF", "none")
    assert [row["query"] for row in benchmark(tmp_path, "--rows", "2000", "--keys", "5")] == ["Q1", "Q2", "Q3"]


def test_all_its_workloads_come_at_one_rate_in_files_of_one_size() -> None:
    workloads = [workload for three in AXES.workloads().values() for workload in three]
    assert {workload.rate for workload in workloads} == {4.0}
    assert {workload.rows // workload.files for workload in workloads} == {500}


def test_axes_that_do_not_grow_are_refused() -> None:
    with pytest.raises(ValueError, match="does not grow"):
        Axes(rows=(1, 3, 2))
