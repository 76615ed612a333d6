"""What the whole test run shares: one Spark session, and property tests that never fail by the clock."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.markers import (
    neither_java_nor_airflow,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    tripwire,
)
from tests.progress.object_server import object_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "neither_java_nor_airflow",
    "object_server",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "tripwire",
]

# A slow machine is no counter-example. The examples are the same each time: a failure is about the change, not about
# luck. `make soak` draws others, with --hypothesis-profile=free.
hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
hypothesis.settings.register_profile("free", deadline=None, derandomize=False)
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("house")


@pytest.fixture(scope="session", autouse=True)
def no_sync() -> Iterator[None]:
    """Nothing waits for the disk in this process. ``test_durability.py`` checks what is synced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the run: two threads, small, in UTC, leaving nothing in the working folder."""
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.spark.running.java import ensure_java

    folder: Path = tmp_path_factory.mktemp("spark")
    before = dict(os.environ)
    # Python workers must be this interpreter, whatever `python3` is on PATH.
    os.environ.update(ensure_java(), PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    # Its connections say good-bye while Python shuts down, to a stream that pytest has closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)
