"""The status of a pipeline as one value, for people, sensors and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve, percentile_text
from airflow_dataflow_provider.progress.log.coverage import NOTHING_COVERED, Coverage
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.waiting import NOTHING_OPEN, Waiting
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.owner import OwnerInfo, present_owner
from airflow_dataflow_provider.progress.requests import signals
from airflow_dataflow_provider.progress.requests.requests import absent
from airflow_dataflow_provider.progress.status.findings import Facts, Finding
from airflow_dataflow_provider.progress.store.documents import optional_iso
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.wall import wall_clock

PipelineState = Literal["never_ran", "starting", "running", "stopped", "completed", "failed", "lost"]
"""``lost``: the driver has not released its claim, and is gone or silent. ``completed``: the last run, a batch, has
finished."""


@dataclass(frozen=True, slots=True)
class Status:
    """The published progress of a pipeline.

    Args:
        state_url: the URL of the state.
        pipeline: the pipeline's name.
        fingerprint: the fingerprint of the definition for which the state was created.
        mode: the runtime mode of the last run; None if it never ran.
        state: the state of the pipeline.
        epoch: the last committed epoch; None if there is none.
        watermarks: the published curve; intervals do not move it.
        covered: the event times that batches have computed, over intervals or the whole input.
        claimable: the greatest percentile that the estimator can claim.
        end_of_input: whether the last epoch reached the end of the input.
        interval: the interval of the last epoch; None if it had none.
        rows: the rows of all epochs.
        panes: the panes of all epochs.
        owner: the last driver; None if it never ran.
        frontier: the newest arrival time that was read.
        backlog: the number of rows (or splits) known to wait.
        left_out: the files that were planned and that no run has read yet; None if there are none.
        processing_time: the clock of the last epoch; None if there is none.
        lag: processing time minus ``W_100`` at the last epoch, in microseconds; None while the watermark is infinite.
        updated_at: the time of the newest of these facts.
        detail: more about the state, for people.
        signals: the raised signals that no committed epoch has taken yet.
        waiting: the open windows, and the conditions of their next panes.
    """

    state_url: str
    pipeline: str
    fingerprint: str
    mode: str | None
    state: PipelineState
    epoch: int | None
    watermarks: WatermarkCurve
    claimable: float
    end_of_input: bool
    interval: Interval | None
    rows: RowCounts
    panes: int
    owner: OwnerInfo | None
    frontier: Micros | None
    backlog: int | None
    left_out: LeftOut | None
    lag: Micros | None
    updated_at: Micros
    detail: str
    signals: tuple[str, ...] = ()
    covered: Coverage = NOTHING_COVERED
    processing_time: Micros | None = None
    waiting: Waiting = NOTHING_OPEN

    @property
    def findings(self) -> tuple[Finding, ...]:
        if self.epoch is None and self.state not in ("running", "stopped"):
            return ()  # it never ran, or the detail of the driver's state has the reason of its end
        return Facts(self.rows, self.panes, self.watermarks, self.waiting, self.rows.read).findings()

    @property
    def live(self) -> bool:
        """Whether a living driver owns the pipeline."""
        return self.state in ("starting", "running")

    def to_json(self) -> Json:
        """One JSON object. Times are ISO 8601, or ``"+inf"``; unknown times are null."""
        return {
            "pipeline": self.pipeline,
            "state_url": self.state_url,
            "fingerprint": self.fingerprint,
            "mode": self.mode,
            "state": self.state,
            "detail": self.detail,
            "epoch": self.epoch,
            "watermarks": {
                percentile_text(share): None if time == MIN_TIME else iso(time) for share, time in self.watermarks
            },
            "covered": self.covered.to_json(),
            "claimable": self.claimable,
            "end_of_input": self.end_of_input,
            "interval": None if self.interval is None else self.interval.to_json(),
            "rows": self.rows.to_json(),
            "panes": self.panes,
            "frontier": optional_iso(self.frontier),
            "backlog": self.backlog,
            "left_out": None if self.left_out is None else self.left_out.to_json(),
            "signals": list(self.signals),
            "waiting": self.waiting.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
            "processing_time": optional_iso(self.processing_time),
            "lag_seconds": None if self.lag is None else self.lag / 1_000_000,
            "owner": None if self.owner is None else self.owner.to_json(),
            "updated_at": iso(self.updated_at),
        }


def read_status(url: str, *, now: Micros | None = None) -> Status:
    """Read the status of the pipeline at a state URL.

    Args:
        url: the state URL.
        now: processing time, with which heartbeats are compared; by default the wall clock's.

    Raises:
        StateError: ``STATE_ABSENT``, if there is no pipeline; ``STATE_FORMAT``, ``STATE_UNREADABLE``,
            ``STATE_FILESYSTEM``.

    Costs:
        A handful of small reads and listings, however long the pipeline has run.
    """
    store = Store.open(url)
    pipeline = identity.load(store)
    if pipeline is None:
        raise absent(store)
    owner = present_owner(store)  # read before the last record, since a driver commits before it releases its claim
    last = EpochLog(store).last_record()
    watermarks = NOTHING_KNOWN if last is None or last.published_watermark is None else last.published_watermark
    times = [pipeline.created_at]
    if owner is not None:
        times.append(owner.heartbeat_at)
    if last is not None:
        times.append(last.finished_at)
    return Status(
        state_url=store.url,
        pipeline=pipeline.name,
        fingerprint=pipeline.fingerprint,
        mode=owner.mode if owner is not None else last.mode if last is not None else None,
        state=_state(owner, last, wall_clock() if now is None else now),
        epoch=None if last is None else last.epoch,
        watermarks=watermarks,
        claimable=100.0 if last is None else last.claimable,
        end_of_input=last is not None and last.end_of_input,
        interval=None if last is None else last.interval,
        rows=RowCounts() if last is None else last.totals,
        panes=0 if last is None else last.panes_total,
        owner=owner,
        frontier=None if last is None else last.frontier,
        backlog=None if last is None else last.backlog,
        left_out=None if last is None else last.left_out,
        lag=None if last is None else _lag(last.clock.processing_time, watermarks.at(100)),
        updated_at=max(times),
        detail="" if owner is None else owner.detail,
        signals=signals.waiting(store, pipeline.signals),
        covered=NOTHING_COVERED if last is None else last.covered,
        processing_time=None if last is None else last.clock.processing_time,
        waiting=NOTHING_OPEN if last is None else last.waiting,
    )


def find_status(url: str) -> Status | None:
    """The status of the pipeline at a state URL, None before its first run; otherwise as :func:`read_status`."""
    try:
        return read_status(url)
    except StateError as error:
        if error.code == "STATE_ABSENT":
            return None
        raise


def _state(owner: OwnerInfo | None, last: EpochRecord | None, now: Micros) -> PipelineState:
    if owner is None:
        return "never_ran" if last is None else "stopped"
    liveness = owner.liveness(now)
    if liveness == "alive":
        return "starting" if owner.state == "starting" else "running"
    if owner.state in {"failed", "fenced"}:
        return "failed"
    # The commit completes a batch, even if the driver crashes before it releases its claim.
    if last is not None and last.mode == "batch" and last.run_id == owner.run_id and _has_published(last):
        return "completed"
    return "stopped" if liveness == "released" else "lost"


def _has_published(record: EpochRecord) -> bool:
    """Whether the epoch was the last one of its batch; a batch over an interval has one epoch."""
    return record.kind in ("end_of_input", "interval")


def _lag(processing_time: Micros, watermark: Micros) -> Micros | None:
    return processing_time - watermark if MIN_TIME < watermark < MAX_TIME else None
