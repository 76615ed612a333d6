"""A batch that does not wait for its stragglers, and the runs that complete it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from airflow_dataflow_provider import BatchPolicies, DataError, Pipeline, RuntimeMode, SparkColumns
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.sources import stragglers
from airflow_dataflow_provider.spark.sources.file_systems import version_now
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.spark.events import as_truth, events, pipeline, truth, write_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.spark.sources.splits import MapStep

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FILES = 12
BATCH, MICRO_BATCH = RuntimeMode.BATCH, RuntimeMode.MICRO_BATCH


@dataclass
class Straggler:
    """A file that is listed with its length, and then hangs whoever reads it: a pipe that nobody writes to."""

    path: Path
    content: bytes = b""

    def hang(self) -> None:
        if not self.content:
            self.content = self.path.read_bytes()
            self.path.unlink()
            os.mkfifo(self.path)

    def heal(self) -> None:
        if self.content:
            self.path.unlink()
            self.path.write_bytes(self.content)
            self.content = b""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_files(tmp_path / "source", events(4_000), files=FILES)
    return tmp_path / "source"


@pytest.fixture
def straggler(source: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Straggler]:
    """A file that hangs once it is listed."""
    straggler = Straggler(source / "part-0005.parquet")
    first = stragglers._first

    def listed_by_now(spark: SparkSession, step: MapStep, pieces: Sequence[tuple[Split, ...]], *more: Any) -> Any:
        straggler.hang()
        # A pipe has a version of its own: as planned, it is what a worker finds.
        now = [tuple(version_now(split.path) or split for split in piece) for piece in pieces]
        return first(spark, step, now, *more)

    monkeypatch.setattr(stragglers, "_first", listed_by_now)
    yield straggler
    straggler.heal()


def go(what: Pipeline, state: Path, mode: RuntimeMode = BATCH, share: float | None = None) -> Status:
    """Run on Spark what may have stragglers, or has Spark's expressions; the rest needs none."""
    spark = share is not None or isinstance(next(iter(what.grouping.par_dos), None), SparkColumns)
    workers, policies = None if spark else ThisProcess(), BatchPolicies(input_share=share)
    conf = {"dataflow.state.partitions": "3"}
    run(Submission(what, mode, str(state), conf=conf, policies=policies, workers=workers))
    return read_status(str(state))


class Crash(Exception):  # noqa: N818 - it is none of the package's errors
    """A driver falls over."""


def crash(*_: object) -> None:
    raise Crash


def kinds(state: Path) -> list[str]:
    return [record.kind for record in EpochLog(Store.open(str(state))).records()]


def panes(state: Path) -> pl.DataFrame:
    return PaneLogReader(str(state)).panes()


def audited(what: Pipeline, state: Path) -> None:
    assert_panes(panes_of(panes(state), what.grouping), panes_of_reference(str(state), what))


def test_it_publishes_without_the_file_that_hangs_and_the_next_batch_completes_it(
    source: Path, straggler: Straggler, tmp_path: Path
) -> None:
    what, state = pipeline(source, lateness="1h"), tmp_path / "state"
    length = straggler.path.stat().st_size
    status = go(what, state, share=0.9)
    assert status.left_out is not None
    assert any(split[:2] == (str(straggler.path), length) for split in status.left_out.files)
    assert 90 <= status.left_out.percent_read < 100
    assert (status.state, status.end_of_input, status.backlog) == ("completed", False, len(status.left_out.files))
    early = panes(state)
    assert early["pane_timing"].unique().to_list() == ["EARLY"]
    assert early["completeness"].unique().to_list() == [status.left_out.percent_read / 100]
    assert early["count"].sum() == status.rows.read < 4_000

    straggler.heal()
    status = go(what, state)
    assert (status.left_out, status.end_of_input, status.rows.read, status.rows.expired) == (None, True, 4_000, 0)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(events(4_000)))
    assert set(panes(state)[len(early) :]["pane_timing"]) == {"ON_TIME"}
    assert kinds(state) == ["data", "end_of_input", "data", "end_of_input"]
    audited(what, state)


