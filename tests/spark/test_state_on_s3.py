"""A whole pipeline with its state on S3 (moto's, on this machine): run, look, stop being the owner, go on."""

from __future__ import annotations

import uuid
from pathlib import Path

from airflow_dataflow_provider import RuntimeMode
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.progress.object_server import BUCKET, ObjectServer
from tests.spark.events import as_truth, events, pipeline, truth, write_files


def test_a_pipeline_runs_and_goes_on_with_its_state_on_s3(object_server: ObjectServer, tmp_path: Path) -> None:
    state = f"s3://{BUCKET}/{uuid.uuid4().hex}"
    rows = events(400)
    conf = {"dataflow.state.partitions": "2"}
    what = pipeline(tmp_path / "source", lateness="1h")
    write_files(tmp_path / "source", rows[:200], files=2)
    run(Submission(what, RuntimeMode.MICRO_BATCH, state, conf=conf, workers=ThisProcess()))
    assert read_status(state).rows.read == 200
    write_files(tmp_path / "source", rows[200:], files=2, first=2)
    object_server.lose_answers(3)  # each is a document or a file that is there all the same
    run(Submission(what, RuntimeMode.BATCH, state, conf=conf, workers=ThisProcess()))
    object_server.heal()
    status = read_status(state)
    assert (status.state, status.rows.read) == ("completed", 400)
    assert as_truth(PaneLogReader(state).current()).equals(truth(rows))
    assert len(SideOutputs(state).expired()) == 0
