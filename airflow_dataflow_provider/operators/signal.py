"""Signal: tell the triggers of a pipeline that something has happened outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_dataflow_provider.hooks.reference import PipelineReference
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.templating import is_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context


class DataflowSignalOperator(BaseOperator):
    """Raises a signal that ``AtSignal`` triggers of a pipeline wait for.

    It is done once the request is in the state. The driver that runs hears it with its next epoch; where none runs, the
    next one does. Raised twice before that, it is one signal; a task that is cleared later raises it anew.

    Args:
        signal: its name, as in ``AtSignal("publish")``. Templated.
        pipeline: whose default state it is about; or
        state: the URL of the state. Both templated.
        dataflow_conn_id: the connection of type ``dataflow``.
        **kwargs: as ``BaseOperator``.

    Returns:
        The id of the request, which the plan of the epoch that hears it names.
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
        if pipeline is None and state is None:
            raise DefinitionError(
                "no pipeline to signal is named", hint="give pipeline=... or state=...", code="SUBMIT_PIPELINE"
            )
        if is_literal(pipeline):
            PipelineReference.parse(pipeline)
        self.signal = signal
        self.pipeline = pipeline
        self.state = state
        self.dataflow_conn_id = dataflow_conn_id

    def execute(self, context: Context) -> str:  # noqa: ARG002 - Airflow's signature
        """Raise it.

        Raises:
            AirflowFailException: no trigger listens to it, or the pipeline has never run.
        """
        from airflow_dataflow_provider.hooks.dataflow import DataflowHook

        with as_task_failure():
            hook = DataflowHook(self.dataflow_conn_id)
            return hook.raise_signal(self.state or hook.state_url(str(self.pipeline)), self.signal)
