"""Runs that end: what batch and micro-batch have in common."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.exceptions import AirflowException

from airflow_dataflow_provider.operators.base import LIVE, DataflowOperator, owner_run
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.run_id import RunId

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_dataflow_provider.hooks.driver import DriverRun
    from airflow_dataflow_provider.progress.status import Status


class FiniteRunOperator(DataflowOperator):
    """Runs a driver and waits for its end.

    Guarantees:
        * A retry finds the driver that the attempt before it started, or its result, also from another worker.
        * A clear computes anew. A driver that outlived the task which was cleared is taken over.
        * A killed task leaves no driver behind.

    Returns:
        The status of the pipeline after the run, as JSON.
    """

    mode: ClassVar[str]

    def _arguments(self, context: Context) -> list[str]:
        """What the run is told besides its mode and state."""
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Run the driver to its end.

        Raises:
            AirflowFailException: what a retry cannot mend: a bad definition or interval, a state that does not fit.
            AirflowException: anything else, for example that another driver owns the state.
        """
        with as_task_failure():
            run_id = RunId.of(context)
            self._run_to_end(context, run_id, self._arguments(context))
            status = self.hook.status(self.state_url)
            if self._stopped_early(status, run_id):
                raise AirflowException(f"run {run_id} was asked to stop before it had read its input")
            return status.to_json() if status else None

    def _run_to_end(self, context: Context, run_id: RunId, arguments: list[str]) -> None:
        run = self._run = self.hook.run(str(run_id))
        self._await_condemned(run)
        if run.alive:
            self.log.info("found the driver of an earlier attempt, run %s", run_id)
        elif self._is_done(run, run_id):
            self.log.info("the driver of an earlier attempt has ended well, run %s", run_id)
            return
        else:
            self._launch(context, run_id, self.mode, [*arguments, *self._take_over(run_id)])
        try:
            self._follow(run)
        finally:
            self.hook.withdraw(self.state_url, str(run_id))
        if run.exit_code != 0:
            raise self._failure(run, run_id)

    def _await_condemned(self, run: DriverRun) -> None:
        """Let a driver end that an attempt before this one was killed with: its work will not be finished."""
        if run.condemned:
            self.log.info("the driver of an earlier attempt was told to end, and is waited for; log %s", run.log)
        while run.condemned:
            time.sleep(self.poll_interval)
            self._raise_if_killed()

    def _is_done(self, run: DriverRun, run_id: RunId) -> bool:
        """Whether a driver of this run, started by an earlier attempt, has done the work; waits while it is at it."""
        while (
            (status := self.hook.status(self.state_url)) and status.state in LIVE and owner_run(status) == str(run_id)
        ):
            # On another machine, or here without its guardian: the state is what there is to look at.
            self.log.info("run %s goes on, epoch %s", run_id, status.epoch)
            time.sleep(self.poll_interval)
            self._raise_if_killed()
        if self._stopped_early(status, run_id):
            return False
        ours = status is not None and owner_run(status) == str(run_id)
        if run.was_told_to_end:
            return ours and status is not None and status.state == "completed"
        if run.exit_code is not None:
            return run.exit_code == 0
        return ours and status is not None and status.state in ("stopped", "completed")

    def _take_over(self, run_id: RunId) -> list[str]:
        status = self.hook.status(self.state_url)
        owner = owner_run(status) if status and status.state in LIVE else None
        if owner is None or not run_id.is_of_same_task(owner):
            return []
        self.log.warning("taking over from run %s, which was started before this task was cleared", owner)
        self.hook.run(owner).end()
        return ["--take-over"]

    def _stopped_early(self, status: Status | None, run_id: RunId) -> bool:
        """Whether a batch ended well without having done its work; a micro-batch may stop after any epoch."""
        return self.mode == "batch" and bool(status and status.state == "stopped" and owner_run(status) == str(run_id))
