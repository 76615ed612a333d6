"""A sum that does not fit into 64 bits is an error with a name, wherever it is added up."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import DataError, Files, FixedWindows, Pipeline, Sum
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS_CONF
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import write_files

LARGEST = 2**63 - 1


def amounts(*values: int) -> pl.DataFrame:
    at = pl.datetime(2024, 1, 1, time_zone="UTC").dt.cast_time_unit("us")
    return pl.DataFrame({"key": ["a"] * len(values), "amount": values}).with_columns(at=at)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("rows", ["0", "20000"])
@pytest.mark.parametrize("files", [[(LARGEST, 1)], [(LARGEST,), (1,)]], ids=["in one file", "of two epochs"])
def test_a_sum_that_does_not_fit_is_refused_and_what_is_committed_stands(
    files: list[tuple[int, ...]], rows: str, tmp_path: Path
) -> None:
    source, state = tmp_path / "source", str(tmp_path / "state")
    what = Pipeline("amounts", Files(f"{source}/*.parquet", event_time="at")).group_by_key_and_window(
        key="key", window=FixedWindows("1h")
    )
    conf = {"dataflow.state.partitions": "2", ROWS_CONF: rows}
    for number, values in enumerate(files):
        write_files(source, amounts(*values), files=1, first=number)
        asked = Submission(what.combine(total=Sum("amount")), RuntimeMode.BATCH, state, conf=conf)
        if number < len(files) - 1:
            run(asked)
            continue
        with pytest.raises(DataError, match="does not fit into 64 bits") as refused:
            run(asked)
        assert refused.value.code == "DATA_OVERFLOW"
    standing = PaneLogReader(state).current()["total"].to_list() if len(files) > 1 else []
    assert standing == [LARGEST] * (len(files) - 1)
