"""FLIP-134's policies for the end of a bounded input, chosen at submission.

They belong to a run, not to the definition: one pipeline can run as a nightly batch that waits for all input, and as a
morning batch that publishes before all input is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn, TypeVar

from airflow_dataflow_provider.model.errors import DefinitionError, SubmissionError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.triggers import AtWatermark
from airflow_dataflow_provider.model.watermarks import percentile_text

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.pipeline import Pipeline


class ProcessingTimeAtEndOfInput(StrEnum):
    """The policy for triggers that wait for a processing time when a bounded input ends.

    In a batch no such trigger is due before the end of the input, so that the result does not depend on the duration of
    the run. At the drain of a stream those that are due by then have fired.
    """

    FIRE = "fire"
    """All pending triggers are due once, for every window with new elements that waits for a processing time."""
    IGNORE = "ignore"
    """They are not due. Their unpublished elements stay in the state, for a later run."""
    FAIL = "fail"
    """The run fails if FIRE would publish a pane that IGNORE does not, and publishes nothing of the last epoch. It
    computes that epoch twice to find out, before it plans it."""


class ShuffleMode(StrEnum):
    """The shuffle from the map side to the state partitions; FLIP-134's values, on Spark.

    An epoch has as many reduce tasks as the state has partitions (``dataflow.state.partitions``, fixed when the state
    is created, since the state is stored by partition). Adaptive query execution and ``spark.sql.shuffle.partitions``
    have no effect: an epoch is not a SQL query.
    """

    AUTOMATIC = "automatic"
    """The engine chooses for each epoch: an epoch with few rows and open windows is reduced in the driver, without an
    exchange; all others are blocking."""
    ALL_EXCHANGES_BLOCKING = "all-exchanges-blocking"
    """Every epoch with elements has an exchange: its map tasks write all shuffle files before the first reduce task
    reads one."""
    ALL_EXCHANGES_PIPELINED = "all-exchanges-pipelined"
    """Refused in every mode: in Spark the two sides of a shuffle do not run at the same time."""


FIRE, IGNORE, FAIL = ProcessingTimeAtEndOfInput
_Choice = TypeVar("_Choice", ProcessingTimeAtEndOfInput, ShuffleMode)


@dataclass(frozen=True, slots=True)
class BatchPolicies:
    """The policies of one run.

    Args:
        processing_time_at_end_of_input: the policy; None is FIRE. Micro-batch runs refuse one, since their input does
            not end.
        allow_processing_time: False refuses, before the run starts, a plan whose triggers or event times depend on
            processing time: its result would depend on when it runs.
        shuffle_mode: the shuffle.
        input_share: publish once this share of the input's bytes is read, above 0 and at most 1, and leave the rest for
            a later run on the same state: 0.95 fires ``AtWatermark(95)``. None: wait for everything. Only for a batch
            without an interval.

    Raises:
        DefinitionError: ``SUBMIT_POLICY`` for any other value.
    """

    processing_time_at_end_of_input: ProcessingTimeAtEndOfInput | None = None
    allow_processing_time: bool = True
    shuffle_mode: ShuffleMode = ShuffleMode.AUTOMATIC
    input_share: float | None = None

    def __post_init__(self) -> None:
        if self.processing_time_at_end_of_input is not None:
            chosen = _one_of(
                ProcessingTimeAtEndOfInput, self.processing_time_at_end_of_input, "processing_time_at_end_of_input"
            )
            object.__setattr__(self, "processing_time_at_end_of_input", chosen)
        object.__setattr__(self, "shuffle_mode", _one_of(ShuffleMode, self.shuffle_mode, "shuffle_mode"))
        if self.input_share is not None:
            object.__setattr__(self, "input_share", _share(self.input_share))

    @property
    def at_end_of_input(self) -> ProcessingTimeAtEndOfInput:
        return self.processing_time_at_end_of_input or FIRE

    @property
    def waits_for_everything(self) -> bool:
        """Whether no input is left out."""
        return self.input_share is None or self.input_share == 1

    def arguments(self) -> list[str]:
        """The policies as command line arguments, without those at their default."""
        default, words = BatchPolicies(), list[str]()
        if self.processing_time_at_end_of_input is not None:
            words += ["--processing-time-at-end-of-input", self.processing_time_at_end_of_input]
        if not self.allow_processing_time:
            words += ["--no-allow-processing-time"]
        if self.shuffle_mode is not default.shuffle_mode:
            words += ["--shuffle-mode", self.shuffle_mode]
        if self.input_share is not None:
            words += ["--input-share", repr(self.input_share)]
        return words

    def check(self, pipeline: Pipeline, mode: RuntimeMode, *, has_interval: bool) -> None:
        """Refuse policies that this mode or this plan cannot follow.

        Args:
            pipeline: the plan.
            mode: the mode of the run, with AUTOMATIC resolved.
            has_interval: whether a batch is over an interval.

        Raises:
            SubmissionError: ``SUBMIT_PROCESSING_TIME``, ``SUBMIT_SHUFFLE_MODE``, ``SUBMIT_INPUT_SHARE``.
        """
        self._check_processing_time(pipeline, mode, has_interval=has_interval)
        if self.shuffle_mode is ShuffleMode.ALL_EXCHANGES_PIPELINED:
            raise SubmissionError(
                "shuffle_mode=all-exchanges-pipelined is not applicable on Spark",
                reason="in every Spark job, and so in every epoch, reduce tasks start once all map tasks have written "
                "their shuffle files",
                hint="choose automatic or all-exchanges-blocking",
                code="SUBMIT_SHUFFLE_MODE",
            )
        if self.input_share is not None:
            _check_input_share(self.input_share, pipeline, mode, has_interval=has_interval)

    def _check_processing_time(self, pipeline: Pipeline, mode: RuntimeMode, *, has_interval: bool) -> None:
        looks = processing_time_in(pipeline)
        if looks and not self.allow_processing_time:
            _refuse_processing_time(
                f"{' and '.join(looks)} looks at processing time, which this run does not allow",
                reason="the result would depend on the time and duration of the run",
                hint="allow it, or use triggers and event times that do not look at processing time",
            )
        if self.processing_time_at_end_of_input is not None and mode is RuntimeMode.MICRO_BATCH:
            _refuse_processing_time(
                f"processing_time_at_end_of_input={self.at_end_of_input} was asked for in mode micro-batch",
                reason="such a run ends before its input does, and pending triggers wait for the next run",
                hint="leave it out, or choose batch",
            )
        if looks and has_interval and self.at_end_of_input is not FIRE:
            _refuse_processing_time(
                f"processing_time_at_end_of_input={self.at_end_of_input} was asked for over an interval, and "
                f"{' and '.join(looks)} looks at processing time",
                reason="an interval keeps no state, so windows that it does not publish would lose their results",
                hint="use fire, or run without an interval",
            )


def processing_time_in(pipeline: Pipeline) -> tuple[str, ...]:
    """The parts of a plan that depend on processing time, as code."""
    source = pipeline.source
    event_time = (f"event_time={source.event_time!r}",) if source.has_perfect_watermark else ()
    nodes = (node for grouping in pipeline.groupings for node in grouping.trigger.walk())
    return (*event_time, *dict.fromkeys(repr(node) for node in nodes if node.looks_at_processing_time))


def _share(value: object) -> float:
    """Read a share of the input.

    Raises:
        DefinitionError: ``SUBMIT_POLICY``.
    """
    try:
        share = float(str(value))
    except ValueError:
        share = float("nan")
    if not 0 < share <= 1:
        meant = repr(share_of(share)) if 1 < share <= 100 else "0.95"
        raise DefinitionError(
            f"input_share={value!r} is not a share",
            reason="it is a part of the input, above 0 and at most 1",
            hint=f"say {meant} for {percent_of(float(meant))} % of the input",
            code="SUBMIT_POLICY",
        )
    return share


def share_of(percentile: float) -> float:
    """The share of the input that completes the watermark of a percentile."""
    return float(Decimal(repr(percentile)) / 100)


def percent_of(share: float) -> str:
    """A share in percent, as the percentile of the watermark that it completes."""
    return percentile_text(float(Decimal(repr(share)) * 100))


def _check_input_share(share: float, pipeline: Pipeline, mode: RuntimeMode, *, has_interval: bool) -> None:
    asked, percent = f"input_share={share!r}", percent_of(share)
    if mode is not RuntimeMode.BATCH:
        raise SubmissionError(
            f"{asked} was asked for in mode {mode.value}",
            reason="it is the share of a bounded input after which a batch publishes; other runs publish by the "
            "watermarks of their triggers",
            hint="leave it out, or choose batch",
            code="SUBMIT_INPUT_SHARE",
        )
    if has_interval:
        raise SubmissionError(
            f"{asked} was asked for over an interval",
            reason="a batch over an interval keeps no state, so input that is left out could not be added later",
            hint="leave it out, or run without an interval",
            code="SUBMIT_INPUT_SHARE",
        )
    leaves = [node for node in pipeline.groupings[0].trigger.walk() if not node.children()]
    if share < 1 and all(isinstance(leaf, AtWatermark) and leaf.percentile > float(percent) for leaf in leaves):
        raise SubmissionError(
            f"{asked} was asked for, but {pipeline.groupings[0].trigger!r} looks at no watermark up to {percent} %",
            reason=f"the run would read {percent} % of its input and publish nothing",
            hint=f"add one, for example SequenceOf(AtWatermark({percent}), Repeat(AtWatermark()))",
            code="SUBMIT_INPUT_SHARE",
        )


def _refuse_processing_time(what: str, *, reason: str, hint: str) -> NoReturn:
    raise SubmissionError(what, reason=reason, hint=hint, code="SUBMIT_PROCESSING_TIME")


def _one_of(choices: type[_Choice], value: str, what: str) -> _Choice:
    """Read a choice as users write it (case and ``_``/``-`` do not matter)."""
    try:
        return choices(value.strip().lower().replace("_", "-"))
    except (ValueError, AttributeError):
        raise DefinitionError(
            f"{what}={value!r} is not a policy",
            hint=f"choose one of {', '.join(choices)}",
            code="SUBMIT_POLICY",
        ) from None
