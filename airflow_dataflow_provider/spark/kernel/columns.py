"""The columns of frames: those of elements, of partial accumulators, and of open windows."""

from __future__ import annotations

from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME as ARRIVAL
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.spark.aggregates import SIGN

START, END = "_start", "_end"
"""A window's bounds, in microseconds."""
FRESH = "_fresh"
"""Whether elements have come since the last pane; where no trigger needs their arrival time."""
FIRST_ARRIVAL = "_first_arrival"
"""The earliest arrival since the last pane; ``NOT_FRESH`` if no element has come."""
EARLIEST, LATEST = "_earliest", "_latest"
"""The event times of a window's earliest and latest element."""
ELEMENTS = "_elements"
"""Elements less retracted ones."""
INDEX, PASSED, FINISHED = "_index", "_passed", "_finished"
ID = "_id"
"""The number of a window that can merge: its bounds change."""
LAST_PUBLISHED = "_standing"
TIMESTAMP = "_timestamp"
"""The event time of a pane as an element of the next grouping."""
ORDER = ("_order_start", "_order_key", "_order_index")
"""Where a result stands among those of one event time, in the order in which the next grouping takes them."""
RIGHT = "_right"
"""The suffix of the second of two accumulators side by side."""

__all__ = [
    "ARRIVAL",
    "EARLIEST",
    "ELEMENTS",
    "END",
    "EVENT",
    "FINISHED",
    "FIRST_ARRIVAL",
    "FRESH",
    "ID",
    "INDEX",
    "LAST_PUBLISHED",
    "LATEST",
    "ORDER",
    "PASSED",
    "RIGHT",
    "SIGN",
    "START",
    "TIMESTAMP",
]
