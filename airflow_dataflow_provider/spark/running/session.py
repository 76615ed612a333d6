"""The Spark session that a run gets: the user's settings first, then what the engine relies on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.spark.running.java import ensure_java
from airflow_dataflow_provider.spark.tasks.spark_errors import start_failed, with_codes
from airflow_dataflow_provider.spark.tasks.task_errors import ATTEMPTS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

_LOCAL_MASTER = re.compile(r"local(\[[^,\]]*\])?")
_THREADS = "POLARS_MAX_THREADS"
_KEEP_MEMORY = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:30000,muzzy_decay_ms:30000",
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(256 * 2**20),
}
"""For the workers' allocators, that of polars and the C library's: what one epoch frees is given to the next. Asking
the system for it again, page by page, took a third of a map task."""

_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Without rows there is nothing for adaptive execution to adapt to, and it costs a job each epoch.
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    # Over loopback TCP each task waits some 40 ms for a delayed acknowledgement (docs/decisions/0002).
    "spark.python.unix.domain.socket.enabled": "true",
}


def spark_session(
    app_name: str, *, master: str | None, conf: Mapping[str, str], log_file: Path | None = None
) -> SparkSession:
    """A session of its own, on the Spark that is running or on a new one.

    Args:
        app_name: what Spark's pages call it.
        master: e.g. ``local[2]``; None keeps what spark-submit said, or else ``local[*]``.
        conf: the user's settings; they win over the defaults.
        log_file: takes what Java and Spark print, if this call starts them; by default this process's own output does.

    Raises:
        SubmissionError: ``ENGINE_NO_JAVA``, ``ENGINE_NO_SPARK``.
        EngineError: ``ENGINE_START``.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A task has as many threads as Spark gives it cores; polars would take the machine's.
    threads = conf.get("spark.task.cpus", "1")
    os.environ.setdefault(_THREADS, threads)
    try:
        from pyspark import SparkConf  # noqa: PLC0415 - optional: only a driver needs it
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError as error:
        raise SubmissionError(
            "pyspark is not installed in the driver's environment",
            hint="install airflow-dataflow-provider[spark] there",
            code="ENGINE_NO_SPARK",
        ) from error
    workers = {f"spark.executorEnv.{name}": value for name, value in {_THREADS: threads, **_KEEP_MEMORY}.items()}
    settings = _DEFAULTS | workers | dict(conf)
    running = SparkSession.getActiveSession()
    if running is None:
        os.environ.update(ensure_java(os.environ))
        start = SparkConf().setAppName(app_name).setAll(list(settings.items()))
        if master is not None:
            start.setMaster(master)
        with with_codes(start_failed):
            _start_context(start, log_file)
            running = SparkSession.builder.config(conf=start).getOrCreate()
        running.sparkContext.setLogLevel(conf.get("spark.log.level", "WARN"))
    running.sparkContext.environment[ATTEMPTS] = str(_attempts(running.sparkContext))
    # What others have set on a session that they share with us is not ours to change, nor what we rely on theirs.
    session = running.newSession()
    for name, value in settings.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    return session


def _start_context(conf: SparkConf, log_file: Path | None) -> None:
    """Start Spark's JVM with its output in a file. Where there is a JVM already, its output goes where it goes."""
    from pyspark import SparkContext  # noqa: PLC0415 - optional: only a driver needs it
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if log_file is not None and SparkContext._gateway is None:  # noqa: SLF001 - there is no public way to ask
        with log_file.open("ab") as output:
            SparkContext(conf=conf, gateway=launch_gateway(conf, {"stdout": output, "stderr": output}))  # type: ignore[no-untyped-call]


def _attempts(context: SparkContext) -> int:
    """How often Spark runs a task that ends in an exception."""
    if _LOCAL_MASTER.fullmatch(context.master or ""):
        return 1  # whatever spark.task.maxFailures says
    return int(context.getConf().get("spark.task.maxFailures", "4"))
