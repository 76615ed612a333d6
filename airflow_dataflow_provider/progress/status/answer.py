"""Is a watermark there: reached, not yet, or never, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import percentile as check_percentile
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.status.status import Status


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

    Args:
        verdict: the answer.
        reason: why.
        lasting: of *never*, whether it stays so until somebody does something. What may pass is worth a retry.
    """

    verdict: Verdict
    reason: str
    lasting: bool = True

    def __post_init__(self) -> None:
        if not self.reason.strip():
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


def ask_watermark(
    status: Status | None,
    *,
    percentile: float,
    target: Micros,
    start: Micros | None = None,
    now: Micros | None = None,
    grace: Micros = 0,
) -> Answer:
    """Whether a pipeline is complete up to a time: by its published watermark, or because batches have computed it.

    A stream publishes a watermark, and that claims everything older. A batch over an interval claims the windows that
    end in the interval, and no others: neither those before it nor those in a gap between two intervals. So ``target``
    alone asks for the windows that end at ``target``, and ``start`` for all that end after ``start`` and up to
    ``target``. A batch over everything claims what is older than the moment at which it ran.

    A stream that has ended says *never* once it has been without a driver for ``grace``: nothing will move it. One that
    failed or was lost may be started again by its schedule, so that answer does not last. Scheduled runs say *not yet*
    whatever became of the last one: their schedule starts the next.

    Args:
        status: the pipeline's; None if it has no state yet.
        percentile: the share of the events, above 0 and at most 100.
        target: the time to be reached, in microseconds since the epoch.
        start: the end of the last window that is not asked for.
        now: processing time, for ``grace``; without it there is none.
        grace: how long a stream may be without a driver, in microseconds.

    Raises:
        DefinitionError: ``DEFINITION_PERCENTILE``; ``SUBMIT_INTERVAL`` if ``start`` is not before ``target``.
    """
    share = check_percentile(percentile)
    if start is not None and start >= target:
        raise DefinitionError(
            f"the windows from {iso(start)} to {iso(target)} are asked for",
            reason="no window ends in such a span, so the question has no answer",
            hint="give a start before the target",
            code="SUBMIT_INTERVAL",
        )
    name = f"W_{percentile_text(share)}"
    wanted = iso(target) if start is None else f"{iso(start)} to {iso(target)}"
    if status is None:
        return Answer(NOT_YET, f"the pipeline has no state yet; {name} is waited for to reach {iso(target)}")
    watermark = status.watermarks.at(share)
    has = f"{name} is {'not known yet' if watermark == MIN_TIME else iso(watermark)}, {iso(target)} is waited for"
    if watermark >= target:
        return Answer(REACHED, f"{name} of {status.pipeline!r} is {iso(watermark)}, at or past {iso(target)}")
    if status.covered.covers(target, start=start):
        return Answer(REACHED, f"batch runs of {status.pipeline!r} have computed {wanted}")
    if status.covered.intervals:
        has = f"{has}; {status.covered.describe()}"
    if status.state == "completed" and status.interval is None and status.left_out is not None:
        return _without_stragglers(status, status.left_out, share, target)
    if share > status.claimable:
        return Answer(
            NEVER,
            f"{status.pipeline!r} can claim its watermark up to percentile {percentile_text(status.claimable)}, "
            f"not {percentile_text(share)} ({has}): ask for a lower percentile",
        )
    if status.mode == "streaming" and status.state in _ENDED:
        return _without_driver(status, has, None if now is None else now - grace)
    return Answer(NOT_YET, f"{status.pipeline!r} ({status.mode or 'not run yet'}) is {status.state}: {has}")


def _without_stragglers(status: Status, left_out: LeftOut, share: float, target: Micros) -> Answer:
    """The answer of a batch that has published a share of its input."""
    read_until = status.processing_time
    if share <= left_out.percent_read and read_until is not None and target <= read_until:
        read = f"{left_out.percent_read:.4g} % of its input"
        return Answer(REACHED, f"the batch run of {status.pipeline!r} has read {read}, up to {iso(target)}")
    hint = "the next run without an input share reads it"
    return Answer(NOT_YET, f"the batch run of {status.pipeline!r} has left out {left_out.describe()}; {hint}")


def _without_driver(status: Status, has: str, patient_since: Micros | None) -> Answer:
    """The answer of a stream that has ended: what was there after ``patient_since`` may be started again."""
    said = f" ({status.detail})" if status.detail else ""
    ended = f"the stream {status.pipeline!r} {_ENDED[status.state]}{said}"
    since = None if status.owner is None else status.owner.heartbeat_at
    if patient_since is not None and since is not None and since > patient_since:
        return Answer(NOT_YET, f"{ended} at {iso(since)}, and may be started again: {has}")
    return Answer(
        NEVER,
        f"{ended}, and nothing moves its watermark: {has}. Start the stream again, then clear this task",
        lasting=status.state == "stopped",
    )
