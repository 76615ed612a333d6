"""A real Airflow, ``airflow standalone``, with its own folder and ports."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from dags_examples.demo.airflow_api import AirflowApi
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.processes import Marked

_NOT_INHERITED = ("AIRFLOW", "_AIRFLOW", "SPARK_", "PYSPARK_")
"""Prefixes of the settings of another Airflow or Spark, which the demo must not inherit."""
_COMPONENTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


@dataclass
class AirflowServer:
    """One Airflow with all its components.

    Args:
        home: its folder: database, logs, passwords.
        dags: the folder of its DAG files.
        marked: marks its processes.
        environment: what its tasks find in their environment besides.
    """

    home: Path
    dags: Path
    marked: Marked
    environment: Mapping[str, str]
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def log(self) -> Path:
        return self.home / "standalone.log"

    @property
    def url(self) -> str:
        """Where its pages and its REST API are."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; it takes nearly a minute until it is :meth:`ready`."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.port, worker_logs, trigger_logs = free_ports(3)
        binaries = Path(sys.executable).parent
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
        environment = {
            **inherited,
            # Standalone starts its components as "airflow", by the PATH.
            "PATH": f"{binaries}{os.pathsep}{inherited.get('PATH', os.defpath)}",
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_logs),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(worker_logs),
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            # On a busy machine of two cores five seconds are not enough to get a task started.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
            **self.environment,
            **self.marked.environment,
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(binaries / "airflow"), "standalone"],
                cwd=self.home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops Airflow in order
            )

    def ready(self) -> AirflowApi | None:
        """Its REST API, once every component is healthy."""
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=10).json()
        except (httpx.HTTPError, ValueError):
            return None
        if any((health.get(component) or {}).get("status") != "healthy" for component in _COMPONENTS):
            return None
        passwords = json.loads((self.home / "simple_auth_manager_passwords.json.generated").read_text("utf-8"))
        return AirflowApi.log_in(self.url, "admin", passwords["admin"])

    def check(self) -> None:
        """Check that it has not ended.

        Raises:
            DemoError: it has.
        """
        if self._process is not None and self._process.poll() is not None:
            raise DemoError("Airflow has ended", self.last_words())

    def last_words(self, lines: int = 30) -> str:
        """The end of what the components have printed."""
        text = self.log.read_text("utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def stop(self, *, patience: float) -> None:
        """Stop it, and wait until it has stopped; what takes longer than ``patience`` seconds is left to the caller."""
        if self._process is None:
            return
        # To the parent alone, and SIGINT: on SIGTERM it would leave its components behind.
        self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)


def free_ports(count: int) -> list[int]:
    """Different free ports of this machine."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
