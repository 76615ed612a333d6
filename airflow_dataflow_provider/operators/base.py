"""The base of the operators that run a driver."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk import conf as airflow_conf
from airflow.sdk.exceptions import AirflowException

from airflow_dataflow_provider.hooks.reference import PipelineReference
from airflow_dataflow_provider.model.batch import BatchPolicies, ProcessingTimeAtEndOfInput, ShuffleMode
from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.operators.failures import driver_failure
from airflow_dataflow_provider.operators.line_levels import LineLevels
from airflow_dataflow_provider.operators.run_id import RunId
from airflow_dataflow_provider.operators.templating import is_literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_dataflow_provider.hooks.dataflow import DataflowHook
    from airflow_dataflow_provider.hooks.driver import DriverRun
    from airflow_dataflow_provider.progress.status.status import Status


class DataflowOperator(BaseOperator):
    """Runs, or ensures, a driver for one pipeline on one state.

    The driver is detached from the task: it has its own session, prints to a file, and is found by its run id. So it
    survives the death of a worker, and a retry waits for the same driver instead of starting another one. (A retry
    needs ``retries`` of at least 1.)

    Args:
        pipeline: the pipeline, ``"module:attribute"`` or ``"path/file.py:attribute"``; a relative path is searched for
            beside the DAG file. Templated.
        state: the URL of its state; by default its name under the connection's state root. Templated.
        dataflow_conn_id: the connection of type ``dataflow``.
        spark_conn_id: the Spark connection, if not the one that the ``dataflow`` connection names.
        conf: Spark properties, on top of the connection's. Templated.
        processing_time_at_end_of_input: the policy for triggers that still wait for a processing time when the input
            ends: ``"fire"`` (the default), ``"ignore"`` or ``"fail"``. For a batch, or the drain of a stream.
        allow_processing_time: False refuses a plan whose triggers or event times depend on processing time.
        shuffle_mode: ``"automatic"`` or ``"all-exchanges-blocking"``
            (:class:`~airflow_dataflow_provider.model.batch.ShuffleMode`).
        py_files: files to ship to the executors, comma separated; a pipeline given as a file is always shipped.
            Templated.
        poll_interval: seconds between two looks at the driver.
        **kwargs: as ``BaseOperator``.
    """

    template_fields: Sequence[str] = ("pipeline", "state", "conf", "py_files")
    ui_color: str = "#d9ead3"

    def __init__(
        self,
        *,
        pipeline: str,
        state: str | None = None,
        dataflow_conn_id: str = "dataflow_default",
        spark_conn_id: str | None = None,
        conf: Mapping[str, Any] | None = None,
        py_files: str | None = None,
        processing_time_at_end_of_input: ProcessingTimeAtEndOfInput | str | None = None,
        allow_processing_time: bool = True,
        shuffle_mode: ShuffleMode | str = ShuffleMode.AUTOMATIC,
        poll_interval: float = 1.0,
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(**kwargs)
        if is_literal(pipeline):
            PipelineReference.parse(pipeline)
        self.pipeline = pipeline
        self.state = state
        self.dataflow_conn_id = dataflow_conn_id
        self.spark_conn_id = spark_conn_id
        self.conf = conf
        self.py_files = py_files
        self.processing_time_at_end_of_input = processing_time_at_end_of_input
        self.allow_processing_time = allow_processing_time
        self.shuffle_mode = shuffle_mode
        self._policies = self._checked_policies()
        self.poll_interval = poll_interval
        self._run: DriverRun | None = None
        self._killed = False

    @cached_property
    def hook(self) -> DataflowHook:
        """The hook; only for a running task, since it imports the Spark provider."""
        from airflow_dataflow_provider.hooks.dataflow import DataflowHook

        return DataflowHook(self.dataflow_conn_id, spark_conn_id=self.spark_conn_id)

    @cached_property
    def state_url(self) -> str:
        """The URL of the pipeline's state; only for a running task."""
        return self.state or self.hook.state_url(self.pipeline)

    def _checked_policies(self, input_share: float | None = None) -> BatchPolicies:
        """The policies of the runs, checked when the DAG is parsed."""
        return BatchPolicies(
            self.processing_time_at_end_of_input,  # type: ignore[arg-type]  # it also parses text
            allow_processing_time=self.allow_processing_time,
            shuffle_mode=self.shuffle_mode,  # type: ignore[arg-type]
            input_share=input_share,
        )

    def _launch(self, context: Context, run_id: RunId, mode: str, arguments: Sequence[str] = ()) -> bool:
        """Announce and start the run's driver, unless it is alive; whether this call did. Withdraw it later."""
        run = self._run = self.hook.run(str(run_id))
        submission = self.hook.submission(
            self.pipeline,
            [
                "--mode",
                mode,
                "--state",
                self.state_url,
                "--run-id",
                str(run_id),
                *self._policies.arguments(),
                *arguments,
            ],
            name=f"{self.pipeline} {mode}",
            properties=self.conf,
            run=run,
            folders=module_folders(context),
            py_files=self.py_files,
        )
        started = self.hook.launch(run, submission, partial(self._announce, run_id, mode))
        if started:
            self.log.info("driver started; run %s, log %s", run_id, run.log)
        return started

    def _announce(self, run_id: RunId, mode: str) -> None:
        """Record that a driver is about to start. An error here prevents the start."""
        self.hook.announce(self.state_url, str(run_id), mode)

    def _follow(self, run: DriverRun) -> None:
        """Copy the driver's output to the task's log until the driver ends, with the levels of its lines."""
        levels = LineLevels()
        for lines in run.output(poll=self.poll_interval):
            for line in lines:
                self.log.log(levels.of(line), "%s", line)
            self._raise_if_killed()

    def _raise_if_killed(self) -> None:
        # Airflow's handler of SIGTERM calls on_kill and returns, so execute() must end itself.
        if self._killed:
            raise AirflowException("the task was killed; its driver was told to stop")

    def _failure(self, run: DriverRun, run_id: RunId) -> AirflowException:
        """The exception for a failed driver. In cluster deploy mode its error is in the state, not on this machine."""
        if run.failure is not None:
            return driver_failure(run.exit_code, run.failure)
        status = self.hook.status(self.state_url)
        in_state: DataflowError | str = ""
        if status and status.owner and owner_run(status) == str(run_id) and status.state == "failed":
            in_state = status.owner.error or status.detail
        return driver_failure(run.exit_code, in_state or run.error())

    def on_kill(self) -> None:
        """Stop the driver: by request, then by force.

        The run's guardian uses the force, since Airflow kills the task 5 seconds after this starts.
        """
        self._killed = True
        if self._run is None:
            return
        self._run.end()
        status = self.hook.status(self.state_url)
        if status and status.owner and status.live and owner_run(status) == self._run.folder.name:
            self.hook.request_stop(self.state_url)
            # A finite run does not look for requests during an epoch.
            status.owner.process.interrupt()


def owner_run(status: Status) -> str | None:
    """The run id of the state's owner, or of its last one."""
    return status.owner.run_id if status.owner else None


def describe_owner(status: Status) -> str:
    """The state's owner, or its last one, for messages."""
    return f"the {status.owner.describe()}" if status.owner else "nobody"


def module_folders(context: Context) -> list[Path]:
    """The folders of the user's modules: beside the DAG file, the root of its bundle, the DAGs folder."""
    bundle = getattr(context["ti"], "bundle_instance", None)
    found = [Path(context["dag"].fileloc).parent, *([Path(bundle.path)] if bundle else [])]
    return [*found, Path(airflow_conf.get("core", "dags_folder"))]
