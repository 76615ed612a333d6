"""Trigger trees, compiled: every open window of a partition is asked at once."""

from __future__ import annotations

from airflow_dataflow_provider.model.triggers import (
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
)
from airflow_dataflow_provider.model.triggers.clocks import ProcessingTimeTrigger
from airflow_dataflow_provider.spark.kernel.triggers.clocks import (
    AtEpochNode,
    AtSignalNode,
    AtWatermarkNode,
    ProcessingTimeNode,
)
from airflow_dataflow_provider.spark.kernel.triggers.composites import (
    AllOfNode,
    AnyOfNode,
    RepeatNode,
    RepeatUntilNode,
    SequenceOfNode,
)
from airflow_dataflow_provider.spark.kernel.triggers.elements import (
    AtBytesNode,
    AtCountNode,
    AtPatternNode,
    AtPunctuationNode,
)
from airflow_dataflow_provider.spark.kernel.triggers.node import Node, Percentiles
from airflow_dataflow_provider.spark.kernel.triggers.own import OwnNode


def compile_trigger(trigger: Trigger, percentiles: Percentiles, path: str = "_trigger") -> Node:
    """The column-wise form of a trigger tree; ``path`` names its state columns."""

    def below(*triggers: Trigger) -> tuple[Node, ...]:
        return tuple(compile_trigger(part, percentiles, f"{path}.{index}") for index, part in enumerate(triggers))

    match trigger:
        case Repeat(trigger=inner):
            return RepeatNode(compile_trigger(inner, percentiles, path))
        case RepeatUntil(trigger=inner, until=until):
            return RepeatUntilNode(*below(inner, until))
        case AnyOf(triggers=triggers):
            return AnyOfNode(below(*triggers))
        case AllOf(triggers=triggers):
            return AllOfNode(path, below(*triggers))
        case SequenceOf(triggers=triggers):
            return SequenceOfNode(path, below(*triggers))
        case _:
            return _leaf(trigger, percentiles, path)


def _leaf(trigger: Trigger, percentiles: Percentiles, path: str) -> Node:
    """A trigger with no other below it; what we do not know is a user's own."""
    match trigger:
        case AtWatermark(percentile=percentile):
            return AtWatermarkNode(percentile, percentiles.bit(percentile))
        case ProcessingTimeTrigger():
            return ProcessingTimeNode(trigger)
        case AtEpoch():
            return AtEpochNode()
        case AtSignal(name=name):
            return AtSignalNode(path, name)
        case AtCount(n=n):
            return AtCountNode(path, n)
        case AtBytes(n=n, measured=measured):
            return AtBytesNode(path, n, measured)
        case AtPunctuation(predicate=predicate):
            return AtPunctuationNode(path, predicate)
        case AtPattern():
            return AtPatternNode(path, trigger)
        case _:
            return OwnNode(path, trigger, percentiles)
