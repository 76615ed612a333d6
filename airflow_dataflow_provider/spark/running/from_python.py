"""A run that is started from Python: a script, a notebook, a test."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from airflow_dataflow_provider.model.batch import BatchPolicies
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.spark.running import submit


def run(
    pipeline: Pipeline,
    mode: RuntimeMode | str,
    *,
    state: str,
    interval: tuple[dt.datetime | str, dt.datetime | str] | None = None,
    policies: BatchPolicies = BatchPolicies(),  # noqa: B008 - a frozen value
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    take_over: bool = False,
) -> Status:
    """Run a pipeline in this process, as the command ``run`` does; Spark's session is left open for the next run.

    ``run(departures, "batch", state="/data/states/departures")``, then ``PaneLogReader("/data/states/departures")``.

    Args:
        pipeline: what to run.
        mode: ``batch``, ``micro-batch``, ``streaming`` or ``automatic``. A stream returns when it is stopped.
        state: the URL of the pipeline's state, made by its first run.
        interval: of a batch: recompute the windows that end after the first time and not after the second.
        policies: of a batch.
        master: Spark's master; by default what ``spark-submit`` was told, else ``local[*]``.
        conf: settings for Spark and the engine, as ``--conf``.
        take_over: fence the driver that has the pipeline now.

    Returns:
        The status of the pipeline after the run.

    Raises:
        DataflowError: for everything that is refused, and for what the data does not allow.
    """
    asked = None if interval is None else Interval(*(to_micros(time, what="interval") for time in interval))
    submit.run(
        submit.Submission(
            pipeline,
            RuntimeMode.parse(mode),
            state,
            asked,
            master=master,
            conf=dict(conf or {}),
            take_over=take_over,
            policies=policies,
        )
    )
    return read_status(state)
