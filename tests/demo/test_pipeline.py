"""The pipeline of the demo and of the README: run three ways, always the same."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_dataflow_provider import Pipeline, RuntimeMode, StateError
from airflow_dataflow_provider.cli.pipelines import load_pipeline
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import from_iso
from airflow_dataflow_provider.progress.requests.requests import request_stop
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.spark.running.submit import Submission, run
from dags_examples.demo.checks import Mismatch, equals_reference, interval_equals_reference, table_equals_duckdb
from dags_examples.replay import Replay

ROOT = Path(__file__).parents[2]
FILE = ROOT / "dags_examples" / "departures.py"
SPAN = from_iso("2013-01-01T05:00:00Z"), from_iso("2013-01-03T05:00:00Z")
DAY = from_iso("2013-01-01T05:00:00Z"), from_iso("2013-01-02T05:00:00Z")
CONF = {"dataflow.state.partitions": "2"}


def pipelines_in(markdown: str) -> list[str]:
    """The Python blocks of a text that define the pipeline."""
    blocks = re.findall(r"^```python\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if re.search(r"^departures = ", block, re.MULTILINE)]


def test_the_pipeline_of_the_readme_is_the_one_that_runs() -> None:
    for block in pipelines_in((ROOT / "README.md").read_text()):
        assert block.strip() in FILE.read_text()


def test_a_pipeline_in_a_text_is_found() -> None:
    text = f"# Title\n\n```python\n{FILE.read_text()}```\n\n```python\nimport os\n```\n"
    assert pipelines_in(text) == [FILE.read_text()]


def test_the_file_and_the_module_are_the_same_pipeline() -> None:
    assert load_pipeline(str(FILE) + ":departures") == load_pipeline("dags_examples.departures:departures")


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    return Replay(tmp_path / "flights", *SPAN)


def rows(replay: Replay) -> int:
    return sum(map(len, replay.files.values()))


def read(state: str) -> int:
    try:
        return read_status(state).rows.read
    except StateError:
        return 0  # not there yet


def go(pipeline: Pipeline, state: str, mode: RuntimeMode, interval: Interval | None = None) -> None:
    run(Submission(pipeline, mode, state, interval, conf=CONF))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_a_batch_over_a_day(
        self, replay: Replay, departures_from: Callable[[Path], Pipeline], tmp_path: Path, original: str
    ) -> None:
        replay.write_until(SPAN[1] + 2 * (SPAN[1] - SPAN[0]))
        pipeline, state = departures_from(replay.out), str(tmp_path / "state")
        go(pipeline, state, RuntimeMode.BATCH, Interval(*DAY))
        interval_equals_reference(state, pipeline, replay.out)
        table_equals_duckdb(state, DAY, original)
        with pytest.raises(Mismatch):
            table_equals_duckdb(state, SPAN, original)

    def test_micro_batches_while_the_flights_leave(
        self, replay: Replay, departures_from: Callable[[Path], Pipeline], tmp_path: Path, original: str
    ) -> None:
        pipeline, state = departures_from(replay.out), str(tmp_path / "state")
        for until in ("2013-01-01T20:00:00Z", "2013-01-02T14:00:00Z", "2013-01-05T00:00:00Z"):
            replay.write_until(until)
            go(pipeline, state, RuntimeMode.MICRO_BATCH)
        assert read(state) == rows(replay)
        self._ends_as_it_should(pipeline, state, original)

    def test_a_stream_while_the_flights_leave(
        self, replay: Replay, departures_from: Callable[[Path], Pipeline], tmp_path: Path, original: str
    ) -> None:
        pipeline, state = departures_from(replay.out), str(tmp_path / "state")
        failures: list[BaseException] = []

        def stream() -> None:
            try:
                go(pipeline, state, RuntimeMode.STREAMING)
            except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
                failures.append(error)

        driver = threading.Thread(target=stream)
        driver.start()
        try:
            for until in ("2013-01-01T20:00:00Z", "2013-01-02T14:00:00Z", "2013-01-05T00:00:00Z"):
                replay.write_until(until)
                written = sum(len(content) for end, content in replay.files.items() if replay.path(end).exists())
                while driver.is_alive() and read(state) < written:
                    time.sleep(0.05)
        finally:
            if driver.is_alive():
                request_stop(Store.open(state), wall_clock())
            driver.join()
        assert failures == []
        self._ends_as_it_should(pipeline, state, original)

    def _ends_as_it_should(self, pipeline: Pipeline, state: str, original: str) -> None:
        equals_reference(state, pipeline)
        # What is still open comes out at the end of input.
        go(pipeline, state, RuntimeMode.BATCH)
        equals_reference(state, pipeline)
        table_equals_duckdb(state, SPAN, original)
