"""Is a watermark there: reached, not yet, or never, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import percentile as check_percentile
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.progress.status import Status


class Verdict(StrEnum):
    """The three answers."""

    REACHED = "reached"
    NOT_YET = "not yet"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict with its reason.

    Guarantees:
        There is always a reason, fit to be shown to a person as it is.
    """

    verdict: Verdict
    because: str

    def __post_init__(self) -> None:
        if not self.because.strip():
            raise DefinitionError(f"the answer {self.verdict!s} gives no reason", code="DEFINITION_ANSWER")

    @property
    def reached(self) -> bool:
        """Whether what was asked for is there, and will stay."""
        return self.verdict is Verdict.REACHED

    @property
    def never(self) -> bool:
        """Whether waiting is in vain, unless somebody does something."""
        return self.verdict is Verdict.NEVER


REACHED: Final = Verdict.REACHED
NOT_YET: Final = Verdict.NOT_YET
NEVER: Final = Verdict.NEVER

_ENDED: Final = {
    "stopped": "was stopped",
    "failed": "failed",
    "lost": "lost its driver, which is gone or has been silent for too long",
}


def ask_watermark(status: Status | None, *, percentile: float, target: Micros) -> Answer:
    """Whether a pipeline's published watermark has reached a time.

    A stream that has ended says *never*: nothing will move it. Scheduled runs say *not yet* whatever became of the last
    one: their schedule starts the next.

    Args:
        status: the pipeline's; None if it has no state yet.
        percentile: the share of the events, above 0 and at most 100.
        target: the time to be reached, in microseconds since the epoch.

    Raises:
        DefinitionError: ``DEFINITION_PERCENTILE``.
    """
    share = check_percentile(percentile)
    name = f"W_{percentile_text(share)}"
    if status is None:
        return Answer(NOT_YET, f"the pipeline has no state yet; {name} is waited for to reach {iso(target)}")
    watermark = status.watermarks.at(share)
    has = f"{name} is {'not known yet' if watermark == MIN_TIME else iso(watermark)}, {iso(target)} is waited for"
    if watermark >= target:
        return Answer(REACHED, f"{name} of {status.pipeline!r} is {iso(watermark)}, at or past {iso(target)}")
    left_out = status.left_out
    if status.state == "completed" and status.interval is None and left_out is not None:
        if share <= left_out.percent_read:
            read = f"{left_out.percent_read:.4g} % of its input"
            return Answer(REACHED, f"the batch run of {status.pipeline!r} has read {read}, up to {iso(target)}")
        todo = "the next run without a percentile reads it"
        return Answer(NOT_YET, f"the batch run of {status.pipeline!r} has left out {left_out.describe()}; {todo}")
    if status.state == "completed" and (status.interval is None or status.interval[1] >= target):
        return Answer(REACHED, f"the batch run of {status.pipeline!r} has read all of its input, up to {iso(target)}")
    if share > status.claimable:
        return Answer(
            NEVER,
            f"{status.pipeline!r} can claim its watermark up to percentile {percentile_text(status.claimable)}, "
            f"not {percentile_text(share)} ({has}): ask for a lower percentile",
        )
    if status.mode == "streaming" and status.state in _ENDED:
        said = f" ({status.detail})" if status.detail else ""
        return Answer(
            NEVER,
            f"the stream {status.pipeline!r} {_ENDED[status.state]}{said}, and nothing moves its watermark: {has}. "
            "Start the stream again, then clear this task",
        )
    return Answer(NOT_YET, f"{status.pipeline!r} ({status.mode or 'not run yet'}) is {status.state}: {has}")
