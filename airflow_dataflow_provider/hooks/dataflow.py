"""The hook: reads the ``dataflow`` connection; asks for the status of pipelines, starts and stops their drivers."""

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
"""Names of properties whose values are masked in logs."""
_FIELDS = ("state_root", "spark_conn_id", "python", "conf")


@dataclass(frozen=True, slots=True)
class DataflowSettings:
    """The fields of a ``dataflow`` connection.

    Attributes:
        state_root: the URL under which the states of pipelines are stored.
        spark_conn_id: the Spark connection through which drivers are submitted.
        python: the interpreter of drivers; None: Airflow's own.
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
            SubmissionError: ``SUBMIT_CONNECTION`` for an unknown field, or a ``conf`` that is not a mapping.
        """
        unknown = sorted(extra.keys() - {*_FIELDS})
        if unknown:
            raise SubmissionError(
                f"the connection {conn_id!r} has an unknown field {unknown[0]!r}",
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
    """Finds the state of a pipeline, reads its status, and starts and stops its drivers.

    Args:
        dataflow_conn_id: the connection of type ``dataflow``. The default one need not exist.
        spark_conn_id: the Spark connection, if not the one that the ``dataflow`` connection names.
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
        """The fields of the connection.

        Raises:
            SubmissionError: ``SUBMIT_CONNECTION``, also if a connection other than the default one does not exist.
        """
        try:
            connection = self.get_connection(self.dataflow_conn_id)
        except AirflowNotFoundException:
            if self.dataflow_conn_id == self.default_conn_name:
                log.info("there is no connection %r: spark_default is used", self.dataflow_conn_id)
                return DataflowSettings()
            raise SubmissionError(
                f"there is no connection {self.dataflow_conn_id!r}",
                hint="create it with type 'dataflow', or leave dataflow_conn_id out",
                code="SUBMIT_CONNECTION",
            ) from None
        return DataflowSettings.from_extra(connection.extra_dejson, conn_id=self.dataflow_conn_id)

    @cached_property
    def spark_connection(self) -> Connection:
        """The Spark connection. It must exist: without one the Spark provider would submit to YARN.

        Raises:
            SubmissionError: ``SUBMIT_SPARK_CONNECTION``.
        """
        conn_id = self._spark_conn_id or self.settings.spark_conn_id
        try:
            return self.get_connection(conn_id)
        except AirflowNotFoundException:
            raise SubmissionError(
                f"there is no Spark connection {conn_id!r}",
                reason="drivers are submitted through it",
                hint=f"create it with type 'spark'; its host is the master, for example local[2] or spark://host:7077 "
                f'(or set AIRFLOW_CONN_{conn_id.upper()}=\'{{"conn_type": "spark", "host": "local[2]"}}\')',
                code="SUBMIT_SPARK_CONNECTION",
            ) from None

    def state_url(self, pipeline: str) -> str:
        """The default state URL of a pipeline: its name under the state root.

        Raises:
            DefinitionError: ``SUBMIT_PIPELINE``.
            SubmissionError: ``SUBMIT_NO_STATE`` if the connection names no state root.
        """
        name = PipelineReference.parse(pipeline).name
        if self.settings.state_root is None:
            raise SubmissionError(
                f"no state URL is set for {pipeline!r}",
                hint=f"give state=..., or set state_root on the connection {self.dataflow_conn_id!r}",
                code="SUBMIT_NO_STATE",
            )
        return f"{self.settings.state_root.rstrip('/')}/{name}"

    def status(self, state: str) -> Status | None:
        """The status of the pipeline of this state; None before its first run."""
        return find_status(state)

    def request_stop(self, state: str, *, drain: bool = False) -> None:
        """Ask the state's present owner to stop after its epoch; with ``drain``, to fire every open window first."""
        request_stop(Store.open(state), wall_clock(), drain=drain)

    def fence_silent(self, state: str) -> OwnerInfo | None:
        """Fence the owner if its heartbeat is too old, so that it commits nothing more; None if no owner is silent.

        Raises:
            OwnershipError: ``OWNER_HELD``, if it has sent a heartbeat meanwhile.
        """
        return fence_silent(Store.open(state), wall_clock())

    def announce(self, state: str, run_id: str, mode: str) -> None:
        """Record that a driver is about to start, so that a stop waits for it."""
        launches.announce(Store.open(state), run_id, mode, wall_clock())

    def withdraw(self, state: str, run_id: str) -> None:
        """Remove the record of :meth:`announce`, once the driver has claimed the state or has ended."""
        launches.withdraw(Store.open(state), run_id)

    def starting(self, state: str) -> list[str]:
        """The runs that were announced and are not known to have claimed or ended."""
        return [run_id for run_id in launches.starting_on(state) if not self.run(run_id).has_ended]

    def raise_signal(self, state: str, name: str) -> str:
        """Raise a signal for the triggers that wait for it. The next epoch takes it, in this run or a later one.

        Returns:
            The id of the request. The plan of that epoch names it.

        Raises:
            StateError: ``STATE_ABSENT`` before the first run.
            SubmissionError: ``SUBMIT_SIGNAL`` for a name that no trigger of the pipeline waits for.
        """
        return request_signal(Store.open(state), name, wall_clock()).id

    def run(self, run_id: str) -> DriverRun:
        """The run of this id on this machine; it may not have started."""
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
        """The ``spark-submit`` of a run's driver (:meth:`Submission.build`). Secret values are masked in logs."""
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
        """The fingerprint of the pipeline's present definition; None in cluster mode, where it cannot be loaded here.

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
        """Start the driver of a run unless it is alive.

        Returns:
            Whether this call started it.
        """

        def prepare() -> None:
            submission.write_properties()
            announce()

        forget_old_runs(run.folder.parent, older_than=conf.getfloat("dataflow", "keep_runs", fallback=30.0) * 86_400)
        return run.launch(submission.command, submission.environment, grace=stop_grace(), prepare=prepare)

    def test_connection(self) -> tuple[bool, str]:
        """The result of the connection form's *Test* button."""
        try:
            spark, root = self.spark_connection, self.settings.state_root
            if root is not None:
                try_root(root)
            if self.settings.python and spark.extra_dejson.get("deploy-mode") != "cluster":
                try_interpreter(self.settings.python)
        except Exception as error:  # noqa: BLE001 - the form shows any error of the file system
            return False, str(error)
        return True, f"states under {root or '(set by each task)'}, drivers through {spark.conn_id!r}"


def spark_properties(conf: Mapping[str, Any]) -> dict[str, str]:
    """Properties as Spark reads them: booleans in lower case."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def stop_grace() -> float:
    """Seconds in which a driver must finish its epoch when its task is killed."""
    return conf.getfloat("dataflow", "stop_grace", fallback=15.0)
