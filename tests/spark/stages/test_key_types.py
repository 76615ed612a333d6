"""Keys that have no hash, and text that is no UTF-8: refused with a code before anything is planned."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import Collect, Count, DataflowError, Files, FixedWindows, Pipeline, RuntimeMode
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.log.epoch_documents import has_epochs
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import events

EVENTS = events(100, keys=2)


def counts(pattern: Path) -> Pipeline:
    files = Files(str(pattern), event_time="happened", arrival_time="arrived")
    return (
        Pipeline("counts", files).group_by_key_and_window(key="key", window=FixedWindows("1d")).combine(count=Count())
    )


def go(pattern: Path, state: Path) -> None:
    conf = {"dataflow.state.partitions": "2"}
    run(Submission(counts(pattern), RuntimeMode.BATCH, str(state), conf=conf, workers=ThisProcess()))


NO_KEYS = [pl.Binary(), pl.List(pl.String()), pl.Array(pl.Int64(), 2), pl.Struct({"a": pl.Int64()})]


@pytest.mark.parametrize("dtype", NO_KEYS, ids=repr)
def test_a_key_without_a_hash_is_refused_before_the_run(dtype: pl.DataType) -> None:
    moment = pl.Datetime("us", "UTC")
    with pytest.raises(SubmissionError, match="the key column 'key'") as refusal:
        Stages.of(counts(Path("*.parquet")), {"key": dtype, "happened": moment, "arrived": moment})
    assert refusal.value.code == "SUBMIT_COLUMN_TYPE"


def test_a_result_that_has_no_hash_is_no_key_of_the_next_grouping() -> None:
    once = counts(Path("*.parquet"))
    twice = (
        Pipeline("twice", once.source)
        .group_by_key_and_window(key="key", window=FixedWindows("1d"))
        .combine(all=Collect("value"))
        .group_by_key_and_window(key="all", window=FixedWindows("1d"))
        .combine(count=Count())
    )
    moment = pl.Datetime("us", "UTC")
    with pytest.raises(SubmissionError, match="the key column 'all'") as refusal:
        Stages.of(twice, {"key": pl.String(), "value": pl.Int64(), "happened": moment, "arrived": moment})
    assert refusal.value.code == "SUBMIT_COLUMN_TYPE"


KEPT = {
    "text": pl.col("key"),
    "a category": pl.col("key").cast(pl.Categorical),
    "integer": pl.col("value"),
    "uint64": pl.col("value").abs().cast(pl.UInt64) + pl.lit(2**63 - 100, pl.UInt64),
    "float": pl.when(pl.col("value") > 0).then(float("nan")).otherwise(-0.0),
    "decimal": pl.col("value").cast(pl.Decimal(38, 2)),
    "boolean": pl.col("value") > 0,
    "date": pl.col("happened").dt.date(),
    "time": pl.col("happened").dt.time(),
    "duration": pl.duration(seconds=pl.col("value")),
    "instant": pl.col("arrived"),
}


@pytest.mark.parametrize("key", KEPT)
def test_a_key_of_plain_values_works(key: str, tmp_path: Path) -> None:
    frame = EVENTS.with_columns(KEPT[key].alias("key"))
    (tmp_path / "source").mkdir()
    frame.write_parquet(tmp_path / "source" / "a.parquet")
    go(tmp_path / "source" / "*.parquet", tmp_path / "state")
    found = PaneLogReader(str(tmp_path / "state")).current()
    assert found["count"].sum() == len(frame)
    assert found.group_by("key").len().height == frame["key"].n_unique()


def test_bytes_of_a_parquet_file_are_no_key(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    EVENTS.with_columns(key=pl.lit(b"\xff\xfe")).write_parquet(tmp_path / "source" / "a.parquet")
    with pytest.raises(DataflowError) as refusal:
        go(tmp_path / "source" / "*.parquet", tmp_path / "state")
    assert refusal.value.code == "SUBMIT_COLUMN_TYPE"
    assert not has_epochs(Store.open(str(tmp_path / "state")))


@pytest.mark.parametrize("where", [b"key 1", b"key,", b"value"], ids=["a key", "the header", "a name in the header"])
def test_a_csv_file_that_is_no_utf_8_is_refused_by_name(where: bytes, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    file = tmp_path / "source" / "a.csv"
    EVENTS.write_csv(file)
    content = file.read_bytes()
    assert where in content
    file.write_bytes(content.replace(where, b"\xe9" + where, 1))
    with pytest.raises(DataflowError, match=r"a\.csv cannot be read") as refusal:
        go(tmp_path / "source" / "*.csv", tmp_path / "state")
    assert refusal.value.code == "DATA_UNREADABLE"
