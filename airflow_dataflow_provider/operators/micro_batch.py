"""Micro-batch: one scheduled run over what has come since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_dataflow_provider.operators.finite import FiniteRunOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class DataflowMicroBatchOperator(FiniteRunOperator):
    """Runs the epochs of the backlog that is there, publishes what they completed, and keeps the state.

    All runs of a DAG go on with one state, so they follow one another: a run that finds another one on the state waits
    (``wait_for_state``). Give the DAG ``max_active_runs=1`` to have them run in order.

    The data interval plays no part: a run takes up the source where the state stands.

    Args:
        **kwargs: as :class:`~airflow_dataflow_provider.operators.finite.FiniteRunOperator`.
    """

    mode: ClassVar[str] = "micro-batch"

    def _arguments(self, context: Context) -> list[str]:  # noqa: ARG002 - other modes look at it
        return []
