"""A real Spark cluster on loopback, from the pip package: one master and its workers, each a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from airflow_dataflow_provider.spark.running.java import ensure_java

START_SECONDS = 120
"""How long a loaded machine may take before a start, or the loss of a worker, counts as failed."""

# Ends every process of the given sessions once its input closes: at the end of the `with`, or when this test run is
# killed. Sessions, not process groups: Spark's Python daemon makes a process group of its own.
_GUARD = """
import os, signal, sys, psutil
sessions = {int(line) for line in sys.stdin}
def still_there():
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE:
                yield process.pid
        except (ProcessLookupError, psutil.NoSuchProcess):
            pass
# A process may have started another while the list was read: until none is left.
while pids := list(still_there()):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
"""


@dataclass(frozen=True)
class Worker:
    """One worker and everything that it has started: what a host is to a cluster."""

    pid: int
    folder: Path

    def processes(self) -> list[int]:
        """The worker, its executors and their Python processes, as process ids."""
        found = []
        for pid in psutil.pids():
            try:
                if os.getsid(pid) == self.pid and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                    found.append(pid)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        return found


@dataclass
class StandaloneCluster:
    """A running cluster.

    Attributes:
        url: what a driver gives as its master, ``spark://127.0.0.1:<port>``.
        page: the address of the master's page.
        workers: in the order of their start; a killed one keeps its place.
    """

    url: str
    page: str
    folder: Path
    workers: list[Worker] = field(default_factory=list)
    _master: subprocess.Popen[bytes] | None = None

    def kill(self, index: int) -> None:
        """Take a worker away as a power cut would: it, its executors and their Python processes, with SIGKILL.

        Returns when the master has noticed.
        """
        alive = self.alive()
        while pids := self.workers[index].processes():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.wait_for(alive - 1)

    def alive(self) -> int:
        """How many workers the master believes to be alive."""
        return sum(worker["state"] == "ALIVE" for worker in self.status()["workers"])

    def status(self) -> dict[str, Any]:
        """The master's own account of the cluster: its page as JSON."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.page}/json/", timeout=10) as answer:
            status: dict[str, Any] = json.load(answer)
        return status

    def wait_for(self, workers: int) -> None:
        """Return when the master counts this many workers alive."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                alive = self.alive()
            except (OSError, ValueError):  # not listening yet; listening, but the page is not JSON yet
                alive = -1
            if alive == workers:
                return
            if (self._master and self._master.poll() is not None) or time.monotonic() > deadline:
                raise TimeoutError(f"{alive} workers alive, {workers} awaited\n{self.logs()}")
            time.sleep(0.05)

    def logs(self) -> str:
        """The end of every daemon's log."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-4000:]}" for log in sorted(self.folder.glob("*.log")))


@contextmanager
def standalone_cluster(workers: int = 2, *, cores: int = 1, memory: str = "1g") -> Iterator[StandaloneCluster]:
    """A master and its workers on 127.0.0.1, all alive on entry and all gone on exit.

    Each worker has folders of its own for work, shuffle and ``TMPDIR``, as hosts have. A driver asks for executors that
    fit: ``spark.executor.memory`` of at most ``memory``.

    Args:
        workers: how many.
        cores: of each worker.
        memory: of each worker, for its executors.
    """
    folder = Path(tempfile.mkdtemp(prefix="spark-cluster-"))
    master_port, page_port = _free_ports(2)
    cluster = StandaloneCluster(
        url=f"spark://127.0.0.1:{master_port}", page=f"http://127.0.0.1:{page_port}", folder=folder
    )
    started: list[subprocess.Popen[bytes]] = []
    guard = subprocess.Popen([sys.executable, "-c", _GUARD], stdin=subprocess.PIPE, start_new_session=True)
    assert guard.stdin

    def start(name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        daemon = _start_daemon(folder, name, arguments)
        started.append(daemon)
        guard.stdin.write(b"%d\n" % daemon.pid)
        guard.stdin.flush()
        return daemon

    try:
        ports = ["--port", str(master_port), "--webui-port", str(page_port)]
        cluster._master = start("master", ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", *ports])
        for index in range(workers):
            name = f"worker-{index}"
            size = ["--cores", str(cores), "--memory", memory, "--work-dir", str(folder / name / "work")]
            place = ["--host", "127.0.0.1", "--webui-port", "0", cluster.url]
            daemon = start(name, ["org.apache.spark.deploy.worker.Worker", *size, *place])
            cluster.workers.append(Worker(pid=daemon.pid, folder=folder / name))
        cluster.wait_for(workers)
        yield cluster
    finally:
        guard.stdin.close()
        guard.wait()
        for daemon in started:
            daemon.kill()  # nothing, unless the guard itself was killed: then at least no wait without end
            daemon.wait()
        shutil.rmtree(folder)


def _start_daemon(folder: Path, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark
    assert pyspark.origin
    temporary = folder / name / "tmp"
    temporary.mkdir(parents=True)
    environ = ensure_java() | {
        "SPARK_HOME": str(Path(pyspark.origin).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(temporary),
        "SPARK_DAEMON_MEMORY": "256m",
        # A port that was taken in the meantime is an error, not a reason to listen where nobody looks; and the REST
        # server's fixed port would let only one cluster live on a machine.
        "SPARK_DAEMON_JAVA_OPTS": "-Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false",
        "TMPDIR": str(temporary),
    }
    spark_class = f"{environ['SPARK_HOME']}/bin/spark-class"
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [spark_class, *arguments],
            env=environ,
            cwd=folder / name,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports
