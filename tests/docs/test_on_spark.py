"""The tutorial, and the pages about reading what it published, as a reader types them: on one Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from docs.site.build import DOCS
from tests.docs.scripts import ON_SPARK, SNIPPETS, copy_here, run_commands, run_file

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_the_tutorial_and_the_readers_do_what_the_pages_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
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
    sys.modules.pop("orders")


def _printed(name: str, capsys: Any) -> str:
    capsys.readouterr()
    run_file(name)
    return str(capsys.readouterr().out)


def _told(name: str) -> str:
    return (SNIPPETS / name).read_text(encoding="utf-8")


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
