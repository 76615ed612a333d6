"""The operator of micro-batch runs: one scheduled run over the input that is new since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_dataflow_provider.operators.finite import FiniteRunOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class DataflowMicroBatchOperator(FiniteRunOperator):
    """Reads the backlog in epochs, publishes their panes, and keeps the state.

    All runs of a DAG share one state, so only one runs at a time: a run waits while another owns the state
    (``wait_for_state``). Give the DAG ``max_active_runs=1`` to have them run in order.

    The data interval is not used: a run continues where the last one has stopped reading.

    Args:
        **kwargs: as :class:`~airflow_dataflow_provider.operators.finite.FiniteRunOperator`.
    """

    mode: ClassVar[str] = "micro-batch"

    def _arguments(self, context: Context) -> list[str]:  # noqa: ARG002 - other modes need it
        return []
