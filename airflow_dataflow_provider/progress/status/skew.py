"""The skew: event time against processing time, epoch by epoch (Dataflow Model, figure 2)."""

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
    """The published watermarks of one epoch, and the clock at that time."""

    at: Micros
    watermarks: WatermarkCurve


@dataclass(frozen=True, slots=True)
class Skew:
    """The skew of a pipeline's watermarks, from its first epoch to its last.

    Args:
        pipeline: the pipeline's name.
        by_source_clock: whether ``at`` is the frontier, the newest arrival time that was read; else it is processing
            time, by the driver's clock.
        points: a point for each epoch with a finite watermark, in the order of the epochs. ``at`` never goes back, and
            has at least two values.
        epochs: the number of epochs of the state, also those without a point.
        rows: the number of rows that all epochs have read.
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

    The source's clock is used where it is known, since the driver's is of no use for old data that is replayed.
    Interval epochs are skipped, since they move no watermark.

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
            # The clock may go back when a driver on another machine takes over, but not in the picture.
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
