"""A clock that only the test moves."""

from __future__ import annotations

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, iso
from airflow_dataflow_provider.testing.times import DEFAULT_DAY, Moment, moment, start_of


class HandDrivenClock:
    """A processing time clock that the test moves, for parameters named ``now``.

    It begins at midnight of its day::

        clock = HandDrivenClock()
        run(Submission(pipeline, RuntimeMode.MICRO_BATCH, state, now=clock))
        clock.advance("10m")
        run(Submission(pipeline, RuntimeMode.MICRO_BATCH, state, now=clock))

    Guarantees:
        It never goes back, and never moves by itself. It may be read while another thread moves it.

    Args:
        at: the first time; by default midnight.
        day: the UTC day of times that are written as times of day.

    Raises:
        DefinitionError: ``TIME_*`` for a value that is not a time.
    """

    def __init__(self, at: Moment | None = None, *, day: str = DEFAULT_DAY) -> None:
        self.day = day
        self._now = start_of(day) if at is None else moment(at, day=day)

    def __call__(self) -> Micros:
        """Now, in microseconds since the epoch."""
        return self._now

    def advance(self, by: Duration) -> Micros:
        """Move the clock by a duration.

        Raises:
            DefinitionError: ``TIME_BACKWARDS``, or ``TIME_BAD_DURATION``.
        """
        return self._to(self._now + duration(by, what="advance"))

    def advance_to(self, to: Moment) -> Micros:
        """Move the clock to a time.

        Raises:
            DefinitionError: ``TIME_BACKWARDS``, or ``TIME_*`` for a value that is not a time.
        """
        return self._to(moment(to, day=self.day, what="processing time"))

    def _to(self, time: Micros) -> Micros:
        check_forward("processing time", self._now, time)
        self._now = time
        return time

    def __repr__(self) -> str:
        return f"HandDrivenClock({iso(self._now)!r}, day={self.day!r})"


def check_forward(what: str, now: Micros, to: Micros) -> None:
    """Refuse to turn a clock back.

    Raises:
        DefinitionError: ``TIME_BACKWARDS``.
    """
    if to < now:
        raise DefinitionError(
            f"{what} would go back, from {iso(now)} to {iso(to)}",
            reason="time and watermarks only rise",
            hint="order the steps by time",
            code="TIME_BACKWARDS",
        )
