"""The ``spark-submit`` of one driver: what to start, with which arguments, in which environment.

The Spark provider's :class:`SparkSubmitHook` resolves the Spark connection (local, standalone, YARN, Kubernetes,
Kerberos, ...) and writes the arguments. It does not run the command: in client mode it waits for the driver, and when
it is killed it leaves the driver's Python process behind.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import airflow_dataflow_provider
from airflow_dataflow_provider import user_modules
from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airflow.sdk import Connection

    from airflow_dataflow_provider.hooks.reference import PipelineReference

log = logging.getLogger(__name__)

APPLICATION = str(Path(airflow_dataflow_provider.__file__).parent / "__main__.py")
"""The command line of this package, as the primary resource of ``spark-submit``."""

_AIRFLOWS_OWN = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_", "__AIRFLOW_")


@dataclass(frozen=True, slots=True)
class Submission:
    """A command, its whole environment, and the Spark properties that it reads from a file.

    The properties are in a file because they may be secrets, and every user of the machine can see a command line.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    properties: Mapping[str, str]
    properties_file: Path

    @classmethod
    def build(
        cls,
        connection: Connection,
        pipeline: PipelineReference,
        arguments: Sequence[str],
        *,
        name: str,
        conf: Mapping[str, str],
        python: str | None,
        folders: Iterable[Path],
        py_files: str | None,
        properties_file: Path,
    ) -> Submission:
        """Write the submission of ``run PIPELINE ARGUMENTS...``.

        Args:
            connection: the Spark connection.
            pipeline: the pipeline; a file is searched for in ``folders``, and shipped in cluster deploy mode.
            arguments: the words after the pipeline on the command line.
            name: the name of the Spark application.
            conf: Spark properties, and settings of the engine.
            python: the interpreter of the driver and, on the same machine, of the workers. By default this one; in
                cluster deploy mode the cluster's own.
            folders: the folders of the user's modules.
            py_files: further files to ship, comma separated.
            properties_file: the file that :meth:`write_properties` writes.

        Raises:
            SubmissionError: ``SUBMIT_SPARK_CONNECTION``, ``SUBMIT_NO_SPARK_SUBMIT``, ``SUBMIT_PIPELINE_FILE``,
                ``SUBMIT_CONF``.
        """
        in_cluster = connection.extra_dejson.get("deploy-mode") == "cluster"
        folders = tuple(folders)
        pipeline = pipeline.found_in(folders)
        environment = driver_environment(pipeline, folders, python, in_cluster=in_cluster)
        if in_cluster:
            # The worker's interpreter and paths do not exist on the cluster's machines.
            if pipeline.file:
                py_files = f"{py_files},{pipeline.file}" if py_files else str(pipeline.file)
            pipeline = pipeline.as_module()
            conf = {**({"spark.pyspark.python": python} if python else {}), **conf}
        environment = _with_java(environment)
        # spark-submit drops properties that do not begin with "spark.", so the engine's own settings are arguments.
        ours = [word for key, value in conf.items() if _is_ours(key) for word in ("--conf", f"{key}={value}")]
        properties = {key: value for key, value in conf.items() if not _is_ours(key)}
        command = spark_submit_command(
            str(connection.conn_id),
            ["run", str(pipeline), *arguments, *ours],
            properties_file=properties_file if properties else None,
            name=name,
            py_files=py_files,
        )
        binary = _find_binary(command[0], python, environment.get("PATH", ""))
        return cls((binary, *command[1:]), environment, properties, properties_file)

    def write_properties(self) -> None:
        """Write the file of Spark properties, readable by this user only."""
        self.properties_file.unlink(missing_ok=True)
        if self.properties:
            lines = (f"{_escaped(key, key=True)}={_escaped(value)}\n" for key, value in self.properties.items())
            descriptor = os.open(self.properties_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.writelines(lines)


def _is_ours(key: str) -> bool:
    """Whether a setting is one of the engine, not of Spark."""
    if key.startswith("spark."):
        return False
    if key.startswith("dataflow."):
        return True
    raise SubmissionError(
        f"the property {key!r} belongs neither to Spark nor to the engine",
        reason="spark-submit drops what does not begin with 'spark.', so it would have no effect",
        hint=f"write 'spark.{key}', or 'spark.hadoop.{key}' for a setting of Hadoop's file systems",
        code="SUBMIT_CONF",
    )


def _escaped(text: str, *, key: bool = False) -> str:
    """A key or a value as Java reads it from a properties file."""
    for letter, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\f", "\\f")):
        text = text.replace(letter, escape)
    for letter in " :=#!" if key else "":
        text = text.replace(letter, f"\\{letter}")
    if text.startswith(" "):
        text = f"\\{text}"
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 0x7F else f"\\u{code:04x}" for code in codes)


