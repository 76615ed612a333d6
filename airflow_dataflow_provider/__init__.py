"""The Dataflow Model on Apache Spark, scheduled and gated by Apache Airflow.

Everything that a user writes is importable from here: pipelines, what tests them (``TestStream``), what runs them
(``run``), and what reads their results (``PaneLogReader``, ``SideOutputs``). Those four are loaded when they are first
used, so that ``import airflow_dataflow_provider`` brings neither Airflow, Spark nor a data frame library. Operators and
sensors have modules of their own, where Airflow looks for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model import triggers as _triggers
from airflow_dataflow_provider.model import windows as _windows
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
from airflow_dataflow_provider.model.file_formats import Csv
from airflow_dataflow_provider.model.grouping import EARLIEST, END_OF_WINDOW, LATEST, OutputTime
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.par_do import PerElement, SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.predicates import Predicate, PythonPredicate, column
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sinks import PaneLog
from airflow_dataflow_provider.model.sources import INGRESS_TIME, Files
from airflow_dataflow_provider.model.triggers import *  # noqa: F403 - what the folder lists
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay, DelayWatermark
from airflow_dataflow_provider.model.windows import *  # noqa: F403 - what the folder lists
from airflow_dataflow_provider.user_modules import look_where_told

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.running.from_python import run
    from airflow_dataflow_provider.tables.pane_log import PaneLogReader
    from airflow_dataflow_provider.tables.side_outputs import SideOutputs
    from airflow_dataflow_provider.testing.stream import TestStream

__version__ = "0.1.0"

# Spark's workers come here by unpickling what is ours: before they need a module of the user's.
look_where_told()

LOADED_WHEN_USED = {
    "PaneLogReader": "tables.pane_log",
    "SideOutputs": "tables.side_outputs",
    "TestStream": "testing.stream",
    "run": "spark.running.from_python",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has this name
    if name not in LOADED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{LOADED_WHEN_USED[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "ACCUMULATING",
    "ACCUMULATING_AND_RETRACTING",
    "DISCARDING",
    "EARLIEST",
    "END_OF_WINDOW",
    "INGRESS_TIME",
    "LATEST",
    "BatchPolicies",
    "BoundedDelay",
    "Collect",
    "Combiner",
    "Count",
    "CountDistinct",
    "Csv",
    "DataError",
    "DataflowError",
    "DefinitionError",
    "DelayWatermark",
    "Element",
    "EngineError",
    "Files",
    "First",
    "InterruptedRunError",
    "Last",
    "Max",
    "Mean",
    "Min",
    "OutputTime",
    "OwnershipError",
    "Pane",
    "PaneLog",
    "PaneLogReader",
    "PaneTiming",
    "PerElement",
    "Pipeline",
    "Predicate",
    "ProcessingTimeAtEndOfInput",
    "PythonPredicate",
    "Quantiles",
    "Refinement",
    "Risk",
    "RuntimeMode",
    "ShuffleMode",
    "SideOutputs",
    "SparkColumns",
    "StateError",
    "StdDev",
    "SubmissionError",
    "Sum",
    "TestStream",
    "TopK",
    "Variance",
    "Vectorised",
    "VectorisedCombiner",
    "column",
    "run",
]
__all__ += _triggers.__all__
__all__ += _windows.__all__
