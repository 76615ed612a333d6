"""Watermark policies: a source's watermark is estimated from observed delays, or by a fixed bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Never

from airflow_dataflow_provider.model.described import Described
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text

CLOCK_SKEW: Final[Micros] = 60_000_000
"""How far ahead of the driver's clock the clock of a sender may be."""


def _idle_after(value: Duration | None, what: str) -> Micros | None:
    idle = None if value is None else duration(value, what=f"{what} idle_after")
    if idle is not None and idle <= 0:
        raise DefinitionError(f"{what} idle_after={value!r} is not positive", code="DEFINITION_WATERMARK")
    return idle


def _idle_text(idle_after: Micros | None) -> list[str]:
    return [] if idle_after is None else [f"idle_after={duration_text(idle_after)!r}"]


@dataclass(frozen=True, slots=True, repr=False)
class DelayWatermark(Described):
    """The watermark as frontier minus a quantile of the observed delay.

    ``W_p`` is the frontier (how far, in arrival time, the source has been read) minus the ``p``-quantile of the delay
    (arrival minus event time). The quantile is the largest over several horizons, so that the estimate follows longer
    delays within hours and forgets them after weeks.

    Args:
        plausible: a delay beyond this, either way, is a wrong clock: the element is processed, but moves no watermark.
        horizons: how far back, in arrival time, the delays are remembered.
        idle_after: once the source has had nothing new for this long (processing time), the frontier follows the clock.
            None: the frontier waits for evidence, however long.

    Raises:
        DefinitionError: ``DEFINITION_WATERMARK``.
    """

    plausible: Micros
    horizons: tuple[Micros, ...]
    idle_after: Micros | None

    def __init__(
        self,
        *unnamed: Never,
        plausible: Duration = "30d",
        horizons: tuple[Duration, ...] = ("3h", "12h", "3d", "14d"),
        idle_after: Duration | None = None,
    ) -> None:
        if unnamed:
            raise DefinitionError(
                f"DelayWatermark({unnamed[0]!r}) does not name its argument",
                reason="the delay is learned; a duration could be a bound, or the greatest plausible delay",
                hint='write BoundedDelay("10m") for a fixed bound, or DelayWatermark(plausible="30d")',
                code="DEFINITION_WATERMARK",
            )
        object.__setattr__(self, "plausible", duration(plausible, what="DelayWatermark plausible"))
        lengths = tuple(sorted(duration(horizon, what="DelayWatermark horizon") for horizon in horizons))
        object.__setattr__(self, "horizons", lengths)
        object.__setattr__(self, "idle_after", _idle_after(idle_after, "DelayWatermark"))
        if self.plausible <= 0 or not lengths or lengths[0] <= 0:
            raise DefinitionError("DelayWatermark needs positive durations", code="DEFINITION_WATERMARK")

    def __repr__(self) -> str:
        default, parts = DelayWatermark(), []
        if self.plausible != default.plausible:
            parts.append(f"plausible={duration_text(self.plausible)!r}")
        if self.horizons != default.horizons:
            parts.append(f"horizons={tuple(duration_text(horizon) for horizon in self.horizons)!r}")
        return f"DelayWatermark({', '.join([*parts, *_idle_text(self.idle_after)])})"


@dataclass(frozen=True, slots=True, repr=False)
class BoundedDelay(Described):
    """The watermark as the greatest event time seen minus a fixed bound, at every percentile.

    It assumes that an element arrives at most ``bound`` after one with a later event time. Flink calls it bounded
    out-of-orderness; Spark's ``withWatermark`` is the same. It needs no arrival times, so it also fits old files. An
    element that arrives later than the bound is late. A percentile trigger fires where ``AtWatermark()`` does.

    The clock of an element is taken to be wrong if its event time is after its arrival by more than the bound (and more
    than a minute), or if its arrival lies in the future. Such an element is processed, but moves no watermark. So no
    watermark is ahead of the newest arrival by more than a minute. For a source whose events lie in the future use
    :class:`DelayWatermark`.

    Args:
        bound: the longest disorder, e.g. ``"10m"``; ``"0s"`` for elements in order.
        idle_after: once the source has had nothing new for this long (processing time), the watermark follows the
            clock. None: it waits for evidence, however long.

    Raises:
        DefinitionError: ``DEFINITION_WATERMARK`` for a bound below zero.
    """

    bound: Micros
    idle_after: Micros | None

    def __init__(self, bound: Duration, *, idle_after: Duration | None = None) -> None:
        object.__setattr__(self, "bound", duration(bound, what="BoundedDelay bound"))
        object.__setattr__(self, "idle_after", _idle_after(idle_after, "BoundedDelay"))
        if self.bound < 0:
            raise DefinitionError(f"BoundedDelay({bound!r}) is negative", code="DEFINITION_WATERMARK")

    @property
    def longest_lead(self) -> Micros:
        """How far ahead of its arrival an event time may be; beyond it, the clock is wrong."""
        return max(self.bound, CLOCK_SKEW)

    def __repr__(self) -> str:
        return f"BoundedDelay({', '.join([repr(duration_text(self.bound)), *_idle_text(self.idle_after)])})"


WatermarkPolicy = DelayWatermark | BoundedDelay


LEARNED: Final = DelayWatermark()
"""The policy of a source that says nothing else."""


def check_policy(value: object, *, has_perfect_watermark: bool) -> None:
    """Refuse a value that is not a watermark policy, or that would have no effect.

    Raises:
        DefinitionError: ``DEFINITION_WATERMARK``.
    """
    if not isinstance(value, WatermarkPolicy):
        raise DefinitionError(
            f"watermark={value!r} is not a watermark policy",
            reason="a duration could be a fixed bound, or the greatest plausible delay",
            hint='write watermark=BoundedDelay("10m") for a fixed bound; DelayWatermark() learns the delay',
            code="DEFINITION_WATERMARK",
        )
    if has_perfect_watermark and value != LEARNED:
        raise DefinitionError(
            f"watermark={value!r} has no effect",
            reason="without arrival_time, INGRESS_TIME is the processing time, which is its own watermark",
            hint="leave watermark out, or name a column as arrival_time",
            code="DEFINITION_WATERMARK",
        )