def spark_submit_command(
    spark_conn_id: str, arguments: list[str], *, properties_file: Path | None, name: str, py_files: str | None
) -> list[str]:
    """The argument vector that the Spark provider writes for this connection.

    Only this function uses the provider's private interface; a contract test checks it.

    Raises:
        SubmissionError: ``SUBMIT_SPARK_CONNECTION`` if the provider refuses the connection.
    """
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    file = None if properties_file is None else str(properties_file)
    try:
        hook = SparkSubmitHook(
            conn_id=spark_conn_id, application_args=arguments, properties_file=file, name=name, py_files=py_files
        )
        command: list[str] = hook._build_spark_submit_command(APPLICATION)  # noqa: SLF001 - has no public form
    except NameError as error:
        # Release 6.3.4 raises it for this reason.
        raise SubmissionError(
            f"the Spark connection {spark_conn_id!r} is for Kubernetes, and Airflow's Kubernetes provider is missing",
            hint="pip install apache-airflow-providers-cncf-kubernetes",
            code="SUBMIT_SPARK_CONNECTION",
        ) from error
    except (ValueError, RuntimeError) as error:
        raise SubmissionError(
            f"the Spark connection {spark_conn_id!r} cannot be used: {error}",
            hint="correct the connection's fields",
            code="SUBMIT_SPARK_CONNECTION",
        ) from error
    if file is not None:
        # With a properties file Spark reads spark-defaults.conf only with this option.
        at = command.index("--properties-file")
        command[at:at] = ["--load-spark-defaults"]
    return command


def driver_environment(
    pipeline: PipelineReference, folders: Iterable[Path], python: str | None, *, in_cluster: bool = False
) -> dict[str, str]:
    """The environment of a driver: that of this process, without Airflow's own settings and secrets.

    It adds the folders of the user's modules and, unless the driver runs on the cluster, its Python: the given one,
    else that of ``PYSPARK_PYTHON``, else this one.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_AIRFLOWS_OWN)}
    modules = (*([pipeline.file.parent] if pipeline.file else []), *folders)
    environment[user_modules.VARIABLE] = os.pathsep.join(dict.fromkeys(map(str, modules)))
    if not in_cluster:
        workers = python or environment.get("PYSPARK_PYTHON") or sys.executable
        environment["PYSPARK_PYTHON"] = workers
        environment["PYSPARK_DRIVER_PYTHON"] = python or environment.get("PYSPARK_DRIVER_PYTHON") or workers
    return environment


def _with_java(environment: dict[str, str]) -> dict[str, str]:
    from airflow_dataflow_provider.spark.running.java import ensure_java

    try:
        return ensure_java(environment)
    except SubmissionError as error:
        # An installation of Spark may set its own Java in spark-env.sh. If it does not, spark-submit fails and says so.
        log.warning("%s", error)
        return environment


def _find_binary(name: str, python: str | None, path: str) -> str:
    """The ``spark-submit`` to start.

    It is searched for on PATH, then beside the driver's interpreter, then in its ``pyspark``. Where the connection
    names an interpreter, the folder of that comes first: PATH leads to Airflow's Spark, which may be another version.
    """
    interpreter = Path(python or sys.executable)
    bin_folder = Path(shutil.which(interpreter, path=path) or interpreter).parent
    on_path, beside = shutil.which(name, path=path), shutil.which(name, path=str(bin_folder))
    in_package = [
        str(found) for found in sorted(bin_folder.parent.glob(f"lib/python*/site-packages/pyspark/bin/{name}"))
    ]
    first, second = (beside, on_path) if python else (on_path, beside)
    for candidate in (first, second, *in_package):
        if candidate:
            return candidate
    raise SubmissionError(
        f"{name} was not found",
        reason=f"it is not on PATH, in {bin_folder}, or in the pyspark package beside it",
        hint="install pyspark (pip install 'airflow-dataflow-provider[spark]'), or put Spark's bin folder on PATH",
        code="SUBMIT_NO_SPARK_SUBMIT",
    )
