"""How long tasks wait, and where: what users write, and what Airflow's own options say."""

from __future__ import annotations

import datetime as dt

from airflow.sdk import conf


def seconds(span: float | dt.timedelta) -> float:
    """A span of time as users write it, a number being seconds."""
    return span.total_seconds() if isinstance(span, dt.timedelta) else float(span)


def deferrable_by_default() -> bool:
    """Whether a task waits in the triggerer unless it is told otherwise: the option that all providers follow."""
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))