def test_elements_that_go_through_spark_s_expressions_do_not_wait_either(
    source: Path, straggler: Straggler, tmp_path: Path
) -> None:
    state, plain = tmp_path / "state", pipeline(source, lateness="1h")
    step = SparkColumns("value % 2 = 0", value="value + 1")
    what = dataclasses.replace(plain, groupings=(dataclasses.replace(plain.grouping, par_dos=(step,)),))
    status = go(what, state, share=0.9)
    assert status.left_out is not None
    straggler.heal()
    assert go(what, state).left_out is None
    even = events(4_000).filter(pl.col("value") % 2 == 0).with_columns(pl.col("value") + 1)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(even))


def test_what_is_left_out_is_read_by_whichever_run_comes_next_together_with_what_is_new(
    source: Path, straggler: Straggler, tmp_path: Path
) -> None:
    what, state = pipeline(source, lateness="1h"), tmp_path / "state"
    go(what, state, share=0.9)
    straggler.heal()
    more = events(1_000, seed=1)
    write_files(source, more, files=1, first=FILES)
    status = go(what, state, MICRO_BATCH)
    assert (status.left_out, status.rows.read) == (None, 5_000)
    go(what, state)
    whole = truth(pl.concat([events(4_000), more]))
    published = as_truth(PaneLogReader(str(state)).current())
    assert published.drop("mean").equals(whole.drop("mean"))
    assert kinds(state)[:3] == ["data", "end_of_input", "data"]
    audited(what, state)


def test_a_run_that_is_repeated_while_the_file_hangs_waits_for_nothing(
    source: Path, straggler: Straggler, tmp_path: Path
) -> None:
    what, state = pipeline(source, lateness="1h"), tmp_path / "state"
    first = go(what, state, share=0.9)
    again = go(what, state, share=0.9)
    assert again.left_out == first.left_out
    assert kinds(state) == ["data", "end_of_input", "end_of_input"]
    assert (again.state, again.panes) == ("completed", first.panes), "what was published is not published again"


def test_a_run_that_fell_over_before_it_published_publishes_when_it_is_repeated(
    source: Path, straggler: Straggler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what, state = pipeline(source, lateness="1h"), tmp_path / "state"
    with monkeypatch.context() as patch:
        patch.setattr(Epochs, "end_of_input", crash)
        with pytest.raises(Crash):
            go(what, state, share=0.9)
    assert kinds(state) == ["data"]
    assert len(panes(state)) == 0
    status = go(what, state, share=0.9)
    assert status.left_out is not None
    assert kinds(state) == ["data", "end_of_input"]
    assert panes(state)["count"].sum() == status.rows.read
    audited(what, state)


@pytest.mark.parametrize("step", ["prepare", "commit"])
def test_what_is_left_out_is_read_once_wherever_the_run_that_takes_it_up_falls_over(
    source: Path, straggler: Straggler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    what, state = pipeline(source, lateness="1h"), tmp_path / "state"
    go(what, state, share=0.9)
    straggler.heal()
    with monkeypatch.context() as patch:
        patch.setattr(EpochLog, step, crash)
        with pytest.raises(Crash):
            go(what, state)
    status = go(what, state, MICRO_BATCH)
    assert (status.left_out, status.rows.read) == (None, 4_000)
    go(what, state)
    assert as_truth(PaneLogReader(str(state)).current()).equals(truth(events(4_000)))
    audited(what, state)


def test_a_file_that_cannot_be_read_is_no_straggler(source: Path, tmp_path: Path) -> None:
    (source / "part-0007.parquet").write_bytes(b"no parquet" * 1_000_000)
    with pytest.raises(DataError, match=r"part-0007.parquet cannot be read"):
        go(pipeline(source, lateness="1h"), tmp_path / "state", share=0.99)


def test_a_share_of_one_waits_for_everything(source: Path, tmp_path: Path) -> None:
    status = go(pipeline(source), tmp_path / "state", share=1)
    assert (status.left_out, status.end_of_input, status.rows.read) == (None, True, 4_000)
