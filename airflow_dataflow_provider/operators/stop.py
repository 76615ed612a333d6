"""The operator that stops or drains a pipeline's driver."""

from __future__ import annotations

import datetime as dt
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.operators.base import owner_run
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.templating import check_pipeline_or_state
from airflow_dataflow_provider.operators.waiting import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_dataflow_provider.hooks.dataflow import DataflowHook
    from airflow_dataflow_provider.progress.status.status import Status


class DataflowStopOperator(BaseOperator):
    """Asks the driver of a pipeline to stop, on any machine, and waits until it has ended.

    A *stop* ends the driver after its present epoch. Open windows stay in the state, and the next run continues with
    them. A *drain* fires all open windows first.

    Where no driver runs, a stop succeeds and a drain fails, since only a driver can fire windows. The task waits for a
    driver that has started and does not own the pipeline yet. A driver whose heartbeat is too old may still be alive: a
    stop fences it, so that it commits nothing more.

    Args:
        pipeline: ``"module:attribute"``, to stop the driver of its default state; or
        state: the URL of the state. Both templated.
        drain: drain instead of stop.
        timeout: how long to wait for the driver to end; a number is seconds.
        dataflow_conn_id: the connection of type ``dataflow``.
        poll_interval: seconds between two looks.
        **kwargs: as ``BaseOperator``.

    Returns:
        The status of the pipeline afterwards, as JSON; None if it never ran.
    """

    template_fields: Sequence[str] = ("pipeline", "state")
    ui_color: str = "#f4cccc"

    def __init__(
        self,
        *,
        pipeline: str | None = None,
        state: str | None = None,
        drain: bool = False,
        timeout: float | dt.timedelta = 600.0,
        dataflow_conn_id: str = "dataflow_default",
        poll_interval: float = 1.0,
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(**kwargs)
        check_pipeline_or_state(pipeline, state)
        self.pipeline = pipeline
        self.state = state
        self.drain = drain
        self.timeout = seconds(timeout)
        self.dataflow_conn_id = dataflow_conn_id
        self.poll_interval = poll_interval

    @cached_property
    def hook(self) -> DataflowHook:
        """The hook; only for a running task."""
        from airflow_dataflow_provider.hooks.dataflow import DataflowHook

        return DataflowHook(self.dataflow_conn_id)

    def execute(self, context: Context) -> dict[str, Any] | None:  # noqa: ARG002 - Airflow's signature
        """Stop the driver, and wait for its end.

        Raises:
            AirflowFailException: no driver runs that could drain.
            AirflowException: the driver still runs after ``timeout``, or failed while it drained.
        """
        with as_task_failure():
            url = self.state or self.hook.state_url(str(self.pipeline))
            deadline = time.monotonic() + self.timeout
            starting = {*self.hook.starting(url)}
            status = self._end(url, deadline)
            # A starting driver may have claimed the state after the first one had ended.
            while starting & {*self.hook.starting(url)} or (status and status.live and owner_run(status) in starting):
                status = self._end(url, deadline)
            return status.to_json() if status else None

    def _end(self, url: str, deadline: float) -> Status | None:
        """End the driver that owns the pipeline, or is about to."""
        status = self._once_claimed(url, deadline)
        if status is not None and status.live:
            self.hook.request_stop(url, drain=self.drain)
            return self._wait(url, status, deadline)
        if self._fence(url, status):
            return self.hook.status(url)
        self._nothing_runs(url, status)
        return status

    def _once_claimed(self, url: str, deadline: float) -> Status | None:
        """The status, once no driver is between start and claim: a request could not be addressed to such a one."""
        while True:
            # Read before the status, since an announcement is withdrawn after the claim.
            starting = self.hook.starting(url)
            status = self.hook.status(url)
            if (status is not None and status.live) or not starting:
                return status
            if time.monotonic() > deadline:
                raise AirflowException(f"run {starting[0]} is still starting after {self.timeout:g} s: stop it later")
            self.log.info("run %s is starting; it will be stopped once it has started", starting[0])
            time.sleep(self.poll_interval)

    def _fence(self, url: str, status: Status | None) -> bool:
        """Fence a driver whose heartbeat is too old, so that it commits nothing more; whether there was one."""
        if self.drain or status is None or status.state != "lost":
            return False
        fenced = self.hook.fence_silent(url)
        if fenced is not None:
            self.log.warning(
                "the %s is silent; it was fenced, and ends without a commit if it wakes", fenced.describe()
            )
        return fenced is not None

    def _nothing_runs(self, url: str, status: Status | None) -> None:
        found = f"{status.pipeline!r} is {status.state}" if status else f"there is no state at {url}"
        if self.drain and status and status.state == "lost":
            raise AirflowException(f"{found}: no driver can fire the open windows until the stream is started again")
        if self.drain and not (status and status.end_of_input):
            raise AirflowFailException(
                f"{found}: no driver can fire the open windows\nWhat to do: start the pipeline, then drain it"
            )
        self.log.info("nothing to stop: %s", found)

    def _wait(self, url: str, before: Status, deadline: float) -> Status:
        token = before.owner.token if before.owner else None
        while True:
            status = self.hook.status(url) or before
            if status.owner is None or status.owner.token != token:
                self.log.warning("the driver has ended, and another one has started since: %s", status.owner)
                return status
            if not status.live:
                if self.drain and status.state in ("failed", "lost"):
                    raise AirflowException(f"the driver did not drain to the end, it {status.state}: {status.detail}")
                return (self.hook.status(url) or status) if self._fence(url, status) else status
            if time.monotonic() > deadline:
                raise AirflowException(
                    f"asked to stop, the {status.owner.describe()} still goes on after {self.timeout:g} s"
                )
            time.sleep(self.poll_interval)
