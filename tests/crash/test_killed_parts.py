"""A Python worker and the JVM of a driver are killed: the error has a code, and the next run goes on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

from airflow_dataflow_provider import AtWatermark, Count, Files, FixedWindows, Mean, Pipeline, Repeat, Sum, Vectorised
from airflow_dataflow_provider.model.errors import EngineError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.crash.campaign import Campaign
from tests.spark.events import as_truth, events, truth, write_files

pytestmark = pytest.mark.slow


def die_once(frame: pl.DataFrame) -> pl.DataFrame:
    """Kill the process that works on the first rows, unless the file that they name says that one died before."""
    if len(frame):
        killed = Path(frame["killed"][0])
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return frame


@pytest.mark.usefixtures("spark")
def test_a_worker_that_is_killed_fails_the_epoch_with_a_code_and_the_next_run_repeats_it(tmp_path: Path) -> None:
    source, state, frame = tmp_path / "source", str(tmp_path / "state"), events(2_000)
    killed = tmp_path / "killed"
    write_files(source, frame.with_columns(killed=pl.lit(str(killed))), files=2)
    what = (
        Pipeline("minutes", Files(f"{source}/*.parquet", event_time="happened", arrival_time="arrived"))
        .par_do(Vectorised(die_once))
        .group_by_key_and_window(
            key="key", window=FixedWindows("1m"), trigger=Repeat(AtWatermark()), allowed_lateness="2m"
        )
        .combine(count=Count(), total=Sum("value"), mean=Mean("value"))
    )
    with pytest.raises(EngineError, match="Python worker exited unexpectedly") as failure:
        run(Submission(what, RuntimeMode.BATCH, state))
    assert failure.value.code == "ENGINE_FAILED"
    assert killed.exists()
    run(Submission(what, RuntimeMode.BATCH, state))
    assert as_truth(PaneLogReader(state).current()).equals(truth(frame))


def test_a_jvm_and_then_a_driver_are_killed_and_what_is_published_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, "micro-batch", files=12, rows=6_000, seed=1, in_this_process=True)
    driver = campaign.drive(campaign.state, "micro-batch")
    while campaign.planned() <= 2 and driver.poll() is None:
        time.sleep(0.01)
    (jvm,) = (child for child in psutil.Process(driver.pid).children(recursive=True) if child.name() == "java")
    os.kill(jvm.pid, signal.SIGKILL)
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == EngineError.exit_code, said
    assert "ENGINE_LOST" in said
    assert "Traceback (most recent call last)" not in said
    campaign.disturb(kills=1)
    assert campaign.compare() > 0
