"""The Dataflow Model on Apache Spark, scheduled and gated by Apache Airflow.

The names a pipeline is written with are importable from here. Nothing heavy is: neither Airflow, Spark nor a data frame
library comes with ``import airflow_dataflow_provider``.
"""

from airflow_dataflow_provider.model.batch import BatchPolicies, ProcessingTimeAtEndOfInput, ShuffleMode
from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.errors import (
    DataError,
    DataflowError,
    DefinitionError,
    OwnershipError,
    StateError,
    SubmissionError,
)
from airflow_dataflow_provider.model.grouping import EARLIEST, END_OF_WINDOW, LATEST, Grouping, OutputTime
from airflow_dataflow_provider.model.modes import Boundedness, RuntimeMode
from airflow_dataflow_provider.model.par_do import ParDo, PerElement, SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.predicates import Predicate, column
from airflow_dataflow_provider.model.proofs import Risk
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.sinks import PaneLog, Sink
from airflow_dataflow_provider.model.sources import INGRESS_TIME, DelayWatermark, Files
from airflow_dataflow_provider.model.triggers import (
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
    any_number,
    maybe,
    some,
)
from airflow_dataflow_provider.model.windows import (
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
)

__version__ = "0.1.0"

__all__ = [
    "ACCUMULATING",
    "ACCUMULATING_AND_RETRACTING",
    "DISCARDING",
    "EARLIEST",
    "END_OF_WINDOW",
    "INGRESS_TIME",
    "LATEST",
    "AfterDelay",
    "AllOf",
    "AnyOf",
    "AtBytes",
    "AtCount",
    "AtEpoch",
    "AtPattern",
    "AtPeriod",
    "AtPunctuation",
    "AtSignal",
    "AtWatermark",
    "BatchPolicies",
    "Boundedness",
    "CalendarWindows",
    "Combiner",
    "Count",
    "DataError",
    "DataflowError",
    "DefinitionError",
    "DelayWatermark",
    "Files",
    "FixedWindows",
    "GlobalWindows",
    "Grouping",
    "Max",
    "Mean",
    "Min",
    "OutputTime",
    "OwnershipError",
    "PaneLog",
    "ParDo",
    "PerElement",
    "Pipeline",
    "Predicate",
    "ProcessingTimeAtEndOfInput",
    "Refinement",
    "Repeat",
    "RepeatUntil",
    "Risk",
    "RuntimeMode",
    "SequenceOf",
    "SessionWindows",
    "ShuffleMode",
    "Sink",
    "SlidingWindows",
    "SparkColumns",
    "StateError",
    "SubmissionError",
    "Sum",
    "Trigger",
    "Vectorised",
    "Window",
    "WindowStrategy",
    "any_number",
    "column",
    "maybe",
    "some",
]
