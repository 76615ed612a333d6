"""Windows, and the strategies that assign them (Dataflow Model, section 2.2).

Every strategy assigns windows to one element at a time, and may merge them per key. Engines have faster
implementations of the strategies of this package.
"""

from airflow_dataflow_provider.model.windows.calendar import CalendarUnit, CalendarWindows
from airflow_dataflow_provider.model.windows.fixed import FixedWindows, GlobalWindows
from airflow_dataflow_provider.model.windows.sessions import SessionWindows, merge_intersecting
from airflow_dataflow_provider.model.windows.sliding import SlidingWindows
from airflow_dataflow_provider.model.windows.strategy import WindowStrategy
from airflow_dataflow_provider.model.windows.window import Window

__all__ = [
    "CalendarUnit",
    "CalendarWindows",
    "FixedWindows",
    "GlobalWindows",
    "SessionWindows",
    "SlidingWindows",
    "Window",
    "WindowStrategy",
    "merge_intersecting",
]
