"""``show`` prints the table that a pipeline has published, and goes on with what comes."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import __main__ as command_line
from airflow_dataflow_provider.cli import show
from airflow_dataflow_provider.model.interval import Interval
from tests.cli.conftest import Run
from tests.spark.pane_logs import MINUTE, Said, open_log, pipeline, publish

PANES = [Said("a", 0, 1, is_first=True), Said("b", 0, 2, is_first=True), Said("a", 1, 4, is_first=True)]


@pytest.fixture
def log(state: str) -> str:
    writer, stages = open_log(state, pipeline())
    publish(writer, stages, 0, PANES)
    return state


def totals(text: str) -> list[int]:
    return [json.loads(line)["total"] for line in text.splitlines()]


def test_the_table_has_a_row_for_each_window_and_key(command: Run, log: str) -> None:
    said = command("show", "--state", log)
    assert (said.status, said.err) == (0, "")
    header, *rows = (line.split() for line in said.out.splitlines())
    assert header == ["window_start", "window_end", "key", "count", "total", "pane_timing", "completeness"]
    assert rows[0] == ["1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z", "a", "1", "1", "LATE", "1.0"]
    assert len(rows) == 3


def test_csv_and_json_have_every_column_with_times_as_iso_8601(command: Run, log: str) -> None:
    text = command("show", "--state", log, "--format", "csv").out
    frame = pl.read_csv(text.encode())
    assert frame["window_end"].to_list() == ["1970-01-01T00:01:00Z"] * 2 + ["1970-01-01T00:02:00Z"]
    rows = [json.loads(line) for line in command("show", "--state", log, "--format", "json").out.splitlines()]
    assert [*rows[0]] == frame.columns
    assert [(row["key"], row["total"], row["pane_is_last"]) for row in rows] == [
        ("a", 1, False), ("b", 2, False), ("a", 4, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--where", "key=a"], [1, 4]),
        (["--where", "key=a", "--where", "total=4"], [4]),
        (["--where", "pane_is_last=true"], []),
        (["--where", "window_start=1970-01-01T00:01:00Z"], [4]),
        (["--since", "1970-01-01T00:01:00Z"], [4]),
        (["--until", "1970-01-01T00:01:00Z"], [1, 2]),
        (["--limit", "1"], [4]),
        (["--limit", "0"], [1, 2, 4]),
    ],
)
def test_rows_are_chosen_by_columns_and_windows_and_number(
    options: list[str], expected: list[int], command: Run, log: str
) -> None:
    assert totals(command("show", "--state", log, "--format", "json", *options).out) == expected


def test_a_long_table_shows_its_newest_windows_and_says_so(command: Run, state: str) -> None:
    writer, stages = open_log(state, pipeline())
    publish(writer, stages, 0, [Said("a", number, number, is_first=True) for number in range(50)])
    lines = command("show", "--state", state).out.splitlines()
    assert lines[-1] == "the newest 40 of 50 rows; --limit 0 shows all"
    assert lines[1].split()[4] == "10"


@pytest.mark.parametrize(
    "options",
    [["--where", "key"], ["--where", "nothing=1"], ["--where", "total=much"], ["--where", "pane_is_last=perhaps"],
     ["--format", "xml"]],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused(options: list[str], command: Run, log: str) -> None:
    said = command("show", "--state", log, *options)
    assert (said.status, said.code, said.out) == (2, "SUBMIT_SHOW", "")


def test_a_log_without_panes_is_an_empty_table_and_a_word(command: Run, state: str) -> None:
    open_log(state, pipeline())
    said = command("show", "--state", state)
    assert (said.status, said.err) == (0, "nothing is published yet; status says why\n")


def test_nested_values_and_times_of_other_zones_are_printed_as_what_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    noon = pl.Series("at", [dt.datetime(2013, 1, 1, 11, 0, 0, 500_000, dt.UTC)]).dt.convert_time_zone("Europe/Vienna")
    frame = pl.DataFrame({"list": [[1, 2]], "bytes": [b"ab"], "share": [float("nan")]}).with_columns(noon)
    show._print(frame, "csv", header=True)
    show._print(frame, "json", header=False)
    header, row, line = capsys.readouterr().out.splitlines()
    assert (header, row) == ("list,bytes,share,at", '"[1, 2]",6162,NaN,2013-01-01T11:00:00.500Z')
    assert json.loads(line) == {"list": [1, 2], "bytes": "6162", "share": None, "at": "2013-01-01T11:00:00.500Z"}


def test_a_state_without_results_is_refused(command: Run, state: str) -> None:
    assert command("show", "--state", state).code == "STATE_NO_PANES"


@pytest.fixture
def while_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what happens between the looks of a reader who presses Ctrl-C after that."""

    def happens(*steps: Callable[[], None]) -> None:
        left: Iterator[Callable[[], None]] = iter(steps)

        def wait() -> None:
            step = next(left, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(show, "_wait", wait)

    return happens


def test_follow_goes_on_with_every_pane_once_and_names_recomputed_intervals(
    command: Run, state: str, while_waiting: Callable[..., None]
) -> None:
    writer, stages = open_log(state, pipeline())
    publish(writer, stages, 0, PANES)
    while_waiting(
        lambda: publish(writer, stages, 1, [Said("a", 1, 8), Said("c", 1, 16, is_first=True)]),
        lambda: None,
        lambda: publish(writer, stages, 2, [], Interval(0, MINUTE)),
        lambda: publish(writer, stages, 3, [Said("a", 2, 32, is_first=True)]),
    )
    said = command("show", "--state", state, "--format", "json", "--follow")
    assert said.status == 0
    assert totals(said.out) == [1, 2, 4, 8, 16, 32]
    assert said.err == "epoch 2 replaces all windows that end in 1970-01-01T00:00:00Z to 1970-01-01T00:01:00Z\n"


def test_follow_prints_changes_as_tables_with_their_epoch_and_filters_them_too(
    command: Run, state: str, while_waiting: Callable[..., None]
) -> None:
    writer, stages = open_log(state, pipeline())
    publish(writer, stages, 0, PANES)
    while_waiting(lambda: publish(writer, stages, 1, [Said("a", 1, 8), Said("b", 1, 16, is_first=True)]))
    lines = command("show", "--state", state, "--follow", "--where", "key=b").out.splitlines()
    assert [line.split()[-1] for line in lines] == ["completeness", "1.0", "total", "16"]
    assert lines[-1].split()[:3] == ["1", "LATE", "false"]


def test_the_console_script_is_the_same_command_line() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    script = EntryPoint("dataflow", project["scripts"]["dataflow"], "console_scripts")
    assert script.load() is command_line.main
