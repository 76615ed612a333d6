"""The hook: the ``dataflow`` connection, and what Airflow asks of pipelines through it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, conf
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from airflow_dataflow_provider.hooks.connection_check import try_interpreter, try_root
from airflow_dataflow_provider.hooks.driver import PROPERTIES, DriverRun, forget_old_runs
from airflow_dataflow_provider.hooks.fingerprint import fingerprint
from airflow_dataflow_provider.hooks.reference import PipelineReference
from airflow_dataflow_provider.hooks.submission import Submission, driver_environment
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.ownership import launches
from airflow_dataflow_provider.progress.ownership.owner import OwnerInfo, fence_silent
from airflow_dataflow_provider.progress.requests.requests import request_signal, request_stop
from airflow_dataflow_provider.progress.status.status import Status, find_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from airflow.sdk import Connection

log = logging.getLogger(__name__)

_SECRET = re.compile(r"secret|passw|passphrase|token|credential|private|(access|account|api)[._-]?key", re.IGNORECASE)
"""Names of properties whose values nobody else should read."""
_FIELDS = ("state_root", "spark_conn_id", "python", "conf")


@dataclass(frozen=True, slots=True)
class DataflowSettings:
    """What a ``dataflow`` connection says.

    Attributes:
        state_root: the URL under which the states of pipelines live.
        spark_conn_id: the Spark connection that drivers are submitted through.
        python: the interpreter of drivers; Airflow's own if it is not given.
        conf: Spark properties for every driver.
    """

    state_root: str | None = None
    spark_conn_id: str = "spark_default"
    python: str | None = None
    conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def from_extra(cls, extra: Mapping[str, Any], *, conn_id: str) -> DataflowSettings:
        """Read the connection's extra fields.

        Raises:
            SubmissionError: ``SUBMIT_CONNECTION`` for a field that does not exist, or a ``conf`` that is not a mapping.
        """
        unknown = sorted(extra.keys() - {*_FIELDS})
        if unknown:
            raise SubmissionError(
                f"the connection {conn_id!r} has a field {unknown[0]!r}, which means nothing",
                hint=f"use {', '.join(_FIELDS)}",
                code="SUBMIT_CONNECTION",
            )
        properties = extra.get("conf") or {}
        try:
            properties = json.loads(properties) if isinstance(properties, str) else properties
        except ValueError:
            properties = None
        if not isinstance(properties, Mapping):
            raise SubmissionError(
                f"the field 'conf' of the connection {conn_id!r} is not a mapping of Spark properties",
                hint='write JSON, for example {"spark.executor.memory": "2g"}',
                code="SUBMIT_CONNECTION",
            )
        return cls(
            state_root=extra.get("state_root") or None,
            spark_conn_id=extra.get("spark_conn_id") or "spark_default",
            python=extra.get("python") or None,
            conf=MappingProxyType(spark_properties(properties)),
        )


class DataflowHook(BaseHook):
    """Pipelines as Airflow sees them: where their state is, how they stand, how a driver is started and stopped.

    Args:
        dataflow_conn_id: the connection of type ``dataflow``. The default one need not exist.
        spark_conn_id: another Spark connection than the one it names.
    """

    conn_name_attr = "dataflow_conn_id"
    default_conn_name = "dataflow_default"
    conn_type = "dataflow"
    hook_name = "Dataflow on Spark"

    def __init__(self, dataflow_conn_id: str = default_conn_name, *, spark_conn_id: str | None = None) -> None:
        super().__init__()
        self.dataflow_conn_id = dataflow_conn_id
        self._spark_conn_id = spark_conn_id

    @cached_property
    def settings(self) -> DataflowSettings:
        """What the connection says.

        Raises:
            SubmissionError: ``SUBMIT_CONNECTION``, also for a connection that was named and does not exist.
        """
        try:
            connection = self.get_connection(self.dataflow_conn_id)
        except AirflowNotFoundException:
            if self.dataflow_conn_id == self.default_conn_name:
                log.info("no connection %r: Spark goes through spark_default", self.dataflow_conn_id)
                return DataflowSettings()
            raise SubmissionError(
                f"there is no connection {self.dataflow_conn_id!r}",
                hint="create it with type 'dataflow', or leave dataflow_conn_id out",
                code="SUBMIT_CONNECTION",
            ) from None
        return DataflowSettings.from_extra(connection.extra_dejson, conn_id=self.dataflow_conn_id)

    @cached_property
    def spark_connection(self) -> Connection:
        """The Spark connection; where there is none, the Spark provider would quietly submit to YARN.

        Raises:
            SubmissionError: ``SUBMIT_SPARK_CONNECTION``.
        """
        conn_id = self._spark_conn_id or self.settings.spark_conn_id
        try:
            return self.get_connection(conn_id)
        except AirflowNotFoundException:
            raise SubmissionError(
                f"there is no Spark connection {conn_id!r}",
                reason="a driver is submitted through one",
                hint=f"create it with type 'spark'; its host is the master, for example local[2] or spark://host:7077 "
                f'(or set AIRFLOW_CONN_{conn_id.upper()}=\'{{"conn_type": "spark", "host": "local[2]"}}\')',
                code="SUBMIT_SPARK_CONNECTION",
            ) from None

    def state_url(self, pipeline: str) -> str:
        """Where the state of a pipeline is, unless the user says otherwise: its name under the state root.

        Raises:
            DefinitionError: ``SUBMIT_PIPELINE``.
            SubmissionError: ``SUBMIT_NO_STATE`` if the connection names no state root.
        """
        name = PipelineReference.parse(pipeline).name
        if self.settings.state_root is None:
            raise SubmissionError(
                f"nobody says where the state of {pipeline!r} is",
                hint=f"give state=..., or set state_root on the connection {self.dataflow_conn_id!r}",
                code="SUBMIT_NO_STATE",
            )
        return f"{self.settings.state_root.rstrip('/')}/{name}"

    def status(self, state: str) -> Status | None:
        """How the pipeline of this state stands; None before its first run."""
        return find_status(state)

    def request_stop(self, state: str, *, drain: bool = False) -> None:
        """Ask the driver that owns the state now to stop: at the end of its epoch, or after firing everything."""
        request_stop(Store.open(state), wall_clock(), drain=drain)

    def fence_silent(self, state: str) -> OwnerInfo | None:
        """End the right of a driver that is silent and may yet live; the driver, None if there is no such one.

        Raises:
            OwnershipError: ``OWNER_HELD``, if it has woken meanwhile.
        """
        return fence_silent(Store.open(state), wall_clock())

    def announce(self, state: str, run_id: str, mode: str) -> None:
        """Say that a driver is about to start, so that a stop waits for it."""
        launches.announce(Store.open(state), run_id, mode, wall_clock())

    def withdraw(self, state: str, run_id: str) -> None:
        """Say that the driver has claimed, or has ended."""
        launches.withdraw(Store.open(state), run_id)

    def starting(self, state: str) -> list[str]:
        """The runs whose drivers were started and have not claimed yet, as far as anybody knows."""
        return [run_id for run_id in launches.starting_on(state) if not self.run(run_id).has_ended]

    def raise_signal(self, state: str, name: str) -> str:
        """Raise a signal for the triggers that wait for it; the next epoch hears it, in this run or a later one.

        Returns:
            The id of the request, which the plan of that epoch names.

        Raises:
            StateError: ``STATE_ABSENT`` before the first run.
            SubmissionError: ``SUBMIT_SIGNAL`` for a name that no trigger of the pipeline listens to.
        """
        return request_signal(Store.open(state), name, wall_clock()).id

    def run(self, run_id: str) -> DriverRun:
        """The run of this id on this machine, whether there is one or not."""
        folder = conf.get("dataflow", "run_folder", fallback=None)
        base = Path(folder) if folder else Path(conf.get("logging", "base_log_folder")) / "dataflow"
        return DriverRun(base.expanduser().absolute() / run_id)

    def submission(
        self,
        pipeline: str,
        arguments: Sequence[str],
        *,
        name: str,
        properties: Mapping[str, Any] | None = None,
        run: DriverRun,
        folders: Iterable[Path] = (),
        py_files: str | None = None,
    ) -> Submission:
        """The ``spark-submit`` of a run's driver; see :meth:`Submission.build`. Secret values are masked in logs."""
        conf = {**self.settings.conf, **spark_properties(properties or {})}
        for key, value in conf.items():
            if value and _SECRET.search(key):
                mask_secret(value)
        return Submission.build(
            self.spark_connection,
            PipelineReference.parse(pipeline),
            arguments,
            name=name,
            conf=conf,
            python=self.settings.python,
            folders=folders,
            py_files=py_files,
            properties_file=run.folder / PROPERTIES,
        )

    def fingerprint(self, pipeline: str, folders: Iterable[Path]) -> str | None:
        """The fingerprint of the pipeline as it is defined now; None where only the cluster's machines can load it.

        Raises:
            SubmissionError: ``SUBMIT_PIPELINE_LOAD``.
        """
        if self.spark_connection.extra_dejson.get("deploy-mode") == "cluster":
            return None
        folders = tuple(folders)
        reference = PipelineReference.parse(pipeline).found_in(folders)
        environment = driver_environment(reference, folders, self.settings.python)
        return fingerprint(reference, environment["PYSPARK_DRIVER_PYTHON"], environment)

    def launch(self, run: DriverRun, submission: Submission, announce: Callable[[], None] = lambda: None) -> bool:
        """Start the driver of a run unless it lives; whether this call did."""

        def prepare() -> None:
            submission.write_properties()
            announce()

        forget_old_runs(run.folder.parent, older_than=conf.getfloat("dataflow", "keep_runs", fallback=30.0) * 86_400)
        return run.launch(submission.command, submission.environment, grace=stop_grace(), prepare=prepare)

    def test_connection(self) -> tuple[bool, str]:
        """What the connection form's *Test* button shows."""
        try:
            spark, root = self.spark_connection, self.settings.state_root
            if root is not None:
                try_root(root)
            if self.settings.python and spark.extra_dejson.get("deploy-mode") != "cluster":
                try_interpreter(self.settings.python)
        except Exception as error:  # noqa: BLE001 - whatever the file system raises is what the user wants to read
            return False, str(error)
        return True, f"states under {root or '(each task says where)'}, drivers through {spark.conn_id!r}"


def spark_properties(conf: Mapping[str, Any]) -> dict[str, str]:
    """Properties as Spark reads them: JSON's ``true`` is not Python's ``True``."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def stop_grace() -> float:
    """Seconds that a driver has to finish its epoch when its task is killed."""
    return conf.getfloat("dataflow", "stop_grace", fallback=15.0)
