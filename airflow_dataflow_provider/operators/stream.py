"""The operator that ensures that a stream runs."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.operators.base import DataflowOperator, describe_owner, module_folders, owner_run
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.operators.waiting import seconds

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_dataflow_provider.hooks.driver import DriverRun
    from airflow_dataflow_provider.progress.status.status import Status


class DataflowStreamOperator(DataflowOperator):
    """Ensures that the stream runs: succeeds at once if it does, else starts it and waits until it runs.

    Guarantees:
        * It is safe to repeat: a retry, a clear or the next DAG run starts no second driver.
        * Once the stream runs, neither the end nor the kill of a task stops it.
          :class:`~airflow_dataflow_provider.operators.stop.DataflowStopOperator` does.

    Does not do: watch the stream afterwards. Schedule the task often enough to restart a stream that has failed.

    Args:
        start_timeout: the longest time until the stream runs; a number is seconds. A driver that takes longer is ended.
            The task waits as long for a run of another mode that owns the state.
        **kwargs: as :class:`~airflow_dataflow_provider.operators.base.DataflowOperator`.

    Returns:
        The status of the pipeline, as JSON.
    """

    def __init__(self, *, start_timeout: float | dt.timedelta = 300.0, **kwargs: Any) -> None:  # noqa: ANN401 - Airflow's own
        super().__init__(**kwargs)
        self.start_timeout = seconds(start_timeout)

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Ensure that the stream runs.

        Raises:
            AirflowFailException: a retry cannot help, for example because a stream of another definition runs.
            AirflowException: the driver did not start, or a run of another mode owns the state.
        """
        with as_task_failure():
            status = self._ensure(context, RunId.of(context))
            # on_kill must not stop the stream from here on.
            self._run = None
            return status.to_json() if status else None

    def _ensure(self, context: Context, run_id: RunId) -> Status | None:
        run, started = self.hook.run(str(run_id)), False
        deadline = time.monotonic() + self.start_timeout
        while True:
            # Read before the status: a driver records its end before its process ends.
            is_ending, ended = run.is_ending, not run.alive
            status = self.hook.status(self.state_url)
            if is_ending and (status is None or not status.live or owner_run(status) == str(run_id)):
                self.log.info("waiting for the end of the driver of an earlier attempt; log %s", run.log)
            elif status and status.live:
                if self._runs(status, context, run_id):
                    return status
            elif not started:
                # A stopped driver records its end a little before its process ends. The run can start after that.
                started = ended and self._launch(context, run_id, "streaming")
            elif ended:
                self.hook.withdraw(self.state_url, str(run_id))
                if run.exit_code != 0:
                    raise self._failure(run, run_id)
                self.log.warning("the stream has started and already ended without an error")
                return status
            if time.monotonic() > deadline:
                raise self._too_slow(run if started else None, status)
            time.sleep(self.poll_interval)
            self._raise_if_killed()

    def _runs(self, status: Status, context: Context, run_id: RunId) -> bool:
        """Whether the owner of the state is this stream, and runs."""
        if status.mode != "streaming":
            self.log.info("waiting for the state, which is owned by %s", describe_owner(status))
            return False
        if owner_run(status) != str(run_id):
            self._require_this_stream(status, context)
        if status.state != "running":
            return False
        self.hook.withdraw(self.state_url, str(run_id))
        self.log.info("the stream runs, epoch %s, run %s", status.epoch, owner_run(status))
        return True

    def _require_this_stream(self, status: Status, context: Context) -> None:
        wanted = self.hook.fingerprint(self.pipeline, module_folders(context))
        if wanted is None:
            self.log.info("the driver runs on the cluster: its definition is not compared with the pipeline's")
        elif wanted != status.fingerprint:
            raise StateError(
                f"the stream that runs on {self.state_url} has another definition than {self.pipeline!r} has now",
                reason=f"its fingerprint is {status.fingerprint}, the present one {wanted}; a stream keeps the "
                "definition with which it was started",
                hint="stop it, and start the new definition on a new state URL",
                code="STATE_DEFINITION_CHANGED",
            )

    def _too_slow(self, run: DriverRun | None, status: Status | None) -> AirflowException:
        if status and status.live and status.mode != "streaming":
            return AirflowException(
                f"{self.state_url} is still owned by {describe_owner(status)} after {self.start_timeout:g} s"
            )
        if run is None:
            return AirflowException(f"the stream on {self.state_url} is still starting after {self.start_timeout:g} s")
        run.end()
        self.hook.withdraw(self.state_url, run.folder.name)
        return AirflowException(f"the stream did not run within {self.start_timeout:g} s; it was ended:\n{run.error()}")
