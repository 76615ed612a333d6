"""The pipeline that the crash campaign runs in a process of its own; where its files are comes from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from airflow_dataflow_provider import Pipeline
from tests.spark.events import pipeline


def minutes(source: Path) -> Pipeline:
    """Minutes by key, one file an epoch."""
    return pipeline(source, lateness="1h", max_files_per_epoch=1)


killed = minutes(Path(os.environ.get("CRASH_SOURCE", "source")))
