"""Percentile watermarks as a curve (Dataflow Model, section 2.3).

``W_p = t`` means: at least a share ``p`` of the events older than ``t`` is estimated to have arrived. ``W_100`` is the
ordinary watermark. A curve never rises with ``p``: a higher percentile is reached later.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, from_iso, iso

DEFAULT_PERCENTILES: tuple[float, ...] = (50, 75, 90, 95, 97, 98, 99, 99.5, 99.9, 100)
"""The percentiles that every job publishes, besides those of its triggers."""


def percentile(value: float | str, *, what: str = "percentile") -> float:
    """Check a percentile: a number with ``1 <= p <= 100``.

    Raises:
        DefinitionError: ``DEFINITION_PERCENTILE``.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not 1 <= number <= 100:
        meant = percentile_text(float(Decimal(str(value)) * 100)) if 0 < number < 1 else "97"
        raise DefinitionError(
            f"{what}={value!r} is not a percentile",
            reason="percentiles are numbers from 1 to 100, not shares from 0 to 1",
            hint=f"say {meant} for {meant} % of the events; 100 is the ordinary watermark",
            code="DEFINITION_PERCENTILE",
        )
    return number


def percentile_text(value: float) -> str:
    """``97.0`` as ``"97"``, ``99.5`` as ``"99.5"``: the keys of every JSON document."""
    return repr(float(value)).removesuffix(".0")


@dataclass(frozen=True, slots=True)
class WatermarkCurve:
    """Watermarks by percentile: ``points`` are ``(percentile, time)``, rising in percentile, never rising in time."""

    points: tuple[tuple[float, Micros], ...]

    def __post_init__(self) -> None:
        for (low, early), (high, late) in zip(self.points, self.points[1:], strict=False):
            if not low < high or late > early:
                raise DefinitionError(
                    f"watermark curve {self.points!r} is not valid: percentiles must rise, and times must not",
                    code="DEFINITION_CURVE",
                )
        if not self.points or self.points[-1][0] != 100:
            raise DefinitionError("a watermark curve must end at percentile 100", code="DEFINITION_CURVE")

    @classmethod
    def flat(cls, time: Micros, percentiles: tuple[float, ...] = (100.0,)) -> WatermarkCurve:
        """The same time at every percentile, for example ``MIN_TIME`` (unknown) or ``MAX_TIME`` (end of input)."""
        return cls(tuple((float(p), time) for p in sorted({*percentiles, 100.0})))

    @classmethod
    def from_json(cls, document: Mapping[str, str]) -> WatermarkCurve:
        return cls(tuple(sorted((float(p), from_iso(text)) for p, text in document.items())))

    def to_json(self) -> dict[str, str]:
        """``{"97": "2013-01-01T10:00:00Z", ...}``."""
        return {percentile_text(p): iso(time) for p, time in self.points}

    def __iter__(self) -> Iterator[tuple[float, Micros]]:
        return iter(self.points)

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles that the curve knows exactly."""
        return tuple(p for p, _ in self.points)

    def at(self, wanted: float) -> Micros:
        """``W_p``; between two known percentiles, the watermark of the higher one."""
        return self.points[bisect_left(self.percentiles, wanted)][1]

    def completeness(self, time: Micros) -> float:
        """The greatest known share (0 to 1) that the curve claims for events older than ``time``; 0.0 if none."""
        return max((p / 100 for p, mark in self.points if mark >= time), default=0.0)

    def raised_to(self, other: WatermarkCurve) -> WatermarkCurve:
        """The later of the two at each percentile of either, so that a published watermark never goes back."""
        union = sorted({*self.percentiles, *other.percentiles})
        return WatermarkCurve(tuple((p, max(self.at(p), other.at(p))) for p in union))


NOTHING_KNOWN = WatermarkCurve.flat(MIN_TIME)
END_OF_INPUT = WatermarkCurve.flat(MAX_TIME)
