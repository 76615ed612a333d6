"""One epoch after the other: plan, run, prepare, commit.

Each step leaves a document that is written once. After a crash between any two of them, the next driver finds the open
plan and goes on where it stood: with the clock that was planned, and with the result that was prepared, if one was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.batch import FAIL, FIRE, ShuffleMode
from airflow_dataflow_provider.model.clock import Clock, EpochTime
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, WatermarkCurve
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.left_out import LeftOut, left_out_after
from airflow_dataflow_provider.progress.log.records import EpochKind, EpochPlan, EpochRecord, Prepared
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.state_files import KEYED
from airflow_dataflow_provider.progress.requests import requests, signals
from airflow_dataflow_provider.progress.store.numbered import EpochFolders
from airflow_dataflow_provider.progress.upkeep import set_aside
from airflow_dataflow_provider.progress.upkeep.housekeeping import Housekeeping
from airflow_dataflow_provider.spark.map_side.map_report import MapReport
from airflow_dataflow_provider.spark.map_side.rejects import refuse_too_many
from airflow_dataflow_provider.spark.reduce_side import state
from airflow_dataflow_provider.spark.reduce_side.driver_side import has_few_keys, is_plain
from airflow_dataflow_provider.spark.reduce_side.partition_result import PartitionResult
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState, waiting_windows
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.running.continuation import Continuation
from airflow_dataflow_provider.spark.running.job import EpochJob
from airflow_dataflow_provider.spark.running.run import Run
from airflow_dataflow_provider.spark.sources.read_splits import ReadSplits
from airflow_dataflow_provider.spark.sources.splits import Everything, Input
from airflow_dataflow_provider.spark.sources.stragglers import Share
from airflow_dataflow_provider.spark.stages.epoch_context import EpochContext
from airflow_dataflow_provider.spark.values.frames import from_blob

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.interval import Interval
    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.progress.requests.requests import Request

_SWEEP_EVERY = 16
"""Epochs between two looks for state files that no chain holds any more."""


class Epochs:
    """The epochs of one driver. Calls must not overlap."""

    def __init__(self, run: Run) -> None:
        self._run = run
        last = run.log.last_record()
        self._next = 0 if last is None else last.epoch + 1
        self._before = Continuation(run.pipeline, run.identity.partitions)
        opened = run.log.open_plan()
        run.log.refuse_lost_end(last, opened)
        self._resumed = None if opened is None else opened.epoch
        self._signals = signals.listened_to(run.pipeline)
        self._housekeeping = Housekeeping(run.store, run.log, run.ownership.token, run.retention)
        # In a batch processing time stands still until the input ends.
        self._timers = MIN_TIME if run.mode == RuntimeMode.BATCH else None
        # A stream that has read good rows goes on after a bad file, also where its driver is a new one.
        self._more_waits = False
        self._has_accepted = run.mode == RuntimeMode.STREAMING and last is not None and last.totals.accepted > 0
        if last is not None:
            self._before.restore(run.log, last)
            if last.takes_part:
                self._forget_signals(run.log.planned(last.epoch))
        self.read = ReadSplits.restore(run.store, run.log, last, self._before.read_chain)

    # Epochs

    def data(self, splits: Sequence[Split], *, waiting: int = 0) -> bool:
        """An epoch over some splits.

        Args:
            splits: those that it is to read.
            waiting: how many more wait for the epochs after it.

        Returns:
            Whether there was one. A batch for which enough is read already leaves out what it has left out before.
        """
        files = self._input(tuple(splits))
        if not splits or (isinstance(files, Share) and files.enough <= 0):
            return False
        now, self._more_waits = self._run.now(), waiting > 0
        self._before.published = self._estimate(now, idle=False)
        clock = Clock(now, self._before.published, timers_until=self._timers)
        self._finish(self._plan("data", clock, self._raised(now), splits=tuple(splits)), files, waiting)
        return True

    def _input(self, splits: tuple[Split, ...]) -> Input:
        share = self._run.policies.input_share
        if share is None or self._run.policies.waits_for_everything:
            return Everything(splits)
        return Share.over(splits, self._before.left_out, share)

    @property
    def left_out(self) -> LeftOut | None:
        """The files that were planned up to now and are not read."""
        return self._before.left_out

    def clock(self, *, idle: bool) -> bool:
        """An epoch without elements, if the clock has moved far enough for it to say anything.

        Args:
            idle: the source has nothing more at the moment, so that its frontier may follow the clock.

        Returns:
            Whether there was one.
        """
        now = self._run.now()
        curve, raised = self._estimate(now, idle=idle), self._raised(now)
        clock = Clock(now, curve)
        if curve == self._before.published and not raised and not self._before.is_due(EpochTime(clock, curve.at(100))):
            return False
        self._before.published = curve
        self._finish(self._plan("clock", clock, raised), None)
        return True

    def end_of_input(self) -> None:
        """Fire as at the end of input. Windows stay open by the estimate, so that a later run can go on.

        Where something is left out, the watermarks of the share that is read are at the end, and no others.

        Raises:
            SubmissionError: ``SUBMIT_TIMERS_PENDING``.
        """
        now, policy = self._run.now(), self._run.policies.at_end_of_input
        self._before.published = self._estimate(now, idle=True)
        fired = Clock(now, self._end(), timers_until=MAX_TIME)
        ignored = replace(fired, timers_until=self._timers)
        if policy is FAIL and self._count_panes(fired) != self._count_panes(ignored):
            raise SubmissionError(
                "the input has ended, and triggers still wait for a processing time",
                reason="processing_time_at_end_of_input=fail: what they would publish depends on when the run runs",
                hint="run it again with fire or ignore: all that was read is in the state",
                code="SUBMIT_TIMERS_PENDING",
            )
        clock = fired if policy is FIRE else ignored
        self._finish(self._plan("end_of_input", clock, self._raised(now), estimate=self._before.published), None)

    def _end(self) -> WatermarkCurve:
        left = self._before.left_out
        if left is None:
            return END_OF_INPUT
        known = {*self._before.published.percentiles, *self._run.pipeline.percentiles(), left.percent_read}
        return WatermarkCurve(
            tuple((p, MAX_TIME if p <= left.percent_read else self._before.published.at(p)) for p in sorted(known))
        )

    def _count_panes(self, clock: Clock) -> int:
        """How many panes the end of input would publish under a clock: a run of it that counts for nothing."""
        plan = EpochPlan(
            self._next, "end_of_input", self._run.ownership.token, self._run.run_id, self._run.mode, clock,
            clock.processing_time,
        )  # fmt: skip
        results, _ = self._job(plan, None, EpochTime(clock, self._before.published.at(100)))
        return sum(result.panes for stage in results for result in stage)

    def interval(self, splits: Sequence[Split], interval: Interval) -> None:
        """One epoch that computes the windows of an interval and replaces what was published for them."""
        clock = Clock(self._run.now(), END_OF_INPUT, timers_until=MAX_TIME)
        self._finish(self._plan("interval", clock, interval=interval), Everything(tuple(splits)))

    def resume(self, listed: Callable[[], Sequence[Split]]) -> None:
        """Finish what the driver before this one had planned, with the clock and the splits that it had planned.

        A split that is away, or has changed, is left out by name; a later epoch reads it as it is then. A plan of an
        interval that has no result yet is given up instead: nobody waits for it, and its input may be what ended it.

        Args:
            listed: lists the splits that are there now.
        """
        plan = self._run.log.open_plan()
        if plan is None:
            return
        if self._run.log.prepared(plan.epoch) is None:
            if plan.kind == "interval":
                self._abandon(plan)
                return
            if plan.kind == "data":
                there = set(listed()) if plan.splits else set()
                found = tuple(split for split in plan.splits or () if split in there)
                self._finish(plan, self._input(found) if found else None)
                return
        self._finish(plan, None)

    def _abandon(self, plan: EpochPlan) -> None:
        run = self._run
        run.ownership.check()
        prepared = run.log.prepare(Prepared(plan.epoch, run.ownership.token, None))
        if prepared.result is not None:
            self._finish(plan, None)  # the driver that had planned it was still at work
            return
        self._commit_abandoned(plan)

    def _commit_abandoned(self, plan: EpochPlan) -> None:
        run = self._run
        run.log.commit(
            EpochRecord(
                epoch=plan.epoch, kind="abandoned", mode=plan.mode, run_id=plan.run_id, token=run.ownership.token,
                clock=plan.clock, published=self._before.published, end_of_input=False, rows=RowCounts(), panes=0,
                frontier=None, backlog=None, interval=None, started_at=plan.planned_at, finished_at=run.now(),
                panes_until=run.panes.until,
            )
        )  # fmt: skip
        self._next = plan.epoch + 1

    def sweep(self) -> None:
        """Remove files that are not needed any more, and compact the logs; only between epochs."""
        files = (file for each in self._before.states for chain in each.chains.values() for file in chain.files)
        state.sweep(self._run.store, files, before=self._next)
        self.read.sweep(self._run.store)
        self._housekeeping.sweep(before=self._next, now=self._run.now())
        self._run.panes.compact(before=self._next, now=self._run.now())

    def _estimate(self, now: Micros, *, idle: bool) -> WatermarkCurve:
        """The curve to be published now; a test may give it."""
        curve = self._before.estimate(now, idle=idle) if self._run.script is None else self._run.script()
        return curve.raised_to(self._before.published)

    # Steps

    def _plan(
        self,
        kind: EpochKind,
        clock: Clock,
        raised: Sequence[Request] = (),
        *,
        splits: tuple[Split, ...] | None = None,
        interval: Interval | None = None,
        estimate: WatermarkCurve | None = None,
    ) -> EpochPlan:
        run = self._run
        run.ownership.check()
        forgotten = tuple(request.path for request in raised if request.path)
        plan = EpochPlan(
            self._next, kind, run.ownership.token, run.run_id, run.mode, replace(clock, signals=signals.names(raised)),
            run.now(), interval, estimate, forgotten, tuple(request.id for request in raised), splits,
        )  # fmt: skip
        return run.log.plan(plan)

    def _finish(self, plan: EpochPlan, files: Input | None, waiting: int | None = None) -> None:
        """Take a planned epoch to its commit, from the step that it has reached."""
        run = self._run
        prepared = run.log.prepared(plan.epoch)
        if prepared is None:
            executed = self._execute(plan, files)
            for folder in (KEYED, *set_aside.FOLDERS):
                run.store.sync(EpochFolders(run.store, folder).path(plan.epoch))
            run.panes.sync()
            run.ownership.check()
            prepared = run.log.prepare(Prepared(plan.epoch, run.ownership.token, executed))
        run.ownership.check()
        result = prepared.result
        if result is None:
            self._commit_abandoned(plan)
            return
        now, left_out = run.now(), result.left_out
        panes_until = run.panes.commit(plan, prepared, now)
        record = run.log.commit(
            EpochRecord(
                epoch=plan.epoch,
                kind=plan.kind,
                mode=plan.mode,
                run_id=plan.run_id,
                token=run.ownership.token,
                clock=plan.clock,
                published=plan.published,
                end_of_input=plan.kind == "end_of_input" and left_out is None,
                rows=result.rows,
                panes=result.panes,
                frontier=None if result.frontier == MIN_TIME else result.frontier,
                backlog=None
                if files is not None and waiting is None
                else (waiting or 0) + (len(left_out.files) if left_out else 0),
                interval=plan.interval,
                started_at=plan.planned_at,
                finished_at=now,
                checkpoint=result.checkpoint,
                panes_until=panes_until,
                left_out=left_out,
                waiting=result.waiting,
            )
        )
        self._next = plan.epoch + 1
        self._has_accepted |= result.rows.accepted > 0
        self._forget_signals(plan)
        if record.takes_part:
            self._before.absorb(record)
            read = set(result.files)
            self.read.commit(split for split in plan.splits or () if split.path in read)
        if plan.epoch % _SWEEP_EVERY == 0:
            self.sweep()
        run.on_commit(record)

    def _execute(self, plan: EpochPlan, files: Input | None) -> EpochResult:
        """Run the epoch's tasks, and put their results together."""
        run, before, policy = self._run, self._before, self._run.pipeline.source.watermark
        time = EpochTime(plan.clock, MIN_TIME if plan.kind == "interval" else plan.published.at(100))
        of_stages, states = self._job(plan, files, time)
        results = [result for stage in of_stages for result in stage]
        report = MapReport()
        for each in (report for result in results for report in result.reports):
            report = report.merged(each, policy)
        may_all_be_bad = self._has_accepted or self._more_waits
        refuse_too_many(run.pipeline.source, report, run.store, all_are_too_many=not may_all_be_bad)
        delays = before.delays_with(report.observation)
        received = sum(result.received for result in of_stages[0]) if of_stages else 0
        read = report.rows.read
        checkpoint = Checkpoint(
            stages=tuple(states),
            processing_time=plan.clock.processing_time,
            distinct=received / read if read else before.distinct,
            sent=received if read else before.sent,
            observed=report.observation if report.observation.count else None,
            delays=delays if before.snapshot_is_due else None,
            state_bytes=sum(result.state_bytes for result in results),
            read_splits=self.read.save(run.store, plan.epoch) if plan.interval is None else None,
        )
        late, expired = (sum(getattr(result, name) for result in results) for name in ("late", "expired"))
        few = [(result.partition, from_blob(result.few_panes)) for result in results if result.few_panes is not None]
        pane_files = {result.partition: result.pane_file for result in results if result.pane_file is not None}
        return EpochResult(
            rows=report.rows + RowCounts(late=late, expired=expired),
            files=report.files,
            expired_files=report.expired_files + tuple(file for result in results for file in result.expired_files),
            rejected_files=report.rejected_files,
            panes=sum(result.panes for result in results),
            pane_files=run.panes.stage(plan.epoch, [frame for _, frame in sorted(few, key=itemgetter(0))], pane_files),
            workers={result.partition: result.worker for result in results},
            frontier=delays.frontier,
            left_out=left_out_after(before.left_out, plan.splits or (), {*report.files, *plan.forgotten}),
            waiting=waiting_windows(states),
            checkpoint=checkpoint.to_json(),
        )

    def _job(
        self, plan: EpochPlan, files: Input | None, time: EpochTime
    ) -> tuple[list[list[PartitionResult]], list[StageState]]:  # fmt: skip
        """The epoch's work on Spark; none where there is nothing to do at all."""
        run = self._run
        several = len(run.pipeline.groupings) > 1  # the first one's watermark moves the next one's
        if files is None and not several and not self._before.is_due(time):
            return [], [replace(self._before.states[0], expired_until=time.horizon), *self._before.states[1:]]
        context = EpochContext(
            run.stages, run.identity.partitions, run.store.url, run.panes.url, plan.epoch, time,
            self._before.combining_pays, plan.interval,
        )  # fmt: skip
        job = EpochJob(context, in_driver=self._fits_driver(plan, files))
        if files is None and not self._before.open_windows:
            return job.in_process((), self._before.states)  # nothing is open: no task has anything to do
        return run.workers.run(job, files, self._before.states, f"{run.pipeline.name}: epoch {plan.epoch}, {plan.kind}")

    def _fits_driver(self, plan: EpochPlan, files: Input | None) -> bool:
        """Whether the driver is to reduce; not an epoch that is done again: what ended it may have been too much."""
        run, before = self._run, self._before
        if run.policies.shuffle_mode is ShuffleMode.ALL_EXCHANGES_BLOCKING:
            return False
        if plan.epoch == self._resumed or isinstance(files, Share) or not is_plain(run.stages):
            return False
        if files is not None and (plan.interval is not None or before.sent is None):
            open_windows = 0 if plan.interval is not None else before.open_windows
            return open_windows <= run.driver_rows > 0 and has_few_keys(run.pipeline, files.splits)
        return before.fits(run.driver_rows, elements=files is not None)

    def _raised(self, now: Micros) -> list[Request]:
        """The requests that the next epoch takes: signals for its clock, and files to be forgotten."""
        raised = signals.raised(self._run.store, self._signals, now)
        if self._before.left_out is not None:
            raised += [request for request in requests.pending(self._run.store) if request.kind == "forget"]
        return raised

    def _forget_signals(self, committed: EpochPlan | None) -> None:
        """A committed epoch has taken its signals; before the next one is planned, nobody must find them again."""
        if committed is not None:
            signals.forget(self._run.store, committed.requests)
