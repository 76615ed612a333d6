"""The Spark that hand-written queries run on, and the number of partitions that suits each best."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_dataflow_provider.spark.java import ensure_java
from tests.benchmarks.engines.engine import MASTER
from tests.benchmarks.engines.spark_settings import settings
from tests.benchmarks.generate import Events, generate
from tests.benchmarks.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENT_SCHEMA = "key BIGINT, event_time TIMESTAMP, arrival_time TIMESTAMP, value BIGINT"

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_STATE_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state costs a lookup for each write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
_PARTITIONS = "spark.sql.shuffle.partitions"
_TRIED = (2, 4, 8)
_TRIED_FILES = 4

_BEST: dict[tuple[str, str, str], int] = {}
"""What was best in this process, by mode, query and workload."""


def session_for(mode: str, query: Query, events: Events) -> SparkSession:
    """The session, set to the number of shuffle partitions that is best for a query, as far as that is known."""
    spark = _session(events.folder.parent / "runs")
    spark.conf.set(_PARTITIONS, _BEST.get((mode, query.name, events.workload.name), _TRIED[0]))
    return spark


def settle_partitions(mode: str, query: Query, events: Events, run: Callable[[Events, Path], object]) -> str:
    """Try numbers of shuffle partitions on a smaller input of the same kind, once warm; the fastest one stays.

    Args:
        mode: queries of the same mode share what was found.
        query: the query.
        events: what it will run on.
        run: runs it on other events, in a folder by name.

    Returns:
        What to tell of it.
    """
    key = mode, query.name, events.workload.name
    if key not in _BEST:
        rows = events.workload.rows * _TRIED_FILES // events.workload.files
        sample = generate(replace(events.workload, rows=rows, files=_TRIED_FILES), events.folder.parent)
        seconds: dict[int, float] = {}
        for attempt, number in enumerate((_TRIED[0], *_TRIED)):
            # The first one is tried twice: its first time warms up.
            _BEST[mode, query.name, sample.workload.name] = number
            started = time.perf_counter()
            run(sample, Path(f"try-{attempt}"))
            seconds[number] = time.perf_counter() - started
        _BEST[key] = min(seconds, key=seconds.__getitem__)
    tried = ", ".join(map(str, _TRIED))
    return f"{_BEST[key]} shuffle partitions, the best of {tried} on {_TRIED_FILES} files"


@cache
def _session(scratch: Path) -> SparkSession:
    """A session of its own on the process's Spark: what others set on theirs does not reach it."""
    os.environ.update(ensure_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("hand-written")
    for name, value in settings(scratch).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark = spark.newSession()
    for name, value in _STATE_SETTINGS.items():
        spark.conf.set(name, value)
    return spark
