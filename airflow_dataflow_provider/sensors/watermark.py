"""A sensor that waits until a pipeline is complete up to a time, at a percentile."""

from __future__ import annotations

import datetime as dt
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from airflow_dataflow_provider.model.time import iso, to_micros
from airflow_dataflow_provider.model.watermarks import percentile as check_percentile
from airflow_dataflow_provider.operators.failures import as_task_failure
from airflow_dataflow_provider.operators.templating import check_pipeline_or_state, is_literal, with_absent_interval
from airflow_dataflow_provider.operators.waiting import deferrable_by_default, seconds
from airflow_dataflow_provider.triggers.question import WatermarkQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context
    from jinja2 import Environment


class WatermarkSensor(BaseSensorOperator):
    """Waits until ``W_percentile`` of a pipeline reaches ``target``: that share of the older events has then arrived.

    Batch runs over intervals move no watermark; they compute the windows that end in their intervals. For them
    ``target`` is reached once the windows that end at ``target`` are computed; with ``start``, once all that end in
    ``(start, target]`` are. So the sensor of a day whose run failed still waits when the run of a later day succeeds.

    There are three answers: *reached* (the task succeeds), *not yet* (it waits), and *never* (it fails with the reason:
    the stream has ended, or its estimator cannot claim the percentile). The task is retried only if the stream failed
    or was lost, since it may be started again. For a scheduled pipeline between two runs the answer is *not yet*.

    Args:
        target: the time to be reached, an aware datetime or ISO 8601 with an offset. Templated.
        start: where batches run over intervals, wait for every window that ends after this time and up to ``target``,
            for example ``"{{ data_interval_start }}"`` if the windows are shorter than the interval. Templated.
        pipeline: ``"module:attribute"``, to wait for its default state; or
        state: the URL of the state. Both templated.
        percentile: the percentile of the watermark; 100 is the ordinary one. Templated.
        dataflow_conn_id: the connection of type ``dataflow``.
        grace: how long a stream may be without a driver before the answer is *never*; a number is seconds. In that time
            a ``DataflowStreamOperator`` may start it again.
        deferrable: wait in the triggerer; by default the option ``[operators] default_deferrable``.
        poke_interval: seconds between two looks.
        **kwargs: as ``BaseSensorOperator``, for example ``timeout``.

    Returns:
        ``{"watermark": ..., "epoch": ..., "percentile": ..., "target": ..., "pipeline": ..., "reason": ..., ...}``.

    Raises:
        DefinitionError: when the DAG is parsed, for a wrong percentile or target that is not a template.
    """

    template_fields: Sequence[str] = ("pipeline", "state", "percentile", "target", "start")
    ui_color: str = "#cfe2f3"

    def __init__(
        self,
        *,
        target: str | dt.datetime,
        start: str | dt.datetime | None = None,
        pipeline: str | None = None,
        state: str | None = None,
        percentile: float | str = 100,
        dataflow_conn_id: str = "dataflow_default",
        grace: float | dt.timedelta = 300.0,
        deferrable: bool | None = None,
        poke_interval: float | dt.timedelta = 30.0,
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        check_pipeline_or_state(pipeline, state)
        if is_literal(percentile) or isinstance(percentile, int | float):
            check_percentile(percentile)
        if is_literal(target) or isinstance(target, dt.datetime):
            to_micros(target, what="target")
        if is_literal(start) or isinstance(start, dt.datetime):
            to_micros(start, what="start")
        self.target = target
        self.start = start
        self.pipeline = pipeline
        self.state = state
        self.percentile = percentile
        self.dataflow_conn_id = dataflow_conn_id
        self.grace = seconds(grace)
        self.deferrable = deferrable_by_default() if deferrable is None else deferrable

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """Render the templates. In a run without a data interval its names are ``None``, which is refused later."""
        super().render_template_fields(with_absent_interval(context), jinja_env)

    @cached_property
    def question(self) -> WatermarkQuestion:
        """The question, from rendered templates; only for a running task."""
        state = self.state
        if not state:
            # It imports the Spark provider, which must not be imported while a DAG is parsed.
            from airflow_dataflow_provider.hooks.dataflow import DataflowHook

            state = DataflowHook(self.dataflow_conn_id).state_url(str(self.pipeline))
        return WatermarkQuestion.read(state, self.percentile, self.target, self.start, grace=self.grace)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Ask once.

        Raises:
            AirflowFailException: the answer is *never*, and a retry would get the same; or the question is not valid.
            AirflowException: the answer is *never*, and a retry may get another.
        """
        with as_task_failure():
            answer, facts = self.question.ask()
        self.log.info("%s", answer.reason)
        if answer.never:
            raise self._failure(facts)
        return PokeReturnValue(answer.reached, facts if answer.reached else None)

    def execute(self, context: Context) -> Any:  # noqa: ANN401, RET503 - Airflow's signature; defer() does not return
        """Wait, in the worker or in the triggerer."""
        if not self.deferrable:
            return super().execute(context)
        try:
            first = self.poke(context)
        except AirflowException as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise
        if first.is_done:
            return first.xcom_value
        # DAG files must not import Airflow's triggers when they are parsed.
        from airflow_dataflow_provider.triggers.watermark import WatermarkTrigger

        self.defer(
            trigger=WatermarkTrigger(
                state=self.question.state,
                percentile=self.question.percentile,
                target=iso(self.question.target),
                start=None if self.question.start is None else iso(self.question.start),
                grace=self.grace,
                poke_interval=self.poke_interval,
            ),
            method_name="execute_complete",
            timeout=dt.timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Take the triggerer's answer.

        Raises:
            AirflowFailException: the answer is *never*, and a retry would get the same.
            AirflowException: the answer is *never*, and a retry may get another.
        """
        self.log.info("%s", event["reason"])
        if event["answer"] == "reached":
            return event
        raise self._failure(event)

    def _failure(self, facts: dict[str, Any]) -> AirflowException:
        """The exception for the answer *never*: without retries where a retry is of no use or not wanted."""
        final = facts.get("lasting", True) or self.soft_fail or self.never_fail
        return (AirflowFailException if final else AirflowException)(facts["reason"])
