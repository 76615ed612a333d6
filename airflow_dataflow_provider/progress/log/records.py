"""The documents of an epoch: its plan, its prepared result and its commit.

All times are UTC microseconds inside and ISO 8601 in the documents, all counts are of rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.coverage import NOTHING_COVERED, Coverage
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS, RowCounts
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.log.waiting import NOTHING_OPEN, Waiting
from airflow_dataflow_provider.progress.store.documents import bad_record, from_optional_iso, optional_iso
from airflow_dataflow_provider.progress.store.store import Json

EpochKind = Literal["data", "clock", "end_of_input", "interval", "abandoned"]
"""Rows of a stream; the clock alone; the end of a bounded input; one batch over an interval; a plan that was given up
before it had a result, so that nothing came of it."""

MODES: Final = ("batch", "micro-batch", "streaming")
"""The runtime modes, as the documents and the command line spell them."""
_PANES_UNTIL: Final = "panes_until"
"""In a commit, beside the keys of the checkpoint."""


def check_mode(mode: str) -> None:
    """Refuse what is no runtime mode (``STATE_BAD_RECORD``)."""
    if mode not in MODES:
        raise bad_record(f"mode {mode!r} is none of {', '.join(MODES)}")


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The plan of an epoch, written before anything of it runs, so that a replay does the same.

    Args:
        epoch: the number of the epoch, consecutive within a state.
        kind: where the epoch comes from.
        token: the claim of the driver that planned it.
        run_id: that driver's run.
        mode: the runtime mode of the run.
        clock: what its triggers will look at.
        planned_at: processing time of the plan.
        interval: what an ``interval`` epoch computes, None for all others.
        estimate: the curve that is published with the epoch, where it is not the clock's.
        forgotten: the files that are left out no more, though they are not read.
        requests: the ids of the signals in its clock, which wait until it is committed.
        splits: what a ``data`` epoch is to read; None for all others.
    """

    epoch: int
    kind: EpochKind
    token: int
    run_id: str
    mode: str
    clock: Clock
    planned_at: Micros
    interval: Interval | None = None
    estimate: WatermarkCurve | None = None
    forgotten: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    splits: tuple[Split, ...] | None = None

    def __post_init__(self) -> None:
        _check(self.epoch, self.kind, self.mode, self.interval)

    @property
    def published(self) -> WatermarkCurve:
        """The estimated curve that is published with the epoch."""
        return self.clock.watermarks if self.estimate is None else self.estimate

    def to_json(self) -> Json:
        details: Json = {} if self.estimate is None else {"told": self.estimate.to_json()}
        if self.forgotten:
            details["forgotten"] = list(self.forgotten)
        return {
            "epoch": self.epoch,
            "kind": self.kind,
            "token": self.token,
            "run_id": self.run_id,
            "mode": self.mode,
            "clock": self.clock.to_json(),
            "planned_at": iso(self.planned_at),
            "interval": None if self.interval is None else self.interval.to_json(),
            "details": details,
            **({"requests": list(self.requests)} if self.requests else {}),
            **({} if self.splits is None else {"splits": self.splits}),
        }

    @classmethod
    def from_json(cls, document: Json) -> EpochPlan:
        details = document["details"]
        return cls(
            epoch=document["epoch"],
            kind=document["kind"],
            token=document["token"],
            run_id=document["run_id"],
            mode=document["mode"],
            clock=Clock.from_json(document["clock"]),
            planned_at=from_iso(document["planned_at"]),
            interval=None if document["interval"] is None else Interval.from_json(document["interval"]),
            estimate=WatermarkCurve.from_json(details["told"]) if "told" in details else None,
            forgotten=tuple(details.get("forgotten", ())),
            requests=tuple(document.get("requests", ())),
            splits=tuple(Split(*split) for split in document["splits"]) if "splits" in document else None,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """The result of an epoch as the log keeps it; None says that the plan was given up, and nothing came of it."""

    epoch: int
    token: int
    result: EpochResult | None

    def to_json(self) -> Json:
        details = {"abandoned": True} if self.result is None else self.result.to_json()
        return {"epoch": self.epoch, "token": self.token, "details": details}

    @classmethod
    def from_json(cls, document: Json) -> Prepared:
        details = document["details"]
        result = None if details.get("abandoned") else EpochResult.from_json(details)
        return cls(document["epoch"], document["token"], result)


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The record of an epoch. Its document is the commit: the epoch has happened if, and only if, it exists.

    Args:
        epoch, kind, mode, run_id, interval: as in :class:`EpochPlan`.
        token: the claim of the driver that committed it.
        clock: what fired the panes; at the end of input every watermark in it is ``+inf``.
        published: the estimated curve; never goes back from one epoch of the stream to the next.
        end_of_input: whether nothing more will come.
        rows: the rows of this epoch.
        panes: the panes fired by it.
        frontier: how far, in arrival time, the source was read; None where the source cannot say.
        backlog: rows (or splits) known to wait; None where the source cannot say.
        started_at, finished_at: processing time.
        left_out: what was planned up to this epoch and is not read yet.
        claimable: the greatest percentile that the estimator of ``published`` can claim; 0 if none.
        checkpoint: the engine's state after the epoch, as JSON (:attr:`.EpochResult.checkpoint`).
        panes_until: the newest commit of the pane log at that time; None where there is none.
        totals, panes_total: ``rows`` and ``panes`` summed from the first epoch to this one.
        published_watermark: ``published`` of the newest epoch of the stream up to this one; None if there is none.
        covered: the event times that batches up to this epoch have computed, each over an interval or over everything.
        stream_epoch: the newest epoch up to this one that takes part in the stream; None if there is none.
        waiting: the windows that the newest epoch of the stream has left open.

    The last six are running values, so that one record tells the state of the pipeline. :meth:`following` fills them.
    """

    epoch: int
    kind: EpochKind
    mode: str
    run_id: str
    token: int
    clock: Clock
    published: WatermarkCurve
    end_of_input: bool
    rows: RowCounts
    panes: int
    frontier: Micros | None
    backlog: int | None
    interval: Interval | None
    started_at: Micros
    finished_at: Micros
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    panes_until: int | None = None
    left_out: LeftOut | None = None
    claimable: float = 100.0
    totals: RowCounts = NO_ROWS
    panes_total: int = 0
    published_watermark: WatermarkCurve | None = None
    covered: Coverage = NOTHING_COVERED
    stream_epoch: int | None = None
    waiting: Waiting = NOTHING_OPEN

    def __post_init__(self) -> None:
        _check(self.epoch, self.kind, self.mode, self.interval)
        if self.panes < 0 or (self.backlog is not None and self.backlog < 0):
            raise bad_record(f"epoch {self.epoch}: a count is negative")
        if not 0 <= self.claimable <= 100:
            raise bad_record(f"epoch {self.epoch}: claimable={self.claimable!r} is no percentile")

    @property
    def takes_part(self) -> bool:
        """Whether the epoch is one of the stream's: later epochs go on from what it left."""
        return self.kind not in {"interval", "abandoned"}

    def following(self, previous: EpochRecord | None) -> EpochRecord:
        """This record with its running values, given the record of the epoch before it (None for the first).

        ``published`` is raised to the curve before it, where it would go back.
        """
        before = None if previous is None else previous.published_watermark
        left_out, waiting = self.left_out, self.waiting
        published, covered = self.published, NOTHING_COVERED if previous is None else previous.covered
        if self.takes_part:
            before = published = published if before is None else published.raised_to(before)
        else:
            left_out = None if previous is None else previous.left_out
            waiting = NOTHING_OPEN if previous is None else previous.waiting
        if (interval := self._computes()) is not None:
            covered = covered.with_interval(interval)
        stream_epoch = None if previous is None else previous.stream_epoch
        return dataclasses.replace(
            self,
            published=published,
            left_out=left_out,
            totals=self.rows if previous is None else previous.totals + self.rows,
            panes_total=self.panes + (0 if previous is None else previous.panes_total),
            published_watermark=before,
            covered=covered,
            stream_epoch=self.epoch if self.takes_part else stream_epoch,
            waiting=waiting,
        )

    def _computes(self) -> Interval | None:
        """The interval whose windows this epoch alone makes complete.

        A batch over everything has read what was there when it ended, so it says nothing of windows that end later.
        """
        if self.interval is not None or self.kind != "end_of_input" or self.mode != "batch" or self.left_out:
            return self.interval
        return Interval(MIN_TIME, self.clock.processing_time)

    def to_json(self) -> Json:
        return {
            "epoch": self.epoch,
            "kind": self.kind,
            "mode": self.mode,
            "run_id": self.run_id,
            "token": self.token,
            "clock": self.clock.to_json(),
            "published": self.published.to_json(),
            "claimable": self.claimable,
            "end_of_input": self.end_of_input,
            "rows": self.rows.to_json(),
            "panes": self.panes,
            "frontier": optional_iso(self.frontier),
            "backlog": self.backlog,
            "interval": None if self.interval is None else self.interval.to_json(),
            "started_at": iso(self.started_at),
            "finished_at": iso(self.finished_at),
            "left_out": None if self.left_out is None else self.left_out.to_json(),
            "running": {
                "rows": self.totals.to_json(),
                "panes": self.panes_total,
                "watermarks": None if self.published_watermark is None else self.published_watermark.to_json(),
                "covered": self.covered.to_json(),
                "stream_epoch": self.stream_epoch,
                "waiting": self.waiting.to_json(),
            },
            "details": {**self.checkpoint, _PANES_UNTIL: self.panes_until},
        }

    @classmethod
    def from_json(cls, document: Json) -> EpochRecord:
        running = document["running"]
        curve = running["watermarks"]
        return cls(
            epoch=document["epoch"],
            kind=document["kind"],
            mode=document["mode"],
            run_id=document["run_id"],
            token=document["token"],
            clock=Clock.from_json(document["clock"]),
            published=WatermarkCurve.from_json(document["published"]),
            claimable=document["claimable"],
            end_of_input=document["end_of_input"],
            rows=RowCounts.from_json(document["rows"]),
            panes=document["panes"],
            frontier=from_optional_iso(document["frontier"]),
            backlog=document["backlog"],
            interval=None if document["interval"] is None else Interval.from_json(document["interval"]),
            started_at=from_iso(document["started_at"]),
            finished_at=from_iso(document["finished_at"]),
            checkpoint={name: value for name, value in document["details"].items() if name != _PANES_UNTIL},
            panes_until=document["details"].get(_PANES_UNTIL),
            left_out=None if document.get("left_out") is None else LeftOut.from_json(document["left_out"]),
            totals=RowCounts.from_json(running["rows"]),
            panes_total=running["panes"],
            published_watermark=None if curve is None else WatermarkCurve.from_json(curve),
            covered=Coverage.from_json(running.get("covered", ())),
            stream_epoch=running["stream_epoch"],
            waiting=Waiting.from_json(running.get("waiting", {})),
        )


def _check(epoch: int, kind: str, mode: str, interval: Interval | None) -> None:
    if epoch < 0:
        raise bad_record(f"epoch {epoch} is negative")
    if kind not in get_args(EpochKind):
        raise bad_record(f"epoch {epoch}: kind {kind!r} is none of {', '.join(get_args(EpochKind))}")
    check_mode(mode)
    if (kind == "interval") != (interval is not None):
        raise bad_record(f"epoch {epoch}: an interval epoch, and no other, has an interval")
