"""Findings for readers of results: why nothing was published, which rows were set aside, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import WatermarkCurve, percentile_text
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.log.waiting import Waiting
from airflow_dataflow_provider.progress.store.store import Json

Kind = Literal[
    "nothing_read", "nothing_new", "nothing_in_interval", "nothing_grouped", "windows_open", "no_watermark",
    "rejected", "expired", "implausible",
]  # fmt: skip

_ORDINARY: Final = ("nothing_new", "windows_open")
_NAMED: Final = 3
"""The number of reasons in a message."""
_WRONG_CLOCK: Final = "they arrived long after they happened, or before, or in the future"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact that a reader of results should know.

    Args:
        kind: the kind, for programs.
        what: the fact, for people.
        hint: what to do about it.
    """

    kind: Kind
    what: str
    hint: str

    @property
    def is_problem(self) -> bool:
        """Whether it needs attention: False for facts that ordinary runs have, too."""
        return self.kind not in _ORDINARY

    def to_json(self) -> Json:
        """``{"kind": ..., "what": ..., "hint": ...}``."""
        return {"kind": self.kind, "what": self.what, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class Facts:
    """The totals of a run, or of all runs together.

    Args:
        rows: the rows that were read.
        panes: the number of panes that were published.
        watermarks: the published curve.
        waiting: the open windows.
        ever_read: the number of rows that all runs have read.
        interval: the interval of the last epoch, if it had one.
    """

    rows: RowCounts
    panes: int
    watermarks: WatermarkCurve
    waiting: Waiting
    ever_read: int
    interval: Interval | None = None

    def findings(self) -> tuple[Finding, ...]:
        """The findings: first the reason why there are no panes, then the rows that were set aside."""
        all_rejected = self.rows.rejected and not self.rows.accepted
        silence = () if self.panes or all_rejected else (self._silence(),)
        return (*silence, *self._set_aside(has_watermark=all(each.kind != "no_watermark" for each in silence)))

    def _silence(self) -> Finding:
        if self.interval is not None:
            return Finding(
                "nothing_in_interval",
                f"no pane: no window that ends in the interval {self.interval} has elements",
                "compare the interval with the event times of the source",
            )
        if not self.ever_read:
            return Finding(
                "nothing_read",
                "no pane: the source has had no rows",
                "check the source's path, and that the names of its files match it",
            )
        if self.rows.accepted and not self.waiting.windows:
            return Finding(
                "nothing_grouped",
                f"no pane: {_elements(self.rows.accepted)} came, and no window is open",
                "look at the steps before the grouping, which may keep none, and at SideOutputs(STATE_URL).expired()",
            )
        if self.watermarks.at(100) == MIN_TIME and 0 < self.rows.implausible == self.rows.accepted:
            return Finding(
                "no_watermark",
                f"no pane: {_windows(self.waiting.windows)}, and no watermark is known, for the delays of all "
                f"{_elements(self.rows.accepted)} are implausible: {_WRONG_CLOCK}",
                "run old data with --mode batch, which publishes everything; or name the column with arrival times, "
                'Files(arrival_time=...), or choose a fixed delay, Files(watermark=BoundedDelay("1h"))',
            )
        if self.rows.read:
            return Finding(
                "windows_open",
                f"no pane: {describe_waiting(self.waiting, self.watermarks)}",
                "it comes with newer data; a run with --mode batch publishes everything that is there",
            )
        return Finding(
            "nothing_new",
            f"no pane: nothing new has come; {_windows(self.waiting.windows)}",
            "run again once new files have come",
        )

    def _set_aside(self, *, has_watermark: bool) -> Iterator[Finding]:
        rows = self.rows
        if rows.rejected:
            named = ", ".join(f"{reason} ({count:,})" for reason, count in rows.reasons[:_NAMED])
            more = sum(count for _, count in rows.reasons[_NAMED:])
            yield Finding(
                "rejected",
                f"{rows.rejected:,} of {rows.read:,} rows were rejected"
                f"{f': {named}' if named else ''}{f', others ({more:,})' if more else ''}",
                "SideOutputs(STATE_URL).rejected() has them; Files(max_rejected_share=...) says how many are too many",
            )
        if rows.expired:
            yield Finding(
                "expired",
                f"{_elements(rows.expired)} came after the window had expired: in no pane",
                "SideOutputs(STATE_URL).expired() has them; a larger allowed_lateness keeps windows open for longer",
            )
        if rows.implausible and has_watermark:
            yield Finding(
                "implausible",
                f"no watermark is moved by {_elements(rows.implausible)} with implausible delays: {_WRONG_CLOCK}",
                "correct the times, or choose another watermark= for the source",
            )


def describe_waiting(waiting: Waiting, watermarks: WatermarkCurve) -> str:
    """The number of open windows and the conditions of the next pane, for messages."""
    if not waiting.windows:
        return "no window is open"
    waits_for = [
        f"the {_name(share)} to reach {iso(end)} (it is {_known(watermarks.at(share))})"
        for share, end in waiting.watermarks
        if end < MAX_TIME
    ]
    if waiting.processing_time is not None:
        waits_for.append(f"processing time {iso(waiting.processing_time)}")
    waits_for += [f"the signal {signal!r}" for signal in waiting.signals]
    return f"{_windows(waiting.windows)}; the next pane waits for {' or '.join(waits_for) or 'more elements'}"


def _windows(count: int) -> str:
    return f"{count:,} window{' is' if count == 1 else 's are'} open"


def _elements(count: int) -> str:
    return f"{count:,} element{'' if count == 1 else 's'}"


def _name(share: float) -> str:
    return "watermark" if share == 100 else f"watermark of {percentile_text(share)} %"


def _known(watermark: Micros) -> str:
    return "not known" if watermark == MIN_TIME else iso(watermark)
