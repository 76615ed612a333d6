"""The operator of batch runs: over an interval of event time, or over the whole input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Duration, to_micros
from airflow_dataflow_provider.operators.finite import FiniteRunOperator
from airflow_dataflow_provider.operators.grain import Grain
from airflow_dataflow_provider.operators.interval import Moment, explicit_interval, interval_of
from airflow_dataflow_provider.operators.templating import is_literal, with_absent_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context
    from jinja2 import Environment


class DataflowBatchOperator(FiniteRunOperator):
    """Runs a pipeline in batch mode over the interval of the DAG run.

    The interval is the first of these that is given: ``data_from`` and ``data_to``; ``from`` and ``to`` in the DAG
    run's conf; the partition key; the data interval, if it has a width. Without any of them the task fails.

    Args:
        data_from: the start of the interval. Templated.
        data_to: its end. Templated.
        partition_grain: the length of a partition, for partition keys that hold only its start: ``"hour"``, ``"day"``,
            ``"week"``, ``"month"``, or a duration. Days, weeks and months are those of the calendar in
            ``partition_timezone``: a day on which clocks change has 23 or 25 hours.
        partition_timezone: the time zone of the timetable, for partition keys without an offset.
        whole_input: run over the whole input, without an interval.
        input_share: publish once this share (for example 0.95) of the whole input's bytes is read, and leave out the
            rest, which the next run on the state reads. The returned status lists it (``left_out``).
        **kwargs: as :class:`~airflow_dataflow_provider.operators.finite.FiniteRunOperator`.

    Raises:
        DefinitionError: when the DAG is parsed, for a wrong argument that is not a template.
    """

    template_fields: Sequence[str] = (*FiniteRunOperator.template_fields, "data_from", "data_to")
    mode: ClassVar[str] = "batch"

    def __init__(
        self,
        *,
        data_from: Moment | None = None,
        data_to: Moment | None = None,
        partition_grain: Duration | None = None,
        partition_timezone: str = "UTC",
        whole_input: bool = False,
        input_share: float | None = None,
        **kwargs: Any,  # noqa: ANN401 - Airflow's own
    ) -> None:
        super().__init__(**kwargs)
        self.data_from = data_from
        self.data_to = data_to
        self.partition_grain = None if partition_grain is None else Grain.read(partition_grain)
        self.partition_timezone = partition_timezone
        self.whole_input = whole_input
        self.input_share = input_share
        self._check()

    def _check(self) -> None:
        given = {"data_from": self.data_from, "data_to": self.data_to}
        if self.whole_input and any(moment is not None for moment in given.values()):
            raise DefinitionError(
                "whole_input=True was given together with an interval",
                hint="give one of the two",
                code="SUBMIT_INTERVAL",
            )
        self._policies = self._checked_policies(self.input_share)
        if self.input_share is not None and not self.whole_input:
            raise DefinitionError(
                f"input_share={self.input_share!r} was given for a batch over an interval",
                reason="a batch over an interval keeps no state, so input that is left out could not be added later",
                hint="drop it, or set whole_input=True",
                code="SUBMIT_INPUT_SHARE",
            )
        literal = [moment for moment in given.values() if moment is None or is_literal(moment)]
        for name, moment in given.items():
            if is_literal(moment):
                to_micros(moment, what=name)
        if len(literal) == len(given):
            explicit_interval(self.data_from, self.data_to)
        try:
            ZoneInfo(self.partition_timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise DefinitionError(
                f"partition_timezone={self.partition_timezone!r} is not a time zone",
                hint='give an IANA name, for example "Europe/Vienna"',
                code="TIME_ZONE",
            ) from None

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """Render the templates. In a run without a data interval its names are ``None``, which is refused later."""
        super().render_template_fields(with_absent_interval(context), jinja_env)

    def _arguments(self, context: Context) -> list[str]:
        if self.whole_input:
            return []
        interval = interval_of(
            context,
            data_from=self.data_from,
            data_to=self.data_to,
            partition_grain=self.partition_grain,
            partition_timezone=self.partition_timezone,
        )
        self.log.info("interval %s", interval)
        return interval.arguments()
