"""What a pipeline means: every pane of every epoch, worked out one element at a time.

An engine is right when it publishes these panes. So this module trades everything for being easy to check by reading.
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
    """All that a run published, and what it could not."""

    panes: tuple[Pane, ...]
    expired: tuple[ExpiredElement, ...]
    counts: Counts


def interpret(pipeline: Pipeline, epochs: Iterable[Epoch]) -> Outcome:
    """Run epochs from an empty state on."""
    interpreter = Interpreter(pipeline)
    panes = [pane for epoch in epochs for pane in interpreter.epoch(epoch)]
    return Outcome(tuple(panes), tuple(interpreter.expired), interpreter.counts)


class Interpreter:
    """Runs a pipeline epoch by epoch, and carries the state on.

    Several groupings are stages in a row: what one publishes in an epoch are the next one's elements in the same epoch,
    under a clock that is held back by what the first may still say.

    Guarantees: every element is part of a pane, of an open window's state, or of :attr:`expired`; the same epochs give
    the same panes.

    Does not do: anything fast. Every expired element stays in memory.

    Args:
        pipeline: what to run.
        evaluate: asks Spark for the meaning of its expressions; a pipeline without them needs none.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline that computes nothing yet.
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
        """The elements that came too late, of every stage."""
        return [element for stage in self.stages for element in stage.expired]

    @property
    def counts(self) -> Counts:
        """Elements read, late and expired so far."""
        return Counts(self._read, sum(stage.late for stage in self.stages), len(self.expired))

    def epoch(self, epoch: Epoch) -> Sequence[Pane]:
        """Take the elements; publish what is due, in the order of windows and keys; drop what expires.

        Raises:
            DefinitionError: ``TIME_OUT_OF_RANGE`` for an element with a time that no source hands on.
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
