"""The Dataflow Model on Apache Spark, scheduled and gated by Apache Airflow.

The names a pipeline is written with are importable from here. Nothing heavy is: neither Airflow, Spark nor a data frame
library comes with ``import airflow_dataflow_provider``.
"""

from airflow_dataflow_provider.model.batch import BatchPolicies, ProcessingTimeAtEndOfInput, ShuffleMode
from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Quantiles,
    StdDev,
    Sum,
    TopK,
    Variance,
    VectorisedCombiner,
)
from airflow_dataflow_provider.model.elements import Element, Pane, PaneTiming
from airflow_dataflow_provider.model.errors import (
    DataError,
    DataflowError,
    DefinitionError,
    EngineError,
    InterruptedRunError,
    OwnershipError,
    StateError,
    SubmissionError,
)
from airflow_dataflow_provider.model.grouping import EARLIEST, END_OF_WINDOW, LATEST, Grouping, OutputTime
from airflow_dataflow_provider.model.modes import Boundedness, RuntimeMode
from airflow_dataflow_provider.model.par_do import ParDo, PerElement, SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.predicates import Predicate, PythonPredicate, column
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sinks import PaneLog, Sink
from airflow_dataflow_provider.model.sources import INGRESS_TIME, Files, Source
from airflow_dataflow_provider.model.triggers import (
    AfterDelay,
    AfterWatermark,
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
    Situation,
    Trigger,
    TriggerState,
    one_or_more,
    optional,
    zero_or_more,
)
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay, DelayWatermark
from airflow_dataflow_provider.model.windows import (
    CalendarUnit,
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    Key,
    Merged,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
    merge_intersecting,
)
from airflow_dataflow_provider.user_modules import look_where_told

__version__ = "0.1.0"

# Spark's workers come here by unpickling what is ours: before they need a module of the user's.
look_where_told()

__all__ = [
    "ACCUMULATING",
    "ACCUMULATING_AND_RETRACTING",
    "DISCARDING",
    "EARLIEST",
    "END_OF_WINDOW",
    "INGRESS_TIME",
    "LATEST",
    "AfterDelay",
    "AfterWatermark",
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
    "BoundedDelay",
    "Boundedness",
    "CalendarUnit",
    "CalendarWindows",
    "Collect",
    "Combiner",
    "Count",
    "CountDistinct",
    "DataError",
    "DataflowError",
    "DefinitionError",
    "DelayWatermark",
    "Element",
    "EngineError",
    "Files",
    "First",
    "FixedWindows",
    "GlobalWindows",
    "Grouping",
    "InterruptedRunError",
    "Key",
    "Last",
    "Max",
    "Mean",
    "Merged",
    "Min",
    "OutputTime",
    "OwnershipError",
    "Pane",
    "PaneLog",
    "PaneTiming",
    "ParDo",
    "PerElement",
    "Pipeline",
    "Predicate",
    "ProcessingTimeAtEndOfInput",
    "PythonPredicate",
    "Quantiles",
    "Refinement",
    "Repeat",
    "RepeatUntil",
    "Risk",
    "RuntimeMode",
    "SequenceOf",
    "SessionWindows",
    "ShuffleMode",
    "Sink",
    "Situation",
    "SlidingWindows",
    "Source",
    "SparkColumns",
    "StateError",
    "StdDev",
    "SubmissionError",
    "Sum",
    "TopK",
    "Trigger",
    "TriggerState",
    "Variance",
    "Vectorised",
    "VectorisedCombiner",
    "Window",
    "WindowStrategy",
    "column",
    "merge_intersecting",
    "one_or_more",
    "optional",
    "zero_or_more",
]
