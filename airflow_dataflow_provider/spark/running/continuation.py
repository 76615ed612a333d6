"""The state of a driver between two epochs: open windows, delays, watermarks, files left out.

It follows from the epoch log alone: a driver that starts and reads the log has the same as the one that has just
committed the log's newest epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.time import MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.sources.read_splits import ReadChain
from airflow_dataflow_provider.spark.watermark.delays import Observation

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.progress.log.left_out import LeftOut
    from airflow_dataflow_provider.progress.log.log import EpochLog
    from airflow_dataflow_provider.progress.log.records import EpochRecord

_SNAPSHOT_EVERY = 16
"""Epochs between two whole copies of the delay sketches in the log; between them each epoch logs its own."""
_DISTINCT = 0.4
"""Beyond this share of distinct keys and windows among the rows of an epoch, the next one is not combined before the
shuffle: that would group nearly every row twice."""


class Continuation:
    """The state of a driver between two epochs.

    Committed epochs change it, those of an interval do not. Only ``published`` changes when an epoch is
    planned.

    Args:
        pipeline: whose epochs they are.
        partitions: the number of state partitions.

    Attributes:
        states: of each grouping.
        published: the curve that was published last.
        delays: of all rows so far.
        distinct: the share of distinct keys and windows among the last epoch's rows.
        sent: how many rows the map side of the last epoch with elements has sent; None before there is one.
        left_out: the files that were planned and are not read yet.
        read_chain: the files that list what was read.
    """

    def __init__(self, pipeline: Pipeline, partitions: int) -> None:
        self._pipeline = pipeline
        self.states = [StageState.empty(partitions) for _ in pipeline.groupings]
        self.published = WatermarkCurve.flat(MIN_TIME, pipeline.percentiles())
        self.delays = Observation()
        self.distinct = 0.0
        self.sent: int | None = None
        self.left_out: LeftOut | None = None
        self.read_chain = ReadChain()
        self._last_data_at: Micros | None = None
        self._since_snapshot = 0

    # What the log says

    def absorb(self, record: EpochRecord) -> None:
        """Make a committed epoch what the next one starts from."""
        self._absorb(record, Checkpoint.from_json(record.checkpoint))

    def restore(self, log: EpochLog, last: EpochRecord) -> None:
        """Absorb the newest epoch of the stream, and those before it whose delays are not in it."""
        epochs: list[tuple[EpochRecord, Checkpoint]] = []
        for record in log.stream_records(last):
            epochs.append((record, Checkpoint.from_json(record.checkpoint)))
            if epochs[-1][1].delays is not None:
                break
        for record, checkpoint in reversed(epochs):
            self._absorb(record, checkpoint)

    def _absorb(self, record: EpochRecord, checkpoint: Checkpoint) -> None:
        self.states = list(checkpoint.stages)
        self.distinct, self.sent = checkpoint.distinct, checkpoint.sent
        self.published = record.published_watermark or record.published
        self.left_out = record.left_out
        self.read_chain = checkpoint.read_splits or ReadChain()
        if record.kind == "data":
            self._last_data_at = checkpoint.processing_time
        if checkpoint.delays is not None:
            self.delays, self._since_snapshot = checkpoint.delays, 0
            return
        self._since_snapshot += 1
        if checkpoint.observed is not None:
            self.delays = self.delays_with(checkpoint.observed)

    # What the next epoch asks

    def estimate(self, now: Micros, *, idle: bool) -> WatermarkCurve:
        """The curve as the delays seen so far have it.

        Args:
            now: the processing time.
            idle: the source has nothing more at the moment, so that its watermark may follow the clock.
        """
        if self.left_out is not None:
            return self.published  # the delays of what is not read are not known
        source, percentiles = self._pipeline.source, self._pipeline.percentiles()
        if source.has_perfect_watermark:
            return WatermarkCurve.flat(now, percentiles)
        idle_after = source.watermark.idle_after
        silence = 0 if self._last_data_at is None else now - self._last_data_at
        follows = idle and idle_after is not None and self._last_data_at is not None and silence >= idle_after
        return self.delays.curve(source.watermark, percentiles, idle_for=silence if follows else 0)

    def delays_with(self, observed: Observation) -> Observation:
        """The delays after an epoch that has observed this."""
        return self.delays.merged(observed, self._pipeline.source.watermark)

    @property
    def snapshot_is_due(self) -> bool:
        """Whether the next epoch is to log its delays whole."""
        return self._since_snapshot + 1 >= _SNAPSHOT_EVERY

    @property
    def combining_pays(self) -> bool:
        """Whether rows are to be combined before the shuffle, as far as the last epoch tells."""
        return self.distinct <= _DISTINCT

    def fits(self, rows: int, *, elements: bool) -> bool:
        """Whether the next epoch has to do with so many rows at most, as far as the last one tells.

        Args:
            rows: open windows, and what the map side sends.
            elements: whether the map side has anything to send.
        """
        sent = self.sent if elements else 0
        return sent is not None and sent + self.open_windows <= rows

    @property
    def open_windows(self) -> int:
        """How many windows all groupings have open."""
        return sum(state.open_windows for state in self.states)

    def is_due(self, time: EpochTime) -> bool:
        """Whether an epoch without elements has anything to do."""
        for number, (grouping, state) in enumerate(zip(self._pipeline.groupings, self.states, strict=True)):
            if number:
                time = state.hold.arriving(time.clock)
            lateness = grouping.allowed_lateness
            if any(chain.next_due.is_due(time, lateness) for chain in state.chains.values()):
                return True
        return False
