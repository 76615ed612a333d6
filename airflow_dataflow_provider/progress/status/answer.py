"""The answer to whether a watermark is reached: reached, not yet, or never, with the reason."""

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
    """One of the three answers."""

    REACHED = "reached"
    NOT_YET = "not yet"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict with its reason.

    Guarantees:
        There is always a reason, which can be shown to users.

    Args:
        verdict: the answer.
        reason: the reason.
        lasting: for *never*, whether a retry would get the same answer.
    """

    verdict: Verdict
    reason: str
    lasting: bool = True

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise DefinitionError(f"the answer {self.verdict!s} gives no reason", code="DEFINITION_ANSWER")

    @property
    def reached(self) -> bool:
        """Whether the answer is *reached*, which is final."""
        return self.verdict is Verdict.REACHED

    @property
    def never(self) -> bool:
        """Whether the answer is *never*: waiting does not help."""
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
    """Whether a pipeline is complete up to a time, by its published watermark or by the intervals of batches.

    The watermark of a stream covers all older windows. A batch over an interval covers only the windows that end in the
    interval. So ``target`` alone asks for the windows that end at ``target``, and ``start`` for all that end in
    ``(start, target]``. A batch over the whole input covers the windows that are older than the batch.

    For a stream that has ended, the answer is *never* once it has been without a driver for ``grace``. If it failed or
    was lost, its schedule may start it again, so a retry may help. For scheduled runs the answer is *not yet*, since
    the schedule starts the next run.

    Args:
        status: the pipeline's status; None if it has no state yet.
        percentile: the percentile of the watermark, from 1 to 100.
        target: the time to be reached, in microseconds since the epoch.
        start: windows that end at or before this time are not needed.
        now: processing time, for ``grace``; None: there is no grace.
        grace: how long a stream may be without a driver, in microseconds.

    Raises:
        DefinitionError: ``DEFINITION_PERCENTILE``; ``SUBMIT_INTERVAL`` if ``start`` is not before ``target``.
    """
    share = check_percentile(percentile)
    if start is not None and start >= target:
        raise DefinitionError(
            f"the windows from {iso(start)} to {iso(target)} are asked for",
            reason="no window ends in such a span",
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
    """The answer for a batch that has published a share of its input."""
    read_until = status.processing_time
    if share <= left_out.percent_read and read_until is not None and target <= read_until:
        read = f"{left_out.percent_read:.4g} % of its input"
        return Answer(REACHED, f"the batch run of {status.pipeline!r} has read {read}, up to {iso(target)}")
    hint = "the next run without an input share reads it"
    return Answer(NOT_YET, f"the batch run of {status.pipeline!r} has left out {left_out.describe()}; {hint}")


def _without_driver(status: Status, has: str, patient_since: Micros | None) -> Answer:
    """The answer for a stream that has ended; *not yet* if its last heartbeat is after ``patient_since``."""
    detail = f" ({status.detail})" if status.detail else ""
    ended = f"the stream {status.pipeline!r} {_ENDED[status.state]}{detail}"
    since = None if status.owner is None else status.owner.heartbeat_at
    if patient_since is not None and since is not None and since > patient_since:
        return Answer(NOT_YET, f"{ended} at {iso(since)}, and may be started again: {has}")
    return Answer(
        NEVER,
        f"{ended}, and nothing moves its watermark: {has}. Start the stream again, then clear this task",
        lasting=status.state == "stopped",
    )
