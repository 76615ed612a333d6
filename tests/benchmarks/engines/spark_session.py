"""The Spark that hand-written queries run on, and the settings that suit each best."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_dataflow_provider.spark.running.java import ensure_java
from tests.benchmarks.engines.engine import MASTER
from tests.benchmarks.engines.spark_settings import settings as shared_settings
from tests.benchmarks.generate import Events, generate
from tests.benchmarks.queries import Aggregation, Query

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


@dataclass(frozen=True, slots=True)
class Settings:
    """What is chosen for a query.

    Attributes:
        partitions: shuffle partitions.
        switched: whether the query's switch is on.
    """

    partitions: int = _TRIED[0]
    switched: bool = False


_BEST: dict[tuple[str, str, str], Settings] = {}
"""What was best in this process, by mode, query and workload."""


def session_for(mode: str, query: Query, events: Events) -> SparkSession:
    """The session, with the settings that are best for a query, as far as that is known."""
    spark = _session(events.folder.parent / "runs")
    best = _BEST.get((mode, query.name, events.workload.name), Settings())
    spark.conf.set(_PARTITIONS, best.partitions)
    switch = _switch(query)
    if switch is not None:
        spark.conf.set(switch, "true" if best.switched else "false")
    return spark


def settle(mode: str, query: Query, events: Events, run: Callable[[Events, Path], object]) -> str:
    """Try settings on a smaller input of the same kind, once warm; the fastest ones stay.

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
        seconds: dict[Settings, float] = {}
        attempts = count()

        def attempt(settings: Settings) -> None:
            _BEST[mode, query.name, sample.workload.name] = settings
            started = time.perf_counter()
            run(sample, Path(f"try-{next(attempts)}"))
            seconds[settings] = time.perf_counter() - started

        # The first one is tried twice: its first time warms up.
        for number in (_TRIED[0], *_TRIED):
            attempt(Settings(number))
        if _switch(query) is not None:
            attempt(replace(min(seconds, key=seconds.__getitem__), switched=True))
        _BEST[key] = min(seconds, key=seconds.__getitem__)
    tried = ", ".join(map(str, _TRIED))
    told = f"{_BEST[key].partitions} shuffle partitions, the best of {tried} on {_TRIED_FILES} files"
    return f"{told}, with {_switch(query)}" if _BEST[key].switched else told


def _switch(query: Query) -> str | None:
    return query.spark_switch if isinstance(query, Aggregation) else None


@cache
def _session(scratch: Path) -> SparkSession:
    """A session of its own on the process's Spark: what others set on theirs does not reach it."""
    os.environ.update(ensure_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("hand-written")
    for name, value in shared_settings(scratch).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark = spark.newSession()
    for name, value in _STATE_SETTINGS.items():
        spark.conf.set(name, value)
    return spark
