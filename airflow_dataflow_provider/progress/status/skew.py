"""Event time against processing time, epoch by epoch: what a skew picture is drawn from (Dataflow Model, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.requests.requests import absent
from airflow_dataflow_provider.progress.store.store import Store


@dataclass(frozen=True, slots=True)
class SkewPoint:
    """The curve that the world had been told when one epoch was committed, and what the clock said then."""

    at: Micros
    watermarks: WatermarkCurve


@dataclass(frozen=True, slots=True)
class Skew:
    """How far a pipeline's watermarks were behind, from its first epoch to its last.

    Args:
        pipeline: the pipeline's name.
        by_source_clock: whether ``at`` is the frontier, the newest arrival that the source had been read up to; else it
            is processing time, as the driver's clock had it.
        points: one an epoch whose watermark says anything, in the order of the epochs. Their clock never goes back, and
            moves at least once.
        epochs: the epochs of the state, those without a point too.
        rows: the rows that all of them read.
    """

    pipeline: str
    by_source_clock: bool
    points: tuple[SkewPoint, ...]
    epochs: int
    rows: int

    def line(self, percentile: float) -> list[tuple[Micros, Micros]]:
        """``(W_p, at)`` of the points where ``W_p`` is finite."""
        pairs = ((point.watermarks.at(percentile), point.at) for point in self.points)
        return [(time, at) for time, at in pairs if MIN_TIME < time < MAX_TIME]


def read_skew(url: str) -> Skew:
    """Read the skew of the pipeline at a state URL.

    A source's own clock is preferred to the driver's, which says nothing about old data that is replayed. Interval
    epochs are left out: they move no watermark.

    Raises:
        StateError: ``STATE_ABSENT`` where there is no pipeline, ``STATE_TOO_FEW_EPOCHS`` where there is no line to
            draw, and as :func:`.status.read_status`.

    Costs:
        One small read an epoch.
    """
    store = Store.open(url)
    pipeline = identity.load(store)
    if pipeline is None:
        raise absent(store)
    records = list(EpochLog(store).records())
    told = [record for record in records if record.interval is None and _says_something(record.published)]
    by_source_clock = any(record.frontier is not None for record in told)
    points: list[SkewPoint] = []
    for record in told:
        at = record.frontier if by_source_clock else record.clock.processing_time
        if at is not None:
            # A driver's clock may go back when another machine takes over; time on the picture does not.
            points.append(SkewPoint(max(at, points[-1].at) if points else at, record.published))
    if not points or points[0].at == points[-1].at:
        raise StateError(
            f"{store.url} has no skew to show: of {len(records)} epochs, {len({point.at for point in points})} moments "
            "have a watermark",
            reason="a line needs two moments, and a batch run has only one",
            hint="run the pipeline in micro-batch or streaming mode, and again when it has read more",
            code="STATE_TOO_FEW_EPOCHS",
        )
    rows = records[-1].totals.read
    return Skew(pipeline.name, by_source_clock, tuple(points), len(records), rows)


def _says_something(curve: WatermarkCurve) -> bool:
    return any(MIN_TIME < time < MAX_TIME for _, time in curve)
