"""The times and speed of the demo. Days are New York's, which in January begin at 05:00 UTC."""

from __future__ import annotations

from typing import Final

from pendulum import DateTime

from airflow_dataflow_provider.model.time import Micros, from_iso, to_datetime

Span = tuple[Micros, Micros]


def moment(time: Micros) -> DateTime:
    """A time that has a date, as such."""
    found = to_datetime(time)
    if found is None:
        raise ValueError(time)
    return found


def _span(start: str, end: str) -> Span:
    return from_iso(start), from_iso(end)


FLIGHTS: Final = _span("2013-01-02T05:00:00Z", "2013-01-10T12:00:00Z")
"""The flights that take part, by schedule: a little over eight days."""
HISTORY: Final = from_iso("2013-01-08T11:00:00Z")
"""Where the demo begins: what has left by then is there at once, the rest is replayed while everything runs."""
MORNING: Final = from_iso("2013-01-09T11:00:00Z")
"""Where the replay waits until the gate has closed."""
SPEED: Final = 1_800.0
"""Seconds of the flights' time in one of ours."""
BATCH_DAY: Final = _span("2013-01-07T05:00:00Z", "2013-01-08T05:00:00Z")
"""What the batch computes. The last of its flights leaves at 05:49 on the day after, so all of them are there."""
REPORT_DAY: Final = _span("2013-01-09T05:00:00Z", "2013-01-10T05:00:00Z")
"""The report is about this day: the one on which a flight of the gated hour leaves 1,301 minutes late."""
GATED_HOUR: Final = _span("2013-01-09T14:00:00Z", "2013-01-09T15:00:00Z")
"""The hour whose report waits until 97 % of its departures are known."""
PERCENTILE: Final = 97.0
"""The share that the early pane and the gate wait for."""
MICRO_BATCHES: Final = 3
"""How many scheduled runs the demo waits for, at least."""
