"""The epoch log: what was planned, what came of it, what is committed."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_dataflow_provider.model.errors import OwnershipError, StateError
from airflow_dataflow_provider.progress.log.epoch_documents import COMMIT, PLAN, PREPARED, EpochDocuments
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord, Prepared
from airflow_dataflow_provider.progress.store.store import Store


class EpochLog:
    """The write-ahead log of one pipeline's epochs.

    An epoch is *planned* (its clock is fixed), *prepared* (its result is fixed) and *committed* (it happened). A driver
    that takes over after a crash finds the open plan and goes on from there: what is fixed stays fixed.

    Guarantees:
        Each of the three is written once; whoever comes second gets the stored one. At most one epoch is open, the
        newest. Commits have no gaps, their totals add up, and their published watermarks never go back.

    Costs:
        :meth:`last_record` and :meth:`open_plan` list a thousand epochs or two, however long the log is. A driver's
        own :meth:`plan`, :meth:`prepare` and :meth:`commit` list nothing after its first epoch.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files = EpochDocuments(store)
        self._last: EpochRecord | None = None  # the newest commit that this log wrote or read

    def plan(self, plan: EpochPlan) -> EpochPlan:
        """Fix what an epoch will do, before it does anything.

        Returns:
            The stored plan: if this driver has planned the epoch already, that plan.

        Raises:
            OwnershipError: ``OWNER_FENCED``, if another driver has planned it.
            StateError: ``STATE_EPOCH_OPEN``, if the epoch before it is not committed.
        """
        self._refuse_gap(plan.epoch, "planned")
        stored = self._files.put(plan.epoch, PLAN, plan.to_json(), EpochPlan.from_json)
        _refuse_other(stored, plan, "planned")
        return stored

    def prepare(self, prepared: Prepared) -> Prepared:
        """Fix the result of an epoch, before any sink commits it.

        Returns:
            The stored result: the first one, whichever driver prepared it. It is the one to commit.
        """
        return self._files.put(prepared.epoch, PREPARED, prepared.to_json(), Prepared.from_json)

    def commit(self, record: EpochRecord) -> EpochRecord:
        """Make an epoch happen. Running values of the record are filled in here.

        Returns:
            The stored record: if this driver has committed the epoch already, that record.

        Raises:
            OwnershipError: ``OWNER_FENCED``, if another driver has committed it.
            StateError: ``STATE_EPOCH_OPEN``, if the epoch before it is not committed.
        """
        last = self._refuse_gap(record.epoch, "committed")
        stored = self._files.put(record.epoch, COMMIT, record.following(last).to_json(), EpochRecord.from_json)
        _refuse_other(stored, record, "committed")
        if last is None or last.epoch < stored.epoch:
            self._last = stored
        return stored

    def planned(self, epoch: int) -> EpochPlan | None:
        return self._files.load(epoch, PLAN, EpochPlan.from_json)

    def prepared(self, epoch: int) -> Prepared | None:
        return self._files.load(epoch, PREPARED, Prepared.from_json)

    def record(self, epoch: int) -> EpochRecord | None:
        return self._files.load(epoch, COMMIT, EpochRecord.from_json)

    def last_record(self) -> EpochRecord | None:
        """The newest commit; reads that one document."""
        newest = next(self._files.newest_first(COMMIT), None)
        self._last = None if newest is None else self.record(newest[0])
        return self._last

    def records(self, since: int = 0) -> Iterator[EpochRecord]:
        """The commits from epoch ``since`` up, oldest first, each read when it is asked for.

        Raises:
            StateError: ``STATE_LOG_BROKEN`` where one between two others is gone.
        """
        following: int | None = None
        for epoch, _ in self._files.oldest_first(COMMIT, since=since):
            for each in range(epoch if following is None else following, epoch + 1):
                yield self._required(each)
            following = epoch + 1

    def open_plan(self) -> EpochPlan | None:
        """The plan that is not committed: what a driver has to finish before it does anything else.

        Raises:
            StateError: ``STATE_LOG_BROKEN``, if more than one epoch is open.
        """
        committed, opened = -1, []
        for epoch, kind in self._files.newest_first(PLAN, COMMIT):
            if kind == COMMIT:
                committed = epoch
                break
            opened.append(epoch)
        opened = [epoch for epoch in opened if epoch != committed]
        if len(opened) > 1:
            raise StateError(
                f"epochs {', '.join(map(str, reversed(opened)))} of {self._store.url} are planned and not committed",
                reason="only the newest may be open: a commit is missing, and a replay would not give the same panes",
                hint="restore the missing commits, or start anew at another state URL",
                code="STATE_LOG_BROKEN",
            )
        return self.planned(opened[0]) if opened else None

    def refuse_lost_end(self, last: EpochRecord | None, opened: EpochPlan | None) -> None:
        """Refuse a log whose last documents were taken away: an epoch would be done again that has had a result.

        Args:
            last: the newest commit.
            opened: the plan that is not committed.

        Raises:
            StateError: ``STATE_LOG_BROKEN``, naming what is gone.
        """
        epoch = 0 if last is None else last.epoch + 1
        if opened is not None and opened.epoch != epoch:
            gone = (
                f"the documents of epoch {epoch} are gone from {self._store.url}, and epoch {opened.epoch} is planned"
            )
        elif opened is None and self.prepared(epoch) is not None:
            gone = f"the plan of epoch {epoch} is gone from {self._store.url}, and its result is there"
        else:
            return
        raise StateError(
            gone,
            reason="another plan would name other input, and rows would be lost or read twice",
            hint="restore the documents from a backup, or start anew at another state URL",
            code="STATE_LOG_BROKEN",
        )

    def stream_records(self, last: EpochRecord | None) -> Iterator[EpochRecord]:
        """The commits that take part in the stream, newest first, each read when it is asked for.

        Each commit names the one before it, so epochs of intervals between them cost nothing.

        Args:
            last: the newest commit of the log.

        Raises:
            StateError: ``STATE_LOG_BROKEN`` where one of them is gone.
        """
        epoch = None if last is None else last.stream_epoch
        while epoch is not None:
            record = last if last is not None and epoch == last.epoch else self._required(epoch)
            yield record
            epoch = self._required(epoch - 1).stream_epoch if epoch else None

    def _required(self, epoch: int) -> EpochRecord:
        record = self.record(epoch)
        if record is None:
            raise StateError(
                f"the commit of epoch {epoch} is gone from {self._store.url}",
                reason="the epochs after it rest on it",
                hint="restore the document from a backup, or start anew at another state URL",
                code="STATE_LOG_BROKEN",
            )
        return record

    def compact(self) -> None:
        """Pack a thousand old epochs into one file, if there are so many; only between two epochs of one's own."""
        self._files.compact()

    def _refuse_gap(self, epoch: int, what: str) -> EpochRecord | None:
        """The newest commit, once it is sure that ``epoch`` may follow it."""
        last = self._last if self._last is not None and self._last.epoch == epoch - 1 else self.last_record()
        opened = self.open_plan() if last is None else None
        newest = last.epoch if last is not None else epoch - 1 if opened is None else opened.epoch - 1
        if epoch > newest + 1:
            raise StateError(
                f"epoch {epoch} of {self._store.url} cannot be {what}: epoch {newest + 1} is not committed",
                reason="only the newest epoch may be open, so that a replay finds what it has to repeat",
                hint=f"finish epoch {newest + 1} first (EpochLog.open_plan gives its plan)",
                code="STATE_EPOCH_OPEN",
            )
        return last


def _refuse_other(stored: EpochPlan | EpochRecord, ours: EpochPlan | EpochRecord, what: str) -> None:
    if stored.token != ours.token:
        raise OwnershipError(
            f"epoch {ours.epoch} was already {what} by claim {stored.token} (run {stored.run_id}), "
            f"claim {ours.token} (run {ours.run_id}) cannot do it again",
            reason="two drivers worked on this pipeline at the same time",
            hint="end this driver; the next run goes on after the last committed epoch",
            code="OWNER_FENCED",
        )
