"""The tutorial and the how-to pages, one after the other, as a reader types them: on one Spark."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from airflow_dataflow_provider.testing.stream import TestStream
from docs.site.build import DOCS
from tests.docs.scripts import ON_SPARK, SNIPPETS, copy_here, load, run_commands, run_file

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_the_pages_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    # A command stops its Spark at the end; here other tests go on with it.
    monkeypatch.setattr("airflow_dataflow_provider.cli.run._stop", lambda spark: None)  # noqa: ARG005
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    copy_here(*(name for name in ON_SPARK if name.endswith((".py", ".csv"))))

    # The tutorial.
    run_commands("tutorial/first_run.sh")
    assert _printed("tutorial/read.py", capsys) == _told("tutorial/first_table.txt")
    run_commands("tutorial/second_run.sh")
    assert _printed("tutorial/read.py", capsys) == _told("tutorial/second_table.txt")

    # Reading.
    assert "window_start" in _printed("how-to/read_results.py", capsys)
    assert "yesterday" in _printed("how-to/rows_set_aside.py", capsys)
    run_file("how-to/follow.py")
    run_commands("how-to/status.sh")
    printed = str(capsys.readouterr().out)
    status = json.loads(printed[printed.index("\n{\n") :])
    assert status["rows"]["rejected"] == 1
    _check_metrics(status)
    _check_columns()
    run_file("how-to/read_state.py")
    run_file("testing/audit.py")

    # What was published is computed again, once its windows have expired.
    Path("wednesday.csv").rename("orders/wednesday.csv")
    run_commands("how-to/micro_batch.sh")
    run_file("how-to/run_in_python.py")
    before = _table("state")
    run_commands("how-to/correct.sh")
    assert [len(PaneLogReader("state").intervals()), _table("state")] == [1, before]
    run_commands("how-to/batch.sh")
    assert _table("nightly") == [row for row in before if row[1] < "2026-03-03"]

    # A backup, and a state that starts over.
    run_commands("how-to/back_up.sh")
    run_commands("how-to/restore.sh")
    assert _table("state") == before
    run_commands("how-to/start_over.sh")
    assert {*before} <= {*_table("state-2")}

    # Old data.
    Path("old").mkdir()
    Path("old/2019.csv").write_text(
        "shop,amount,ordered_at\nVienna,2.5,2019-01-01T10:00:00Z\nLinz,1.0,2019-01-01T12:30:00Z\n"
    )
    run_commands("how-to/old_data.sh")
    published = PaneLogReader("old-state").panes().filter(pl.col("pane_index") == 0).sort("epoch")
    assert published["shop"].to_list() == ["Vienna", "Linz"]
    assert published["epoch"].n_unique() == 2  # the first hour by the watermark, the other one at the end of the input

    # The page about tests.
    load("testing/test_nightly.py").test_the_nightly_batch(partial(TestStream, engine="spark-batch"))
    for name in ("orders", "departures"):
        sys.modules.pop(name)


def _printed(name: str, capsys: Any) -> str:
    capsys.readouterr()
    run_file(name)
    return str(capsys.readouterr().out)


def _told(name: str) -> str:
    return (SNIPPETS / name).read_text(encoding="utf-8")


def _table(state: str) -> list[tuple[str, ...]]:
    table = PaneLogReader(state).current().select("shop", "window_start", "orders", "turnover")
    return [tuple(map(str, row)) for row in table.rows()]


def _check_metrics(status: dict[str, Any]) -> None:
    """Each field of a status is on the page about metrics, with what is in its counts of rows."""
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    fields = {*status, *(f"rows.{name}" for name in status["rows"])} - {"rows.in"}
    assert [name for name in sorted(fields) if f"`{name}`" not in page] == []


def _check_columns() -> None:
    """Each column of the results and of the rows set aside has a line on its page, and no other has."""
    page = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    panes, aside, rest = page.partition("## Rows set aside")
    lines = {name for row in panes.split("\n") if row.startswith("| `") for name in row.split("|")[1].split("`")[1::2]}
    columns = {*PaneLogReader("state").panes().columns} - {"shop", "orders", "turnover"}
    assert (lines, bool(aside)) == (columns, True)
    side = SideOutputs("state")
    named = {name for row in rest.split("\n") if row.startswith("| `_") for name in row.split("|")[1].split("`")[1::2]}
    found = {name for frame in (side.expired(), side.rejected()) for name in frame.columns if name.startswith("_")}
    assert named == found | {"_text"}
