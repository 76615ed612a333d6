"""What a task's log says of its driver."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from airflow_dataflow_provider.operators.line_levels import LineLevels
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.status.outcome import Outcome
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND, interval_record, make_identity, record

OUTPUT = """\
WARNING: Using incubator modules: jdk.incubator.vector|DEBUG
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties|DEBUG
26/11/22 03:08:38 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform|DEBUG
26/11/22 03:08:38 INFO SparkContext: Running Spark version 4.2.0|DEBUG
departures batch (local-1)|INFO
26/11/22 03:08:39 WARN TaskSetManager: Lost task 0.0 in stage 1.0|WARNING
java.lang.IllegalStateException: the worker has gone|DEBUG
\tat org.apache.spark.Some.method(Some.scala:1)|DEBUG
\t... 12 more|DEBUG
Caused by: java.io.EOFException|DEBUG
epoch     0  data            100 rows|INFO
  with a line that goes on|INFO
26/11/22 03:08:40 ERROR Executor: Exception in task 0.0|ERROR
org.apache.spark.SparkException: why|ERROR
\tat org.apache.spark.Some.method(Some.scala:1)|ERROR
[DATA_REJECTS] too many rows were rejected|ERROR
Why: they are malformed|ERROR
Where: departures.py:7, the pipeline 'departures'|ERROR
Traceback (most recent call last):|ERROR
  File "a.py", line 1|ERROR
departures done: 1 epochs|INFO"""


def test_lines_of_a_driver_keep_their_levels_and_noise_is_set_back() -> None:
    levels = LineLevels()
    for line in OUTPUT.splitlines():
        text, _, level = line.rpartition("|")
        assert (text, logging.getLevelName(levels.of(text))) == (text, level)


@pytest.mark.parametrize("known", [False, True])
def test_the_last_line_says_what_was_published(tmp_path: str, known: bool) -> None:
    store = Store.open(tmp_path)
    make_identity(store)
    log = EpochLog(store)
    log.commit(record(0))
    before = read_status(store.url) if known else None
    log.commit(interval_record(1, NOON, NOON + SECOND, rows=RowCounts(1_000, rejected=2), panes=7))
    after = dataclasses.replace(read_status(store.url), state_url="/states/departures")
    assert str(Outcome.between(before, after)) == (
        "published 7 panes from 1,000 rows (2 rejected) in 1 epoch; "
        "computed: 2013-01-01T12:00:00Z to 2013-01-01T12:00:01Z; state /states/departures"
        if known
        else "published 12 panes from 1,010 rows (3 late, 2 expired, 3 rejected) in 2 epochs; "
        "computed: 2013-01-01T12:00:00Z to 2013-01-01T12:00:01Z; state /states/departures"
    )
