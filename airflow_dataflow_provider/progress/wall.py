"""The wall clock, for callers that pass no clock of their own."""

from __future__ import annotations

import time

from airflow_dataflow_provider.model.time import Micros


def wall_clock() -> Micros:
    """Now, in microseconds since the epoch."""
    return time.time_ns() // 1_000
