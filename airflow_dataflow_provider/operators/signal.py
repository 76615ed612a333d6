"""The operator that raises a signal for the triggers of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.templating import check_pipeline_or_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context


class DataflowSignalOperator(BaseOperator):
    """Raises a signal that ``AtSignal`` triggers of a pipeline wait for.

    The task succeeds once the request is stored in the state. The next epoch takes the signal, in the present run or in
    a later one. Raised twice before that epoch, it counts once. A task that is cleared later raises it anew.

    Args:
        signal: its name, as in ``AtSignal("publish")``. Templated.
        pipeline: ``"module:attribute"``, to signal the driver of its default state; or
        state: the URL of the state. Both templated.
        dataflow_conn_id: the connection of type ``dataflow``.
        **kwargs: as ``BaseOperator``.

    Returns:
        The id of the request. The plan of the epoch that takes it names it.
    """

    template_fields: Sequence[str] = ("signal", "pipeline", "state")
    ui_color: str = "#fff2cc"

    def __init__(
        self,
        *,
        signal: str,
        pipeline: str | None = None,
        state: str | None = None,
        dataflow_conn_id: str = "dataflow_default",
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(**kwargs)
        check_pipeline_or_state(pipeline, state)
        self.signal = signal
        self.pipeline = pipeline
        self.state = state
        self.dataflow_conn_id = dataflow_conn_id

    def execute(self, context: Context) -> str:  # noqa: ARG002 - Airflow's signature
        """Raise the signal.

        Raises:
            AirflowFailException: no trigger waits for it, or the pipeline has never run.
        """
        from airflow_dataflow_provider.hooks.dataflow import DataflowHook

        with as_task_failure():
            hook = DataflowHook(self.dataflow_conn_id)
            return hook.raise_signal(self.state or hook.state_url(str(self.pipeline)), self.signal)
