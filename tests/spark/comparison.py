"""Generated pipelines, by family, on the engine in this process and on the reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.combiners import Count, Max, Sum
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.reference.bounded_watermark import BoundedWatermark
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.spark.kernel import direct_addressing
from airflow_dataflow_provider.spark.reduce_side import state
from airflow_dataflow_provider.testing.panes import assert_panes
from airflow_dataflow_provider.testing.strategies import (
    TRIGGER_FAMILIES,
    WINDOW_FAMILIES,
    combiners,
    par_dos,
    pipelines,
    result_steps,
    result_triggers,
    triggers,
    two_groupings,
    windows,
)
from tests.spark.in_process import InProcess

FAMILIES: dict[str, SearchStrategy[Pipeline]] = {
    f"{window} x {trigger}": pipelines(window=windows(window), trigger=triggers(trigger))
    for window in WINDOW_FAMILIES
    for trigger in TRIGGER_FAMILIES
}
FAMILIES["gathering combiners"] = pipelines(
    window=windows(*WINDOW_FAMILIES),
    trigger=triggers(*TRIGGER_FAMILIES),
    combiner=combiners("plain", "gathering"),
)
FAMILIES["par do"] = pipelines(par_do=par_dos(), trigger=triggers(*TRIGGER_FAMILIES))
FAMILIES["steps on results"] = pipelines(
    window=windows(*WINDOW_FAMILIES),
    trigger=triggers(*TRIGGER_FAMILIES),
    combiner=st.sampled_from((Count(), Sum("whole"), Max("whole"))),
    then=result_steps(),
)
FAMILIES |= {
    f"two groupings, the first {window}": two_groupings(
        window=windows(*members),
        trigger=triggers(*TRIGGER_FAMILIES),
        then_trigger=result_triggers(*TRIGGER_FAMILIES),
    )
    for window, members in {
        "fixed": ("fixed",),
        "sessions": ("sessions",),
        "of any window": tuple(WINDOW_FAMILIES),
    }.items()
}
"""Every family of pipelines, and how to draw from it."""

MANY_SMALL = settings(
    suppress_health_check=list(HealthCheck),
    # A counter-example says enough once it is shrunk.
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)
"""For cases that each do a lot: none is slow by accident."""
MOST_ELEMENTS = 20
"""Of a case: enough for windows of several, and few enough for many cases."""


@dataclass(frozen=True, slots=True)
class Way:
    """How the engine runs a case: no way may show in its panes.

    Attributes:
        processes: the worker processes that run epochs in turn. Each knows the live frames of its own epochs, and
            catches up with what others wrote. 0: a new one for each epoch, which rebuilds every frame from files.
        combining: combine before the shuffle.
        partitions: of the state.
        tasks: map tasks an epoch.
        room: slots that a table of keys and windows may have, beside eight a row; without any, rows are sorted.
    """

    processes: int = 1
    combining: bool = True
    partitions: int = 2
    tasks: int = 2
    room: int = 2**20


def ways() -> SearchStrategy[Way]:
    """Every one; most with one partition, for each takes as long as the other."""
    return st.builds(
        Way,
        processes=st.integers(0, 2),
        combining=st.booleans(),
        partitions=st.sampled_from((1, 1, 3)),
        tasks=st.integers(1, 2),
        room=st.sampled_from((2**20, -(2**20))),
    )


def compare(pipeline: Pipeline, epochs: Iterable[Epoch], way: Way) -> None:
    """Run both, epoch by epoch.

    Raises:
        AssertionError: with the panes, the counts or the watermarks that differ; or where an epoch without elements
            has panes, and the driver would have left it out.
    """
    reference, policy = Interpreter(pipeline), pipeline.source.watermark
    bounded = BoundedWatermark(policy) if isinstance(policy, BoundedDelay) else None
    engine = InProcess(pipeline, combining=way.combining, partitions=way.partitions, tasks=way.tasks)
    told: WatermarkCurve | None = None
    live: list[dict[Any, Any]] = [{} for _ in range(way.processes)]
    for number, epoch in enumerate(epochs):
        mine = live[number % way.processes] if live else {}
        # Whether a grouping still holds the next one back is known only once the epoch runs: it runs if it may have.
        moves = len(pipeline.groupings) > 1 and epoch.clock.watermarks != told
        told = epoch.clock.watermarks if epoch.horizon == epoch.clock.watermark else told
        would_run = bool(epoch.elements) or moves or engine.is_due(epoch)
        panes = reference.epoch(epoch)
        if panes and not would_run:
            raise AssertionError(f"the engine would leave out epoch {number}, which publishes {panes}")
        with patch.object(state, "_LIVE", mine), patch.object(direct_addressing, "_FREE_SLOTS", way.room):
            assert_panes(engine.epoch(epoch), panes)
        if bounded is not None:
            for element in epoch.elements:
                bounded.see(element, epoch.clock.processing_time)
            claimed = {time for _, time in engine.observed.curve(policy, (50, 100))}
            if claimed != {bounded.at()}:
                raise AssertionError(f"epoch {number}: the engine would claim {claimed}, the reference {bounded.at()}")
    came, wanted = ((counts.read, counts.late, counts.expired) for counts in (engine.rows, reference.counts))
    if came != wanted:
        raise AssertionError(f"the engine counts {came} elements read, late and expired, the reference {wanted}")
