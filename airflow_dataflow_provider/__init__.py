"""The Dataflow Model on Apache Spark, scheduled and gated by Apache Airflow.

The names a pipeline is written with are importable from here. Nothing heavy is: neither Airflow, Spark nor a data frame
library comes with ``import airflow_dataflow_provider``.
"""

from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.errors import (
    DataError,
    DataflowError,
    DefinitionError,
    OwnershipError,
    StateError,
    SubmissionError,
)
from airflow_dataflow_provider.model.modes import Boundedness, RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.sinks import PaneLog
from airflow_dataflow_provider.model.sources import DelayWatermark, Files
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, SequenceOf
from airflow_dataflow_provider.model.windows import FixedWindows, GlobalWindows, Window

__version__ = "0.1.0"

__all__ = [
    "ACCUMULATING",
    "ACCUMULATING_AND_RETRACTING",
    "DISCARDING",
    "AtWatermark",
    "Boundedness",
    "Combiner",
    "Count",
    "DataError",
    "DataflowError",
    "DefinitionError",
    "DelayWatermark",
    "Files",
    "FixedWindows",
    "GlobalWindows",
    "Max",
    "Mean",
    "Min",
    "OwnershipError",
    "PaneLog",
    "Pipeline",
    "Refinement",
    "Repeat",
    "RuntimeMode",
    "SequenceOf",
    "StateError",
    "SubmissionError",
    "Sum",
    "Window",
]
