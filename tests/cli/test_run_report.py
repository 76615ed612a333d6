"""What ``run`` prints: little, and at the end what came of it."""

from __future__ import annotations

import json

import pytest

from airflow_dataflow_provider.cli.run_report import AsJson, AsText
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.waiting import Waiting
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND, claim, make_identity, record

NOTHING = RowCounts()
OPEN = Waiting(2, ((100.0, NOON),))


def reported(report: AsText | AsJson, epochs: list[EpochRecord], state: str) -> Status:
    """Tell a report of a run with some epochs; the status after it."""
    store = Store.open(state)
    make_identity(store)
    claim(store).release(NOON, "stopped")
    log = EpochLog(store)
    with report:
        report.started(RuntimeMode.MICRO_BATCH, "app-7")
        for epoch in epochs:
            report.epoch(log.commit(epoch))
        report.ended(read_status(state))
    return read_status(state)


def test_an_epoch_with_rows_or_panes_has_a_line_and_the_outcome_has_the_last_ones(
    state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = WatermarkCurve.flat(NOON - SECOND)
    epochs = [
        record(0, rows=RowCounts(7, late=2), panes=0),
        record(1, kind="clock", rows=NOTHING, panes=0),
        record(2, kind="clock", rows=NOTHING, panes=3, published=told, waiting=OPEN),
    ]
    reported(AsText("departures", verbose=False), epochs, state)
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:3]) for line in lines] == [
        "departures micro-batch (app-7)",
        "epoch 0 data",
        "epoch 2 clock",
        "departures done: published",
        "2 windows are",
    ]
    assert "published 3 panes from 7 rows (2 late) in 3 epochs; watermark 2013-01-01T11:59:59Z; state /" in lines[3]
    assert lines[4].endswith("waits for the watermark to reach 2013-01-01T12:00:00Z (it is 2013-01-01T11:59:59Z)")


def test_verbose_has_a_line_for_every_epoch(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    reported(AsText("departures", verbose=True), [record(0, kind="clock", rows=NOTHING, panes=0)], state)
    assert "epoch     0  clock" in capsys.readouterr().out


def test_findings_follow_with_what_to_do(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = RowCounts(10, rejected=1, implausible=9, reasons=(("at is null", 1),))
    reported(AsText("departures", verbose=False), [record(0, rows=rows, panes=0, waiting=OPEN)], state)
    silence, remedy, rejected, other_remedy = capsys.readouterr().out.splitlines()[-4:]
    assert silence.startswith(
        "no pane: 2 windows are open, and no watermark is known, for the delays of all 9 elements"
    )
    assert remedy.startswith("  What to do: run old data with --mode batch")
    assert rejected == "1 of 10 rows were rejected: at is null (1)"
    assert other_remedy.startswith("  What to do: SideOutputs(STATE_URL).rejected()")


def test_json_ends_with_the_outcome_of_this_run_alone(state: str, capsys: pytest.CaptureFixture[str]) -> None:
    reported(AsJson(), [record(0, rows=RowCounts(5), panes=1)], state)
    capsys.readouterr()
    with AsJson() as report:
        report.epoch(EpochLog(Store.open(state)).commit(record(1, rows=RowCounts(7, implausible=7), panes=0)))
        report.ended(read_status(state))
    ended = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (ended["event"], ended["epochs"], ended["rows"]["in"], ended["panes"]) == ("ended", 1, 7, 0)
    assert [finding["kind"] for finding in ended["findings"]] == ["nothing_grouped", "implausible"]
