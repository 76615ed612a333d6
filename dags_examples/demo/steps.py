"""The demo while everything runs, step by step."""

from __future__ import annotations

import json
from typing import Any

from airflow_dataflow_provider.model.time import MIN_TIME, Micros, iso, to_datetime
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.progress.status.status import Status
from dags_examples.data import FLIGHTS as ALL_FLIGHTS
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.screen import Screen
from dags_examples.demo.stage import Stage
from dags_examples.demo.story import BATCH_DAY, GATED_HOUR, HISTORY, MICRO_BATCHES, MORNING, PERCENTILE

RUN = "demo"
"""The run id of runs that the demo triggers."""
SHARE = percentile_text(PERCENTILE)


class Steps:
    """What the demo does on its stage.

    Raises (each step):
        DemoError: something did not work.
    """

    def __init__(self, screen: Screen, stage: Stage) -> None:
        self._screen, self._stage = screen, stage

    def run(self) -> None:
        self._prepare()
        self._batch()
        self._start_stream()
        self._close_gate()
        self._follow()
        self._stop_stream()
        self._end_micro_batches()

    def _prepare(self) -> None:
        stage, replay = self._stage, self._stage.replay
        stage.server.start()  # it needs a while, in which the data is made
        with self._screen.step("Data: the flights that left New York in 2013") as said:
            history = replay.write_until(HISTORY)
            said.append(f"{ALL_FLIGHTS:,} flights; {self._rows():,} left in the eight days that are replayed")
            said.append(
                f"{len(history):,} of {len(replay.files):,} files are there by {at(HISTORY)}, the rest is replayed"
            )
        with self._screen.step("Airflow: standalone, with a home and ports of its own") as said:
            stage.await_airflow()
            said.append(f"{stage.server.url}, user admin, password in {stage.server.home}")

    def _batch(self) -> None:
        with self._screen.step("Batch: batch_departures computes one day") as said:
            # The world goes on, and beside all that follows the micro-batches, run after run, on a state of their own.
            self._stage.live.start()
            self._stage.api.pause("micro_batch_departures", paused=False)
            self._stage.run("batch_departures", RUN, (iso(BATCH_DAY[0]), iso(BATCH_DAY[1])), seconds=240)
            status = self._known("batch")
            said.append(f"{at(BATCH_DAY[0])} to {at(BATCH_DAY[1])}: {status.rows.read:,} flights, {status.panes} panes")

    def _start_stream(self) -> None:
        with self._screen.step("Stream: stream_departures has the continuous job run") as said:
            self._stage.run("stream_departures", RUN, seconds=240)
            self._stage.wait("catching up", self._has_caught_up, seconds=240)
            said.append(self._standing("stream"))

    def _has_caught_up(self) -> bool:
        status = self._known("stream")
        self._screen.news(f"it has caught up to {at(status.frontier or MIN_TIME)}; {status.rows.read:,} flights")
        return status.rows.read >= self._rows(until=MORNING)

    def _close_gate(self) -> None:
        """The gate's run begins before its hour has."""
        with self._screen.step(f"Gate: gated_report waits for the hour from {at(GATED_HOUR[0])}") as said:
            api = self._stage.api
            api.pause("gated_report", paused=False)
            api.trigger("gated_report", RUN, (iso(GATED_HOUR[0]), iso(GATED_HOUR[1])))
            self._stage.wait("the sensor's way to the triggerer", self._is_deferred, seconds=180)
            said.append(f"deferred until W{SHARE} is {at(GATED_HOUR[1])}; {watermarks(self._known('stream'))}")

    def _is_deferred(self) -> bool:
        if self._stage.succeeded("gated_report", RUN):
            raise DemoError("the gate opened before its hour was complete")
        return any(task.state == "deferred" for task in self._stage.api.tasks("gated_report", RUN))

    def _follow(self) -> None:
        """Continue the replay; stream, micro-batches and gate follow it."""
        with self._screen.step("Replay: half an hour a second, and all follow") as said:
            self._stage.live.go_on()
            self._stage.wait("following the replay", self._has_followed, seconds=420)
            said.append(self._standing("stream"))
            flights = ", ".join(f"{row['origin']} {row['flights']}" for row in self.gated_report())
            said.append(f"gate: opened once W{SHARE} was {at(GATED_HOUR[1])}; it reports {flights} departures")

    def _has_followed(self) -> bool:
        status = self._known("stream")
        runs = sum(task.state == "success" for task in self._stage.api.tasks("micro_batch_departures"))
        is_open = self._stage.succeeded("gated_report", RUN)
        gate = "open" if is_open else "closed"
        self._screen.news(f"{at(status.frontier or MIN_TIME)}; {watermarks(status)}; {runs} micro-batches; gate {gate}")
        return is_open and not self._stage.live.is_alive() and status.rows.read >= self._rows()

    def _stop_stream(self) -> None:
        with self._screen.step("Stop: stop_departures stops the stream") as said:
            self._stage.api.pause("stream_departures")  # or its schedule would start it again
            self._stage.run("stop_departures", RUN, seconds=180)
            status = self._known("stream")
            if status.state != "stopped":
                raise DemoError(f"the stream is {status.state}: {status.detail}")
            said.append(f"stopped after epoch {status.epoch}; its state stays")

    def _end_micro_batches(self) -> None:
        with self._screen.step("Micro-batches: micro_batch_departures, run after run") as said:
            runs = self._stage.wait("the last micro-batch", self._micro_batches, seconds=300)
            said.append(f"{runs} runs on one state: {self._standing('micro-batch')}")

    def _micro_batches(self) -> int | None:
        """The number of runs, once there are enough, all files are read, and no run is active."""
        tasks = self._stage.api.tasks("micro_batch_departures")
        self._stage.raise_if_failed("micro_batch_departures", tasks)
        done = sum(task.state == "success" for task in tasks)
        busy = sum(task.state in ("queued", "running", "up_for_retry") for task in tasks)
        self._screen.news(f"{done} runs are done")
        if done + busy < MICRO_BATCHES or self._known("micro-batch").rows.read < self._rows():
            return None
        self._stage.api.pause("micro_batch_departures")
        return done if not busy and done >= MICRO_BATCHES else None

    def gated_report(self) -> list[dict[str, Any]]:
        """The report of the gated DAG.

        Raises:
            DemoError: nothing.
        """
        files = [*self._stage.places.reports.glob("*.json")]
        if len(files) != 1:
            raise DemoError(f"the gated DAG has left {len(files)} reports in {self._stage.places.reports}")
        rows: list[dict[str, Any]] = json.loads(files[0].read_text("utf-8"))
        return rows

    def _rows(self, *, until: Micros | None = None) -> int:
        """How many flights there are to read, in all or in the files until a moment."""
        return sum(len(rows) for end, rows in self._stage.replay.files.items() if until is None or end <= until)

    def _known(self, way: str) -> Status:
        status = self._stage.status(way)
        if status is None:
            raise DemoError(f"there is no state at {self._stage.places.state(way)}")
        return status

    def _standing(self, way: str) -> str:
        status = self._known(way)
        epochs = 0 if status.epoch is None else status.epoch + 1
        return f"{status.rows.read:,} flights in {epochs} epochs, {status.panes:,} panes; {watermarks(status)}"


def watermarks(status: Status) -> str:
    """The two watermarks that the pipeline's trigger looks at."""
    return ", ".join(f"W{percentile_text(p)} is {at(status.watermarks.at(p))}" for p in (PERCENTILE, 100.0))


def at(time: Micros) -> str:
    """A time for the screen, in UTC."""
    moment = to_datetime(time)
    return "not known yet" if moment is None else f"{moment:%b %d %H:%M}"
