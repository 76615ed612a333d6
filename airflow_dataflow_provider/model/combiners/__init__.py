"""What is computed: combiners, associative and commutative (Dataflow Model, section 3.2).

A combiner that reads a column skips its nulls. What each can take back, and what it keeps where it cannot, is in its
docstring and in ``docs/reference/combiners.md``.
"""

from airflow_dataflow_provider.model.combiners.arithmetic import Count, ExactSum, Mean, Sum
from airflow_dataflow_provider.model.combiners.by_time import Collect, First, Last
from airflow_dataflow_provider.model.combiners.distribution import CountDistinct, Quantiles
from airflow_dataflow_provider.model.combiners.extremes import Max, Min, TopK
from airflow_dataflow_provider.model.combiners.protocol import Accumulator, Combiner, KeepingValues
from airflow_dataflow_provider.model.combiners.spread import StdDev, Variance
from airflow_dataflow_provider.model.combiners.vectorised import VectorisedCombiner

__all__ = [
    "Accumulator",
    "Collect",
    "Combiner",
    "Count",
    "CountDistinct",
    "ExactSum",
    "First",
    "KeepingValues",
    "Last",
    "Max",
    "Mean",
    "Min",
    "Quantiles",
    "StdDev",
    "Sum",
    "TopK",
    "Variance",
    "VectorisedCombiner",
]
