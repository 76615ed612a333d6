"""Runs that end: the base of the batch and micro-batch operators."""

from __future__ import annotations

import datetime as dt
import logging
import random
import time
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.exceptions import AirflowException

from airflow_dataflow_provider.operators.base import DataflowOperator, owner_run
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.operators.waiting import deferrable_by_default, seconds

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_dataflow_provider.hooks.driver import DriverRun
    from airflow_dataflow_provider.progress.status.answer import Answer
    from airflow_dataflow_provider.progress.status.status import Status


class FiniteRunOperator(DataflowOperator):
    """Runs a driver and waits for its end.

    Guarantees:
        * A retry finds the driver that the attempt before it started, or its result, from any worker.
        * A cleared task computes anew. It takes over from a driver of the task before the clear.
        * A killed task leaves no driver behind.
        * A run waits while another run owns the state, before it starts its driver.

    Args:
        wait_for_state: how long to wait while another run owns the state; a number is seconds, 0 fails at once. Runs of
            parallel backfills so follow one another. It does not wait for a stream, which does not end by itself.
        deferrable: wait for the state in the triggerer; by default the option ``[operators] default_deferrable``.
        **kwargs: as :class:`~airflow_dataflow_provider.operators.base.DataflowOperator`.

    Returns:
        The status of the pipeline after the run, as JSON.
    """

    mode: ClassVar[str]

    def __init__(
        self,
        *,
        wait_for_state: float | dt.timedelta = dt.timedelta(hours=12),
        deferrable: bool | None = None,
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(**kwargs)
        self.wait_for_state = seconds(wait_for_state)
        self.deferrable = deferrable_by_default() if deferrable is None else deferrable

    def _arguments(self, context: Context) -> list[str]:
        """The command line arguments of the run, besides its mode and state."""
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Run the driver to its end.

        Raises:
            AirflowFailException: a retry cannot help: a bad definition or interval, a state that does not fit.
            AirflowException: any other failure, for example that another driver owns the state for too long.
        """
        return self._execute(context, wait_until=time.time() + self.wait_for_state)

    def execute_in_turn(self, context: Context, event: dict[str, Any], wait_until: float) -> dict[str, Any] | None:
        """Continue after a wait in the triggerer. The state is checked again."""
        self.log.info("%s", event["reason"])
        return self._execute(context, wait_until)

    def _execute(self, context: Context, wait_until: float) -> dict[str, Any] | None:
        from airflow_dataflow_provider.progress.status.outcome import Outcome

        with as_task_failure():
            run_id, arguments = RunId.of(context), self._arguments(context)
            before = self.hook.status(self.state_url)
            while (refused := self._run_to_end(context, run_id, arguments)) is not None:
                self._wait_for_turn(refused, run_id, wait_until)
            status = self.hook.status(self.state_url)
            if self._stopped_early(status, run_id):
                raise AirflowException(f"run {run_id} was asked to stop before it had read its input")
            if status is None:
                return None
            outcome = Outcome.between(before, status)
            for finding in outcome.findings:
                level = logging.WARNING if finding.is_problem else logging.INFO
                self.log.log(level, "%s; %s", finding.what, finding.hint)
            self.log.info("%s %s", status.pipeline, outcome)
            return status.to_json()

    def _run_to_end(self, context: Context, run_id: RunId, arguments: list[str]) -> Answer | None:
        """Run the driver to its end; or return the answer that names another owner of the state."""
        run = self._run = self.hook.run(str(run_id))
        self._await_ending(run)
        if run.alive:
            self.log.info("found the driver of an earlier attempt, run %s", run_id)
        elif self._is_done(run, run_id):
            self.log.info("the driver of an earlier attempt has ended well, run %s", run_id)
            return None
        else:
            take_over = self._take_over(run_id)
            turn = self._turn(run_id)
            if not turn.reached and not take_over:
                return turn
            try:
                self._launch(context, run_id, self.mode, [*arguments, *take_over])
            except _AnotherStartsError as another:
                return another.answer
        try:
            self._follow(run)
        finally:
            self.hook.withdraw(self.state_url, str(run_id))
        if run.exit_code == 0:
            return None
        failure = self._failure(run, run_id)
        if "[OWNER_HELD]" in str(failure):
            return self._turn(run_id)  # another run claimed the state first, without an announcement
        raise failure

    def _announce(self, run_id: RunId, mode: str) -> None:
        super()._announce(run_id, mode)
        # Two runs that announce themselves at the same moment see each other. Both wait, for different times.
        turn = self._turn(run_id)
        if not turn.reached and not self._take_over(run_id):
            self.hook.withdraw(self.state_url, str(run_id))
            raise _AnotherStartsError(turn)

    def _turn(self, run_id: RunId) -> Answer:
        from airflow_dataflow_provider.progress.status.turn import ask_turn

        # Read before the status, since an announcement is withdrawn after the claim.
        starting = self.hook.starting(self.state_url)
        others = [run for run in starting if not run_id.is_of_same_task(run)]
        return ask_turn(self.hook.status(self.state_url), others, run_id=str(run_id))

    def _wait_for_turn(self, refused: Answer, run_id: RunId, wait_until: float) -> None:
        if refused.never or time.time() >= wait_until:
            raise AirflowException(refused.reason)
        if refused.reached:
            return
        self.log.info("waiting for the state: %s", refused.reason)
        # Reading a state costs more than looking at a driver of this machine.
        every = 10 * self.poll_interval
        if not self.deferrable:
            time.sleep(every * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            self._raise_if_killed()
            return
        from airflow_dataflow_provider.triggers.turn import TurnTrigger

        self.defer(
            trigger=TurnTrigger(state=self.state_url, run_id=str(run_id), until=wait_until, poll_interval=every),
            method_name="execute_in_turn",
            kwargs={"wait_until": wait_until},
        )

    def _await_ending(self, run: DriverRun) -> None:
        """Wait for the end of a driver that was told to end when an earlier attempt was killed."""
        if run.is_ending:
            self.log.info("waiting for the end of the driver of an earlier attempt; log %s", run.log)
        while run.is_ending:
            time.sleep(self.poll_interval)
            self._raise_if_killed()

    def _is_done(self, run: DriverRun, run_id: RunId) -> bool:
        """Whether a driver of an earlier attempt of this run has done the work; waits while it runs."""
        while (status := self.hook.status(self.state_url)) and status.live and owner_run(status) == str(run_id):
            # It runs on another machine, or here without its guardian: only the state shows it.
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
        starting = self.hook.starting(self.state_url)
        status = self.hook.status(self.state_url)
        owner = owner_run(status) if status and status.live else None
        for run in {owner, *starting} - {None}:
            if run_id.is_of_same_task(str(run)):
                self.log.warning("taking over from run %s, which started before this task was cleared", run)
                self.hook.run(str(run)).end()
        return ["--take-over"] if owner is not None and run_id.is_of_same_task(owner) else []

    def _stopped_early(self, status: Status | None, run_id: RunId) -> bool:
        """Whether a batch was stopped before it had done its work; a micro-batch may stop after any epoch."""
        return self.mode == "batch" and bool(status and status.state == "stopped" and owner_run(status) == str(run_id))


class _AnotherStartsError(Exception):
    """Another run was announced at the same moment."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer
