"""Where the epochs come from: a batch's one, a micro-batch's backlog, a stream's without end.

The loop, the kernel and the state are the same for all three; only this module knows the difference.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, assert_never

from airflow_dataflow_provider.model.errors import DataError, InterruptedRunError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.progress.requests import requests
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.run import Run
from airflow_dataflow_provider.spark.sources.listing import SourceListing

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.interval import Interval
    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.progress.requests.requests import Request

TICK_SECONDS = 0.5
"""How often a stream asks its source for more, and looks at its clock and its requests."""
_LISTING_SHARE = 0.1
"""How much of a stream's time may go into listing its source, where that takes long."""
_NAMED = 10
"""Files that a warning names."""

_log = logging.getLogger(__name__)


class Stopping(Protocol):
    """Set from outside to end a run; a :class:`threading.Event`, or a simulated one."""

    def is_set(self) -> bool:
        """Whether the run is to end."""

    def wait(self, timeout: float) -> bool:
        """Sleep until the run is to end, or for so many seconds; whether it is."""


class Runner:
    """One driver's run, from the first epoch to the last, all on the caller's thread.

    Args:
        run: what stays the same.
        heart_check: raises when another driver has taken over.
        stopping: ends the run after the epoch at hand. Between two looks at the source the run sleeps in its ``wait``
            and nowhere else.
        tick_seconds: how often a stream asks its source for more, and looks at its clock and its requests.
        monotonic: a clock that never goes back, in seconds.
    """

    def __init__(
        self,
        run: Run,
        heart_check: Callable[[], None],
        stopping: Stopping,
        tick_seconds: float = TICK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._heart_check, self._stopping, self._tick_seconds = run, heart_check, stopping, tick_seconds
        source = run.pipeline.source
        if not isinstance(source, Files):  # the plan was checked before
            raise TypeError(source)
        self._source, self._monotonic = source, monotonic
        self._listing = SourceListing(source, monotonic)
        self._epochs = Epochs(run)
        self._epochs.sweep()
        self._list_again_at = 0.0
        self.ticks = 0
        """How often a stream has looked at its clock and its requests."""

    def run(self, mode: RuntimeMode, interval: Interval | None) -> None:
        """Run in a mode.

        Raises:
            DataflowError: whatever ended the run before its time.
        """
        self._epochs.resume(self._listing.everything)
        self._run_in(mode, interval)

    def _run_in(self, mode: RuntimeMode, interval: Interval | None) -> None:
        match mode:
            case RuntimeMode.BATCH if interval is not None:
                self._epochs.interval(self._listing.everything(), interval)
            case RuntimeMode.BATCH:
                self._backlog(limit=None)
                self._refuse_to_end_without_input()
                self._epochs.end_of_input()
                self._acknowledge(self._asked_to_end())
            case RuntimeMode.MICRO_BATCH:
                self._backlog(limit=self._source.max_files_per_epoch)
                asked = self._asked_to_end()
                if any(request.kind == "drain" for request in asked):
                    self._epochs.end_of_input()
                else:
                    self._epochs.clock(idle=True)
                self._acknowledge(asked)
            case RuntimeMode.STREAMING:
                self._stream()
            case RuntimeMode.AUTOMATIC:
                self._run_in(mode.resolve(self._source.boundedness, has_interval=interval is not None), interval)
            case _:
                assert_never(mode)

    def _unread(self) -> list[Split]:
        """The splits that no epoch has read, oldest first."""
        found = self._listing.unread(self._epochs.read)
        _tell_changed(self._listing.changed)
        return found

    def _backlog(self, limit: int | None) -> None:
        """Run the epochs of what is there now.

        Raises:
            InterruptedRunError: ``RUN_INTERRUPTED``: what is not read yet must not be taken for absent.
        """
        waiting = self._unread()
        while waiting:
            self._heart_check()
            stops = [request for request in self._asked_to_end() if request.kind == "stop"]
            if stops or self._stopping.is_set():
                self._acknowledge(stops)
                raise InterruptedRunError(
                    "the run was interrupted before it had read all that is there",
                    reason="it was asked to stop" if stops else "its process was told to end",
                    hint="run it again: it goes on after the last committed epoch",
                    code="RUN_INTERRUPTED",
                )
            now, waiting = waiting[:limit], waiting[len(waiting) if limit is None else limit :]
            self._epochs.data(now, waiting=len(waiting))

    def _refuse_to_end_without_input(self) -> None:
        """A batch that has not read all of its input tells no end of it, unless it was asked not to wait.

        Raises:
            DataError: ``DATA_FILE_AWAY``.
        """
        if self._epochs.left_out is not None:
            self._epochs.clock(idle=False)  # people may have given up on it
        left_out = self._epochs.left_out
        if left_out is None or not self._run.policies.waits_for_everything:
            return
        names = ", ".join(split.path for split in left_out.files[:_NAMED])
        raise DataError(
            f"{left_out.describe()} was planned and is away: {names}",
            reason="the end of input would be told of an input that was not read to its end",
            hint="run the batch again once the files are back, or give up on them: dataflow forget --state URL PATH",
            code="DATA_FILE_AWAY",
        )

    def _stream(self) -> None:
        """Epochs until somebody asks for the end; between them the clock ticks."""
        waiting: list[Split] = []
        while not (asked := self._asked_to_end()) and not self._stopping.is_set():
            self._heart_check()
            listed = waiting or self._listed_in_time()
            if listed:
                limit = self._source.max_files_per_epoch or len(listed)
                now, waiting = listed[:limit], listed[limit:]
                self._epochs.data(now, waiting=len(waiting))
                continue
            self._epochs.clock(idle=listed is not None)
            self.ticks += 1
            self._stopping.wait(self._tick_seconds)
        if any(request.kind == "drain" for request in asked):
            self._backlog(self._source.max_files_per_epoch)
            self._epochs.end_of_input()
        else:
            self._epochs.clock(idle=False)
        self._acknowledge(asked)

    def _asked_to_end(self) -> list[Request]:
        pending = requests.pending(self._run.store, token=self._run.ownership.token)
        return [request for request in pending if request.kind in {"stop", "drain"}]

    def _acknowledge(self, asked: list[Request]) -> None:
        for request in asked:
            requests.acknowledge(self._run.store, request, self._run.now(), self._run.ownership.token)

    def _listed_in_time(self) -> list[Split] | None:
        """The unread splits; None where the listing before took so long that the next one has to wait."""
        began = self._monotonic()
        if began < self._list_again_at:
            return None
        found = self._unread()
        took = self._monotonic() - began
        self._list_again_at = began + took / _LISTING_SHARE if took > self._tick_seconds * _LISTING_SHARE else 0.0
        return found


def _tell_changed(changed: list[Split]) -> None:
    """Warn of files that were read and are other files now, once each."""
    if not changed:
        return
    names = ", ".join(split.path for split in changed[:_NAMED])
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    _log.warning(
        "[SOURCE_FILE_CHANGED] %s%s changed after an epoch had read them, and are not read again: "
        "write new rows to new files, or recompute the intervals with a batch",
        names,
        more,
    )
    changed.clear()
