"""Where in event time: windows and the strategies that assign them (Dataflow Model, section 2.2).

Every strategy is unaligned in the model: it assigns windows to one element at a time, and may merge them per key.
Engines do better where they know the strategy.
"""

from airflow_dataflow_provider.model.windows.calendar import CalendarUnit, CalendarWindows
from airflow_dataflow_provider.model.windows.fixed import FixedWindows, GlobalWindows
from airflow_dataflow_provider.model.windows.sessions import SessionWindows, merge_intersecting
from airflow_dataflow_provider.model.windows.sliding import SlidingWindows
from airflow_dataflow_provider.model.windows.strategy import Merged, WindowStrategy
from airflow_dataflow_provider.model.windows.window import GLOBAL_WINDOW, Key, Window, expired_until

__all__ = [
    "GLOBAL_WINDOW",
    "CalendarUnit",
    "CalendarWindows",
    "FixedWindows",
    "GlobalWindows",
    "Key",
    "Merged",
    "SessionWindows",
    "SlidingWindows",
    "Window",
    "WindowStrategy",
    "expired_until",
    "merge_intersecting",
]
