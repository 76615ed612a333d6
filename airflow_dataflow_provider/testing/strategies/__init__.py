"""Hypothesis strategies: pipelines, elements out of order, and scripts of epochs, to compare engines with each other.

All that is generated reads the same input: the key columns ``key`` (text) and ``site`` (integer), the value columns
``whole`` (integer) and ``part`` (a multiple of 0.25), each with nulls, and the event time ``happened``. The values are
such that floating-point sums are exact, so that results can be compared with ``==`` whatever the order of addition.
"""

from airflow_dataflow_provider.testing.strategies.aggregations import COMBINER_FAMILIES, combiners
from airflow_dataflow_provider.testing.strategies.arrivals import Case, cases, elements, scripts
from airflow_dataflow_provider.testing.strategies.definitions import (
    latenesses,
    output_times,
    pipelines,
    refinements,
    result_triggers,
    two_groupings,
    watermark_policies,
)
from airflow_dataflow_provider.testing.strategies.moments import SECOND, SPAN, START, event_times, starts_for
from airflow_dataflow_provider.testing.strategies.par_do_steps import par_dos, result_steps
from airflow_dataflow_provider.testing.strategies.trigger_trees import (
    TRIGGER_FAMILIES,
    clock_triggers,
    element_triggers,
    leaf_triggers,
    patterns,
    predicates,
    trees,
    triggers,
    watermark_triggers,
)
from airflow_dataflow_provider.testing.strategies.window_kinds import (
    WINDOW_FAMILIES,
    calendar_windows,
    fixed_windows,
    global_windows,
    own_aligned_windows,
    own_merging_windows,
    session_windows,
    sliding_windows,
    windows,
)

__all__ = [
    "COMBINER_FAMILIES",
    "SECOND",
    "SPAN",
    "START",
    "TRIGGER_FAMILIES",
    "WINDOW_FAMILIES",
    "Case",
    "calendar_windows",
    "cases",
    "clock_triggers",
    "combiners",
    "element_triggers",
    "elements",
    "event_times",
    "fixed_windows",
    "global_windows",
    "latenesses",
    "leaf_triggers",
    "output_times",
    "own_aligned_windows",
    "own_merging_windows",
    "par_dos",
    "patterns",
    "pipelines",
    "predicates",
    "refinements",
    "result_steps",
    "result_triggers",
    "scripts",
    "session_windows",
    "sliding_windows",
    "starts_for",
    "trees",
    "triggers",
    "two_groupings",
    "watermark_policies",
    "watermark_triggers",
    "windows",
]
