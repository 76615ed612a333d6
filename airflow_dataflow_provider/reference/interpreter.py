"""The meaning of a pipeline: every pane of every epoch, computed one element at a time.

An engine is correct if it publishes these panes. So this module is written to be easy to check by reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import check_element_time
from airflow_dataflow_provider.reference.epoch import Counts, Epoch, ExpiredElement
from airflow_dataflow_provider.reference.par_do import Evaluate, apply
from airflow_dataflow_provider.reference.results import Results
from airflow_dataflow_provider.reference.stage import Stage

__all__ = ["Counts", "Epoch", "ExpiredElement", "Interpreter", "Outcome", "interpret"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The panes and the expired elements of a run, and its counts."""

    panes: tuple[Pane, ...]
    expired: tuple[ExpiredElement, ...]
    counts: Counts


def interpret(pipeline: Pipeline, epochs: Iterable[Epoch], evaluate: Evaluate | None = None) -> Outcome:
    """Run epochs from an empty state on; ``evaluate`` as for :class:`Interpreter`."""
    interpreter = Interpreter(pipeline, evaluate)
    panes = [pane for epoch in epochs for pane in interpreter.epoch(epoch)]
    return Outcome(tuple(panes), tuple(interpreter.expired), interpreter.counts)


class Interpreter:
    """Runs a pipeline epoch by epoch, and keeps its state.

    Several groupings are stages in a row: the panes of one stage are the elements of the next in the same epoch, under
    a clock that is held back by the open windows of the first.

    Guarantees: every element is part of a pane, of an open window, or of :attr:`expired`; the same epochs give the same
    panes.

    Costs: it is slow, and keeps every expired element in memory.

    Args:
        pipeline: the pipeline.
        evaluate: evaluates Spark's expressions; a pipeline without them needs none.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline without a grouping.
    """

    def __init__(self, pipeline: Pipeline, evaluate: Evaluate | None = None) -> None:
        pipeline.grouping  # noqa: B018 - it says what is missing
        self._evaluate = evaluate
        self._read = 0
        self.stages: list[Stage] = []
        for grouping in pipeline.groupings:
            before = self.stages[-1] if self.stages else None
            self.stages.append(Stage(grouping, before, is_last=grouping is pipeline.grouping))
        self.results = Results(pipeline)

    @property
    def expired(self) -> list[ExpiredElement]:
        """The expired elements of every stage."""
        return [element for stage in self.stages for element in stage.expired]

    @property
    def counts(self) -> Counts:
        """Elements read, late and expired so far."""
        return Counts(self._read, sum(stage.late for stage in self.stages), len(self.expired))

    def epoch(self, epoch: Epoch) -> Sequence[Pane]:
        """Add the elements, publish the panes that are due in the order of windows and keys, and drop expired windows.

        Raises:
            DefinitionError: ``TIME_OUT_OF_RANGE`` for an element with a time that sources reject.
        """
        for element in epoch.elements:
            check_element_time(element.event_time, "the event time")
            check_element_time(element.arrival_time, "the arrival time")
        self._read += len(epoch.elements)
        panes: Sequence[Pane] = []
        for stage in self.stages:
            elements = apply(stage.grouping.par_dos, epoch.elements, self._evaluate)
            panes = stage.epoch(Epoch(epoch.clock, elements, epoch.horizon))
            epoch = stage.next_epoch(epoch, panes)
        return self.results.of(panes)
