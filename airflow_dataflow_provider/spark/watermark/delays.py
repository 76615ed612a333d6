"""Estimates the watermark: from sketches of the delay, or from the greatest event time (``BoundedDelay``).

Map tasks observe their rows, and the driver merges the observations and reads the curve. For each horizon ``h`` the
sketches of the two newest arrival-time buckets of length ``h`` are kept, so a horizon covers between ``h`` and ``2 h``.
The delay at a percentile is the largest over the horizons: the estimate rises within hours when a storm begins, and
falls again once the longest horizon has passed. On the flights of 2013 the windows that were at least as complete as
claimed at 97 % rose from 85 % (one horizon of 7 days) to 94 % (``docs/decisions/0001-watermark-horizons.md``).

Digests are t-digests (Dunning 2019) of microseconds: sharp at the tails, where the percentiles lie, with an exact
maximum, and without randomness, so that a replayed job makes the same claims.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import datasketches
import numpy as np

from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermark_policies import CLOCK_SKEW, BoundedDelay
from airflow_dataflow_provider.model.watermarks import WatermarkCurve

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.watermark_policies import WatermarkPolicy

_K = 200
"""The digest's size parameter: 5 kB at most."""
_SAMPLE = 25_000
"""Rows of one task beyond which every n-th is sketched."""

Times = np.ndarray[tuple[int], np.dtype[np.int64]]
Digests = dict[tuple[Micros, int], bytes]
"""Serialised t-digests by horizon and bucket number. They are bytes in memory as in the log, so that a driver that
reads them back computes exactly what their writer would."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The delays and times of some rows of a source. Rows with a wrong clock do not count.

    Attributes:
        frontier: the newest arrival.
        count: of the rows.
        sketches: of their delay, for a :class:`DelayWatermark`.
        latest: the greatest event time, for a :class:`BoundedDelay`.
    """

    frontier: Micros = MIN_TIME
    count: int = 0
    sketches: Digests = field(default_factory=dict)
    latest: Micros = MIN_TIME

    @classmethod
    def of(cls, policy: WatermarkPolicy, event: Times, arrival: Times, now: Micros) -> Observation:
        """Observe rows. A row with an implausible delay, or with an arrival in the future, has a wrong clock."""
        if not len(event):
            return cls()
        if isinstance(policy, BoundedDelay):
            sane = (event - arrival <= policy.longest_lead) & (arrival <= now + CLOCK_SKEW)
            if not sane.any():
                return cls()
            return cls(int(arrival[sane].max()), int(sane.sum()), latest=int(event[sane].max()))
        delay = arrival - event
        limit = policy.plausible
        if delay.max() > limit or delay.min() < -limit or arrival.max() > now + CLOCK_SKEW:
            sane = (np.abs(delay) <= limit) & (arrival <= now + CLOCK_SKEW)
            delay, arrival = delay[sane], arrival[sane]
            if not len(delay):
                return cls()
        widest, frontier = int(np.argmax(delay)), int(arrival.max())
        step = -(-len(delay) // _SAMPLE)
        # The widest delay is part of the sample, whatever the step.
        sampled = np.append(delay[::step], delay[widest]) if step > 1 else delay
        when = np.append(arrival[::step], arrival[widest]) if step > 1 else arrival
        sketches: Digests = {}
        whole: bytes | None = None
        for horizon in policy.horizons:
            newest = frontier // horizon
            buckets = when // horizon
            for bucket in (newest - 1, newest):
                mine = buckets == bucket
                if mine.all():
                    # Rows of one epoch mostly fall into one bucket of every horizon: one digest serves them all.
                    whole = whole or _merged(sampled.astype(np.float64))
                    sketches[horizon, bucket] = whole
                elif mine.any():
                    sketches[horizon, bucket] = _merged(sampled[mine].astype(np.float64))
        return cls(frontier, len(delay), sketches)

    def merged(self, other: Observation, policy: WatermarkPolicy) -> Observation:
        """Both together; only the two newest buckets of each horizon are kept.

        The order counts in the last digits, so merge in a fixed one.
        """
        sketches: Digests = {}
        for horizon in () if isinstance(policy, BoundedDelay) else policy.horizons:
            buckets = sorted(
                {bucket for source in (self, other) for length, bucket in source.sketches if length == horizon}
            )
            for bucket in buckets[-2:]:
                if bucket < buckets[-1] - 1:
                    continue
                parts = [
                    source.sketches[horizon, bucket] for source in (self, other) if (horizon, bucket) in source.sketches
                ]
                sketches[horizon, bucket] = parts[0] if len(parts) == 1 else _merged(*parts)
        frontier, latest = max(self.frontier, other.frontier), max(self.latest, other.latest)
        return Observation(frontier, self.count + other.count, sketches, latest)

    def curve(self, policy: WatermarkPolicy, percentiles: tuple[float, ...], *, idle_for: Micros = 0) -> WatermarkCurve:
        """``W_p``: frontier minus the largest ``p``-quantile of the delay, or greatest event time minus a bound.

        Args:
            policy: which of the two.
            percentiles: those of the curve; 100 is always there.
            idle_for: how far the frontier, or the greatest event time, moved with the clock while the source was idle.
        """
        if isinstance(policy, BoundedDelay):
            time = MIN_TIME if self.latest == MIN_TIME else self.latest + idle_for - policy.bound
            return WatermarkCurve.flat(time, percentiles)
        if not self.sketches:
            return WatermarkCurve.flat(MIN_TIME, percentiles)
        parts: dict[Micros, list[bytes]] = {}
        for (horizon, _), sketch in sorted(self.sketches.items()):
            parts.setdefault(horizon, []).append(sketch)
        windows = [_read(_merged(*sketches)) for sketches in parts.values()]
        points, mark = [], None
        for percentile in sorted({*percentiles, 100.0}):
            delay = max(_quantile(sketch, percentile) for sketch in windows)
            time = self.frontier + idle_for - int(np.ceil(delay))
            mark = time if mark is None else min(mark, time)
            points.append((float(percentile), mark))
        return WatermarkCurve(tuple(points))

    def to_json(self) -> dict[str, Any]:
        """For the epoch log and between tasks."""
        sketches = {
            f"{horizon}:{bucket}": base64.b64encode(sketch).decode()
            for (horizon, bucket), sketch in self.sketches.items()
        }
        document = {"frontier": iso(self.frontier), "count": self.count, "sketches": sketches}
        return document if self.latest == MIN_TIME else {**document, "latest": iso(self.latest)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Observation:
        """Read back :meth:`to_json`."""
        sketches: Digests = {}
        for name, text in document["sketches"].items():
            horizon, bucket = name.split(":")
            sketches[int(horizon), int(bucket)] = base64.b64decode(text)
        latest = from_iso(document.get("latest", "-inf"))
        return cls(from_iso(document["frontier"]), document["count"], sketches, latest)


def _merged(*parts: bytes | np.ndarray[tuple[int], np.dtype[np.float64]]) -> bytes:
    """One digest of values and digests, in their order."""
    digest = datasketches.tdigest_double(_K)
    for part in parts:
        if isinstance(part, bytes):
            digest.merge(_read(part))
        else:
            digest.update(part)
    return bytes(digest.serialize())


def _read(sketch: bytes) -> datasketches.tdigest_double:
    return datasketches.tdigest_double.deserialize(sketch)


def _quantile(digest: datasketches.tdigest_double, percentile: float) -> float:
    return float(digest.get_max_value() if percentile >= 100 else digest.get_quantile(percentile / 100))
