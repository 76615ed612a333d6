"""A driver of a world: the engine's own way of running a pipeline, in a process of the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.batch import BatchPolicies
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.spark.running.submit import PARTITIONS_CONF, Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.testing.strategies import SECOND
from tests.simulate import users
from tests.simulate.disk import Stored
from tests.simulate.rows import moment
from tests.simulate.scheduler import Process
from tests.simulate.script import Start
from tests.simulate.stage import clock_of
from tests.simulate.threads import Event

if TYPE_CHECKING:
    from tests.simulate.world import World


@dataclass(eq=False)
class Driver:
    """A run of the pipeline.

    Attributes:
        start: how it was started.
        process: where it runs.
        there: the source when it started, by path.
        began: when it started.
        announced: whether others were told that it is about to start.
        must_end: since when somebody was told that it has ended, or will.
    """

    start: Start
    process: Process
    there: dict[str, Stored]
    began: Micros
    announced: bool = False
    must_end: Micros | None = None
    reaped: bool = False

    @property
    def streams(self) -> bool:
        """Whether it runs until it is asked to stop."""
        return self.start.mode == RuntimeMode.STREAMING.value


def drive(world: World, start: Start) -> None:
    """Start a driver."""
    scheduler = world.scheduler
    process = scheduler.process(start.driver, start.host, round(start.skew * SECOND), start.faults)
    driver = Driver(start, process, dict(scheduler.source.files), scheduler.now)
    interval = None if start.interval is None else Interval(*map(moment, start.interval))
    submission = Submission(
        world.pipeline,
        RuntimeMode(start.mode),
        world.url,
        interval,
        conf={PARTITIONS_CONF: "1"},
        run_id=start.driver,
        take_over=start.take_over,
        policies=BatchPolicies(input_share=start.input_share),
        now=lambda: clock_of(scheduler),
        workers=ThisProcess(),
    )
    stopping = _Ticks(scheduler)

    def main() -> RuntimeMode:
        scheduler.sleep(scheduler.chance.choice((0.1, 3, 20)), lambda: False)  # a JVM starts
        return run(submission, stopping)  # type: ignore[arg-type]  # it stands in for a threading.Event

    # The operator that ensures a stream starts none beside one that runs.
    driver.announced = driver.streams and not world.living()
    if driver.announced:
        users.announce(world, driver)
    world.drivers.append(driver)
    scheduler.spawn(process, main, is_main=True)
    if driver.announced:
        users.await_claim(world, driver)


class _Ticks(Event):
    """Between two looks of a stream passes more time than for users, so that a world is not all looking."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else timeout * 30)
