from __future__ import annotations

import json
import subprocess
import sys

import pytest

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.log.waiting import Waiting
from airflow_dataflow_provider.progress.requests.requests import request_signal
from airflow_dataflow_provider.progress.requests.signals import FOLDER
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from tests.cli.conftest import Run
from tests.progress.samples import NOON, SECOND, claim, interval_record, make_identity, record

CURVE = WatermarkCurve(((50.0, NOON), (97.0, NOON - 90 * SECOND), (100.0, NOON - 3600 * SECOND)))


@pytest.fixture
def running(state: str) -> Store:
    store = Store.open(state)
    make_identity(store)
    now = wall_clock()
    claim(store, now).heartbeat(now, application_id="app-7", ui="http://driver:4040")
    told = record(0, published=CURVE, clock=Clock(NOON + SECOND, CURVE), frontier=NOON, backlog=7)
    EpochLog(store).commit(told)
    return store


def test_json_is_the_status_and_nothing_else(command: Run, running: Store) -> None:
    said = command("status", "--state", running.url, "--json")
    assert (said.status, said.err) == (0, "")
    assert said.json() == read_status(running.url).to_json()
    assert said.json()["state"] == "running"


def rows_of(text: str) -> dict[str, str]:
    """The facts by their names."""
    lines = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return {line[0]: line[1].strip() for line in lines if len(line) == 2}


def test_text_tells_everything_that_json_does(command: Run, running: Store) -> None:
    said = command("status", "--state", running.url)
    assert (said.status, said.err) == (0, "")
    rows = rows_of(said.out)
    assert rows["pipeline"] == "departures"
    assert (rows["mode"], rows["epoch"], rows["panes"]) == ("streaming", "0", "5")
    assert "running" in said.out
    assert "application app-7, http://driver:4040" in rows["owner"]
    assert "run 'run-1' (claim 1), since 20" in said.out
    assert rows["rows"] == "10 in, 3 late, 2 expired, 1 rejected"
    assert rows["frontier"] == "2013-01-01T12:00:00Z"
    assert rows["backlog"] == "7 waiting"
    assert rows["updated"] == read_status(running.url).to_json()["updated_at"]


def test_text_tells_why_nothing_was_published_and_what_was_set_aside_and_what_to_do(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    claim(store)
    rows = RowCounts(read=10, rejected=3, implausible=7, reasons=(("at is not a time", 3),))
    EpochLog(store).commit(record(0, rows=rows, panes=0, waiting=Waiting(2, ((100.0, NOON),))))
    out = command("status", "--state", state).out
    for said in (
        "no watermark is known, for the delays of all 7 elements are implausible",
        "What to do: run old data with --mode batch",
        "3 of 10 rows were rejected: at is not a time (3)",
    ):
        assert said in " ".join(out.split())
    told = rows_of(out)["open"]
    assert told.startswith("2 windows are open; the next pane waits for the watermark to reach 2013-01-01T12:00:00Z")


def test_each_percentile_has_its_watermark_its_lag_and_its_distance_to_the_frontier(
    command: Run, running: Store
) -> None:
    rows = rows_of(command("status", "--state", running.url).out)
    assert rows["50"].split() == ["2013-01-01T12:00:00Z", "1s", "0s"]
    assert rows["97"].split() == ["2013-01-01T11:58:30Z", "1m31s", "1m30s"]
    assert rows["100"].split() == ["2013-01-01T11:00:00Z", "1h", "1h"]
    assert rows["lag"] == "1h"


def test_what_is_not_known_yet_is_said_to_be_so(command: Run, state: str) -> None:
    make_identity(Store.open(state))
    rows = rows_of(command("status", "--state", state).out)
    assert (rows["mode"], rows["owner"], rows["epoch"]) == ("never ran", "none yet", "none yet")
    assert (rows["frontier"], rows["backlog"], rows["lag"]) == ("unknown",) * 3
    assert rows["100"] == "nothing known yet"


def test_a_watermark_that_no_estimator_can_claim_is_marked(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    curve = WatermarkCurve(((97.0, NOON), (100.0, MIN_TIME)))
    EpochLog(store).commit(record(0, published=curve, claimable=99.0))
    rows = rows_of(command("status", "--state", state).out)
    assert rows["97"] == "2013-01-01T12:00:00Z"
    assert rows["100"] == "nothing known yet (more than the estimator can claim)"


def test_the_last_interval_and_the_end_of_input_are_told(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    EpochLog(store).commit(record(0, kind="end_of_input", end_of_input=True))
    assert rows_of(command("status", "--state", state).out)["epoch"] == "0, the end of input"
    EpochLog(store).commit(interval_record(1, NOON, NOON + SECOND))
    told = rows_of(command("status", "--state", state).out)["epoch"]
    assert told == "1, an interval from 2013-01-01T12:00:00Z to 2013-01-01T12:00:01Z"
    covered = rows_of(command("status", "--state", state).out)["covered"]
    assert covered == "computed: 2013-01-01T12:00:00Z to 2013-01-01T12:00:01Z"


def test_signals_that_wait_are_told_and_those_that_nobody_hears_are_not(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store, signals=frozenset({"publish", "report"}))
    assert "signals" not in rows_of(command("status", "--state", state).out)
    request_signal(store, "report", NOON)
    store.write(f"{FOLDER}/publish", b"")
    store.write(f"{FOLDER}/pubish", b"")
    assert rows_of(command("status", "--state", state).out)["signals"] == "publish, report; the next epoch hears them"
    assert command("status", "--state", state, "--json").json()["signals"] == ["publish", "report"]


def test_what_a_batch_has_left_out_is_told(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    EpochLog(store).commit(record(0, left_out=LeftOut((Split("b.parquet", 50), Split("c.parquet", 50)), 2000)))
    told = rows_of(command("status", "--state", state).out)["left"]
    assert told == "out   2 files, 100 bytes, 5 % of the input; the next run without an input share reads it"


def test_why_a_driver_failed_is_told_as_it_stands(command: Run, state: str) -> None:
    store = Store.open(state)
    make_identity(store)
    claim(store).release(NOON, "failed", "[DATA_REJECTED] too many [bold]brackets[/bold]")
    out = command("status", "--state", state).out
    assert "failed" in out
    assert "[DATA_REJECTED] too many [bold]brackets[/bold]" in out


def test_no_state_is_an_error_of_the_state(command: Run, state: str) -> None:
    said = command("status", "--state", state)
    assert (said.status, said.code, said.out) == (3, "STATE_ABSENT", "")
    said = command("status", "--state", state, "--json")
    assert (said.status, said.json()["error"]) == (3, "STATE_ABSENT")


def test_status_brings_neither_spark_nor_a_data_frame_library_along(running: Store) -> None:
    code = (
        "import json, sys; from airflow_dataflow_provider.__main__ import main;"
        f"main(['status', '--state', {running.url!r}]); "
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(json.loads(out.splitlines()[-1]))
    assert "airflow_dataflow_provider" in loaded
    assert not loaded & {"pyspark", "polars", "numpy", "pyarrow", "pandas", "datasketches", "airflow", "fsspec"}
