"""The processes of the demo, all of which are ended with it."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

from rich.markup import escape

from airflow_dataflow_provider.hooks.driver import DriverRun
from airflow_dataflow_provider.model.errors import DataflowError, StateError
from airflow_dataflow_provider.progress.status.status import Status, read_status
from dags_examples.demo.airflow_api import AirflowApi, TaskState
from dags_examples.demo.airflow_server import AirflowServer
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.live_replay import LiveReplay
from dags_examples.demo.places import Places
from dags_examples.demo.processes import Marked
from dags_examples.demo.screen import Screen
from dags_examples.demo.story import FLIGHTS, MORNING, SPEED
from dags_examples.replay import Replay

T = TypeVar("T")

DAGS = ("batch_departures", "gated_report", "micro_batch_departures", "stop_departures", "stream_departures")
_LOOK_EVERY = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LIVE = ("starting", "running")
_SPARK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}


class Stage:
    """Airflow, the replay, and the drivers that Airflow's tasks start.

    Used as a context: at its end everything is stopped, in order where it can be, by force where it must be.
    """

    def __init__(self, screen: Screen, places: Places, marked: Marked) -> None:
        self.screen, self.places = screen, places
        self._marked = marked
        self.replay = Replay(places.flights, *FLIGHTS)
        self.live = LiveReplay(self.replay, SPEED, hold=MORNING)
        self.server = AirflowServer(places.airflow, places.dags, marked, self._environment())
        self._api: AirflowApi | None = None

    def _environment(self) -> dict[str, str]:
        """The two connections that one needs, and where the DAGs find and leave their files."""
        spark = {"conn_type": "spark", "host": "local[2]"}
        conf = {**_SPARK, "spark.local.dir": str(self.places.out / "spark")}
        dataflow = {"conn_type": "dataflow", "extra": {"state_root": str(self.places.states), "conf": conf}}
        return {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
            "AIRFLOW_CONN_DATAFLOW_DEFAULT": json.dumps(dataflow),
            # When the demo is interrupted, nobody waits for an epoch to end.
            "AIRFLOW__DATAFLOW__STOP_GRACE": "2",
            "DEPARTURES_FLIGHTS": str(self.places.flights),
            "DEPARTURES_REPORTS": str(self.places.reports),
            # Where Java comes from PyPI, a wrapper for it is kept in the user's cache.
            "XDG_CACHE_HOME": str(self.places.out / "cache"),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # A second Ctrl-C must not leave behind what the first one was about to stop.
        handlers = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
        self.live.stop()
        with self.screen.step("Stop: Airflow, and whatever else runs") as said:
            if kind is not None and self._api is not None:
                self._try_to_stop_in_order(self._api)
            self._end_drivers()
            # With tasks at work Airflow's scheduler may wait for ever for workers that have ended already.
            self.server.stop(patience=60 if kind is None else 12)
            forced = self._marked.end(patience=20 if self._end_drivers() else 2)
            said += [f"by force: {command}" for command in forced]
            said.append("nothing is left running")
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def _end_drivers(self) -> bool:
        """Tell every running driver to end; whether there was one."""
        runs = [DriverRun(lock.parent) for lock in self.places.airflow.glob("logs/dataflow/*/lock")]
        living = [run for run in runs if run.alive]
        for run in living:
            run.end()
        return bool(living)

    def _try_to_stop_in_order(self, api: AirflowApi) -> None:
        """As a user would: nothing starts again, and the stream is stopped by its DAG. The caller makes sure."""
        try:
            for dag_id in DAGS:
                api.pause(dag_id)
            if (status := self.status("stream")) and status.state in _LIVE:
                self.run("stop_departures", "cleanup", seconds=30)
        except (DemoError, DataflowError) as error:
            self.screen.say(f"          [dim]not in order: {escape(str(error))}[/dim]")

    @property
    def api(self) -> AirflowApi:
        """Airflow's REST API.

        Raises:
            DemoError: Airflow is not up.
        """
        if self._api is None:
            raise DemoError("Airflow is not up")
        return self._api

    def await_airflow(self) -> None:
        """Wait until Airflow is healthy and has read the DAG files.

        Raises:
            DemoError: it is not, or one of them cannot be read.
        """
        self._api = self.wait("Airflow's start", self.server.ready, seconds=300)

        def all_read() -> bool:
            if errors := self.api.import_errors():
                raise DemoError("a DAG file cannot be read", errors)
            return self.api.dag_ids() >= {*DAGS}

        self.wait("Airflow's reading of the DAG files", all_read, seconds=180)

    def status(self, way: str) -> Status | None:
        """The status of one way of running the pipeline; None before it has started."""
        try:
            return read_status(self.places.state(way))
        except StateError as error:
            if error.code != "STATE_ABSENT":
                raise
            return None

    def wait(self, what: str, condition: Callable[[], T | None], *, seconds: float) -> T:
        """Wait until a condition returns a true value, and return it.

        Raises:
            DemoError: it takes longer than ``seconds``, or Airflow or the replay have failed.
        """
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            self.server.check()
            if self.live.failure is not None:
                raise self.live.failure
            if time.monotonic() > deadline:
                raise DemoError(f"{what} took longer than {seconds:g} s", self.server.last_words())
            time.sleep(_LOOK_EVERY)
        return value

    def run(self, dag_id: str, run_id: str, interval: tuple[str, str] | None = None, *, seconds: float) -> None:
        """Trigger a run of a DAG and wait for its success.

        Raises:
            DemoError: it failed; with the end of the log of the task that did.
        """
        self.api.pause(dag_id, paused=False)
        self.api.trigger(dag_id, run_id, interval)

        def succeeded() -> bool:
            tasks = self.api.tasks(dag_id, run_id)
            self.screen.news(", ".join(f"{task.task_id} is {task.state or 'to come'}" for task in tasks))
            return self.succeeded(dag_id, run_id)

        self.wait(f"the run of {dag_id}", succeeded, seconds=seconds)

    def succeeded(self, dag_id: str, run_id: str) -> bool:
        """Whether a run has succeeded.

        Raises:
            DemoError: it failed.
        """
        if self.api.run_state(dag_id, run_id) == "success":
            return True
        self.raise_if_failed(dag_id, self.api.tasks(dag_id, run_id))
        return False

    def raise_if_failed(self, dag_id: str, tasks: Sequence[TaskState]) -> None:
        """Check that none of these tasks has failed.

        Raises:
            DemoError: one has; with the end of its log.
        """
        for task in tasks:
            if task.state == "failed":
                log = self.places.task_log(dag_id, task.run_id, task.task_id)
                raise DemoError(f"the task {task.task_id} of {dag_id} failed", log)
