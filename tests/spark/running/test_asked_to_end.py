"""A run that has an end is asked to stop, or to drain, while it works through its backlog."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from airflow_dataflow_provider.model.errors import InterruptedRunError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.requests import requests
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import as_truth, events, pipeline, truth, write_files


def run_and_ask(folder: Path, mode: RuntimeMode, kind: Literal["stop", "drain"] | None) -> None:
    """Run over what is in the folder; the request comes with the first epoch."""
    store = Store.open(str(folder / "state"))

    def ask(record: EpochRecord) -> None:
        if kind and record.epoch == 0:
            requests.request_stop(store, record.finished_at, drain=kind == "drain")

    what = pipeline(folder / "source", lateness="1h", max_files_per_epoch=1)
    run(Submission(what, mode, store.url, workers=ThisProcess(), on_epoch=ask))


def test_a_micro_batch_that_is_asked_to_stop_ends_after_its_epoch_and_the_next_one_goes_on(tmp_path: Path) -> None:
    frame = events(600)
    write_files(tmp_path / "source", frame, files=3)
    store = Store.open(str(tmp_path / "state"))
    with pytest.raises(InterruptedRunError, match="asked to stop") as interrupted:
        run_and_ask(tmp_path, RuntimeMode.MICRO_BATCH, "stop")
    assert interrupted.value.code == "RUN_INTERRUPTED"
    assert [record.kind for record in EpochLog(store).records()] == ["data"]
    assert requests.pending(store, token=1) == []
    run_and_ask(tmp_path, RuntimeMode.BATCH, None)
    assert as_truth(PaneLogReader(store.url).current()).equals(truth(frame))


def test_a_micro_batch_that_is_asked_to_drain_fires_everything_that_is_open(tmp_path: Path) -> None:
    frame = events(600)
    write_files(tmp_path / "source", frame, files=3)
    run_and_ask(tmp_path, RuntimeMode.MICRO_BATCH, "drain")
    store = Store.open(str(tmp_path / "state"))
    assert [record.kind for record in EpochLog(store).records()] == ["data"] * 3 + ["end_of_input"]
    assert requests.pending(store, token=1) == []
    assert as_truth(PaneLogReader(store.url).current()).equals(truth(frame))


def test_a_batch_that_has_read_everything_takes_the_request_with_it(tmp_path: Path) -> None:
    write_files(tmp_path / "source", events(600), files=3)
    run_and_ask(tmp_path, RuntimeMode.BATCH, "stop")
    store = Store.open(str(tmp_path / "state"))
    assert [record.kind for record in EpochLog(store).records()] == ["data", "end_of_input"]
    assert requests.pending(store, token=1) == []
