"""Trigger trees to compiled nodes. Each kind of node is registered beside its class."""

from __future__ import annotations

from functools import singledispatch

from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.spark.kernel.triggers.node import Node, Percentiles
from airflow_dataflow_provider.spark.kernel.triggers.user_defined import UserTriggerNode


@singledispatch
def compile_trigger(trigger: Trigger, percentiles: Percentiles, path: str) -> Node:
    """The column-wise form of a trigger tree.

    A trigger without a registered node works, too: its own Python methods are called for each window and element.

    Args:
        trigger: the tree.
        percentiles: those that the whole tree looks at.
        path: names the state columns; part ``i`` of a composite has ``path.i``.
    """
    return UserTriggerNode(path, trigger, percentiles)
