"""The choice of a kernel's windower."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.windows import SessionWindows, SlidingWindows
from airflow_dataflow_provider.spark.kernel.by_element import ByElement
from airflow_dataflow_provider.spark.kernel.by_run import SessionsByRun
from airflow_dataflow_provider.spark.kernel.folding import Folding, SliceFolding
from airflow_dataflow_provider.spark.kernel.merging import OneByOneMerging, SessionMerging

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.windower import Windower


@lru_cache(maxsize=16)
def windower_for(kernel: Kernel) -> Windower:
    """How elements get into the open windows of a grouping; chosen once for each kernel."""
    return _strategy(kernel.grouping, input_retracts=kernel.input_retracts)(kernel)


def _strategy(grouping: Grouping, *, input_retracts: bool) -> type[Windower]:
    window, by_element = grouping.window, grouping.trigger.looks_at_elements
    if not window.merges:
        if by_element:
            return ByElement
        return SliceFolding if isinstance(window, SlidingWindows) else Folding
    # The user's own way of merging may depend on the order of elements; that of sessions does not.
    if not isinstance(window, SessionWindows) or (by_element and input_retracts):
        return OneByOneMerging
    return SessionsByRun if by_element else SessionMerging
