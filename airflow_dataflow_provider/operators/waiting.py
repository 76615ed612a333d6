"""How long tasks wait, and whether in the triggerer."""

from __future__ import annotations

import datetime as dt

from airflow.sdk import conf


def seconds(span: float | dt.timedelta) -> float:
    """A length of time in seconds; a number is seconds already."""
    return span.total_seconds() if isinstance(span, dt.timedelta) else float(span)


def deferrable_by_default() -> bool:
    """Airflow's option ``[operators] default_deferrable``."""
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))
