"""What people do to a pipeline: start it, ask for its end, raise signals, look how far it is."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.ownership import launches
from airflow_dataflow_provider.progress.ownership.owner import OwnerInfo, fence_silent, present_owner
from airflow_dataflow_provider.progress.requests.requests import request_signal, request_stop
from airflow_dataflow_provider.progress.status.answer import Answer, ask_watermark
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.testing.strategies import SECOND
from tests.simulate.stage import clock_of

if TYPE_CHECKING:
    from tests.simulate.driver import Driver
    from tests.simulate.world import World

LOOKS_EVERY = 5.0
"""Seconds between two looks of somebody who waits."""


class Hook:
    """What the hook of an Airflow task tells and does, in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def status(self, url: str) -> Status | None:
        try:
            return read_status(url)
        except StateError as error:
            if error.code != "STATE_ABSENT":
                raise
            return None

    def request_stop(self, url: str, *, drain: bool) -> None:
        request_stop(Store.open(url), self._now, drain=drain)

    def fence_silent(self, url: str) -> OwnerInfo | None:
        return fence_silent(Store.open(url), self._now)

    def starting(self, url: str) -> list[str]:
        living = {driver.start.driver for driver in self._world.living()}
        return [launch.run_id for launch in launches.announced(Store.open(url), self._now) if launch.run_id in living]

    @property
    def _now(self) -> Micros:
        return clock_of(self._world.scheduler)


def announce(world: World, driver: Driver) -> None:
    """Say that a stream is about to start, as the operator does that ensures it."""
    run_id, mode = driver.start.driver, driver.start.mode
    world.call("ensure", lambda: launches.announce(Store.open(world.url), run_id, mode, clock_of(world.scheduler)))


def await_claim(world: World, driver: Driver) -> None:
    """Wait until a stream has claimed or has ended; then its announcement goes."""
    scheduler, store, run_id = world.scheduler, Store.open(world.url), driver.start.driver

    def wait() -> None:
        while driver.process.alive:
            owner = present_owner(store)
            if owner is not None and owner.run_id == run_id:
                break
            scheduler.sleep(LOOKS_EVERY, lambda: not driver.process.alive)
        launches.withdraw(store, run_id)

    scheduler.spawn(scheduler.process("ensure", host="airflow"), wait, is_main=True)


def ask(world: World, what: str) -> None:
    """Ask for a stop or a drain as a task does, and wait for its answer."""
    operator = _operator(world, drain=what == "drain")
    owner = present_owner(Store.open(world.url))
    name = None if owner is None else owner.run_id
    running = [each for each in world.living() if each.streams and (each.announced or each.start.driver == name)]
    scheduler = world.scheduler
    clock = SimpleNamespace(
        monotonic=lambda: scheduler.now / SECOND, sleep=lambda seconds: scheduler.sleep(seconds, lambda: False)
    )
    stop = operators()
    quiet = patch.object(stop.DataflowStopOperator, "log", logging.getLogger(__name__))
    with patch.object(stop, "time", clock), quiet:
        process = world.call(what, lambda: type(operator).execute.__wrapped__(operator, {}), may_fail=True)
    if process.error is None:
        claimed = _runs_that_claimed(world)
        for driver in running:
            # One that slept before its claim for as long as an announcement counts cannot be known of.
            if driver.start.driver in claimed or scheduler.now - driver.began <= launches.PATIENCE:
                driver.must_end = scheduler.now


def _runs_that_claimed(world: World) -> set[str]:
    paths = world.scheduler.state.below(f"{world.root}/owners")
    claims = [json.loads(world.scheduler.state.get(path).data) for path in paths if not path.endswith(".beat.json")]
    return {claim["run_id"] for claim in claims}


def operators() -> ModuleType:
    """The module of the real operator. Its import makes up names, so it must come before the world begins."""
    if "airflow" not in sys.modules:
        os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="simulate-"))
    from airflow_dataflow_provider.operators import stop

    return stop


def _operator(world: World, *, drain: bool) -> Any:
    DataflowStopOperator = operators().DataflowStopOperator  # noqa: N806 - a class
    operator = DataflowStopOperator(task_id="stop", state=world.url, drain=drain, poll_interval=LOOKS_EVERY)
    operator.__dict__["hook"] = Hook(world)
    return operator


def signal(world: World, name: str, *, as_file: bool) -> None:
    """Raise a signal."""
    store = Store.open(world.url)
    if as_file:
        world.call("touch", lambda: store.write(f"signals/{name}", b""))
    else:
        world.call("signal", lambda: request_signal(store, name, clock_of(world.scheduler)))


def look(world: World, target: Micros, percentile: float, skew: Micros) -> Answer | None:
    """Ask whether a watermark has reached a time."""

    def question() -> Answer:
        return ask_watermark(Hook(world).status(world.url), percentile=percentile, target=target)

    answer = world.call("sensor", question, skew).result
    return answer if isinstance(answer, Answer) else None
