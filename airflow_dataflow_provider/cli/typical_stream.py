"""The panes of a small typical stream: the ten points of the Dataflow Model, stretched to the windows of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from airflow_dataflow_provider.cli.pictures.pane_picture import Point, draw_panes
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.combiners import Sum
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.errors import DataflowError, SubmissionError
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.predicates import Both, Comparison, Either, IsIn, Not, Predicate
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_micros
from airflow_dataflow_provider.model.triggers import AfterDelay, AtPattern, AtPeriod, AtPunctuation
from airflow_dataflow_provider.model.watermarks import WatermarkCurve

if TYPE_CHECKING:
    from airflow_dataflow_provider.reference.epoch import Epoch

_POINTS: Final = (
    (5, 26, 319), (7, 144, 339), (3, 219, 373), (4, 230, 389), (3, 259, 399), (8, 186, 426), (3, 399, 439),
    (9, 85, 499), (8, 446, 519), (1, 466, 530),
)  # fmt: skip
"""Value, event time and arrival, in seconds after noon: figure 5 of the paper, for windows of two minutes."""
_MARKS: Final = ((365, 120), (450, 240), (460, 360), (570, 480), (600, 600))
"""Processing time, and a watermark from then on. It is ahead of the 9, which comes late."""
_LATER_MARKS: Final = ((510, 360), (600, 480))
"""A watermark that has waited for the 9."""
_SIGNALS: Final = (430, 540)
_TICKS: Final = range(310, 601, 10)
_END: Final = 620
"""The end of input, at which every open window fires."""
_NOON: Micros = to_micros("2013-01-01T12:00:00Z")
_MINUTE: Micros = 60_000_000
_VALUE = "_value"


def draw_typical(pipeline: Pipeline) -> str:
    """The first grouping's panes as an SVG document: sums of ten numbers of one key, without the steps before.

    Raises:
        SubmissionError: ``SUBMIT_PICTURE`` where code of the user's own does not take the rows of this stream.
    """
    from airflow_dataflow_provider.reference.interpreter import interpret  # noqa: PLC0415 - only this runs anything

    grouping = pipeline.groupings[0]
    try:
        script = _Script.of(pipeline, grouping)
        summing = replace(grouping, par_dos=(), aggregates=(("total", Sum(_VALUE)),))
        epochs = list(script.epochs())
        outcome = interpret(replace(pipeline, groupings=(summing,), pending=(), sinks=()), epochs)
    except DataflowError:
        raise
    except Exception as error:
        raise SubmissionError(
            f"the panes of {pipeline.name!r} cannot be drawn: {type(error).__name__}: {error}",
            reason="its own code was called with made-up rows: small numbers in every column",
            hint="test it with a TestStream and rows of your own; explain works without --svg",
            code="SUBMIT_PICTURE",
        ) from error
    late = len({expired.element.arrival_time for expired in outcome.expired})
    expired = f"; {late} of {len(_POINTS)} elements came too late for a window" if late else ""
    note = f"{grouping.trigger!r}\n{grouping.window!r}, {grouping.refinement!r}{expired}"
    number = ", grouping 1" if len(pipeline.groupings) > 1 else ""
    title = f"{pipeline.name}{number}: the panes of a typical stream"
    return draw_panes(summing, epochs, outcome.panes, title, points=script.points(), note=note)


@dataclass(frozen=True, slots=True)
class _Script:
    """The ten points over the windows of a grouping.

    Attributes:
        grouping: whose windows.
        noon: where the stream begins.
        second: the microseconds of one of its seconds.
        by_arrival: the event time is the arrival, and every watermark the processing time.
    """

    grouping: Grouping
    noon: Micros
    second: float
    by_arrival: bool

    @classmethod
    def of(cls, pipeline: Pipeline, grouping: Grouping) -> _Script:
        """The stream with two minutes in a window, or one in a session."""
        by_arrival = not isinstance(pipeline.source.event_time, str)
        windows = grouping.window.assign(_NOON, ("k",) * len(grouping.key), _row(grouping, 0, 1))
        if windows and windows[-1].start > MIN_TIME and windows[-1].end < MAX_TIME:
            window, minutes = windows[-1], 1 if grouping.window.merges else 2
            start = _NOON if grouping.window.merges else window.start
            return cls(grouping, start, (window.end - window.start) / (60 * minutes), by_arrival)
        nodes = [*grouping.trigger.walk()]
        periods = [node.period for node in nodes if isinstance(node, AtPeriod)]
        delays = [node.delay for node in nodes if isinstance(node, AfterDelay)]
        return cls(grouping, _NOON, min((*periods, *delays), default=_MINUTE) / 60, by_arrival)

    def points(self) -> list[Point]:
        """The elements, to be drawn."""
        return [
            Point(element.event_time, element.arrival_time, str(element.row[_VALUE]))
            for epoch in self.epochs()
            for element in epoch.elements
        ]

    def epochs(self) -> Iterator[Epoch]:
        """An epoch at every arrival, every step of a watermark, every tick, and the end of input."""
        from airflow_dataflow_provider.reference.epoch import Epoch  # noqa: PLC0415 - as above

        arrivals = {arrival for _, _, arrival in _POINTS}
        steps = {time for time, _ in (*_MARKS, *_LATER_MARKS)}
        for now in sorted({*_TICKS, *arrivals, *steps, _END}):
            signals = self.grouping.trigger.signals() if now in _SIGNALS else frozenset()
            elements = [
                Element(
                    _row(self.grouping, number, value), self._at(arrival if self.by_arrival else event), self._at(now)
                )
                for number, (value, event, arrival) in enumerate(_POINTS)
                if arrival == now
            ]
            yield Epoch(Clock(self._at(now), self._watermarks(now), signals), elements)

    def _at(self, second: float) -> Micros:
        return self.noon + round(second * self.second)

    def _watermarks(self, now: int) -> WatermarkCurve:
        early = sorted(self.grouping.trigger.percentiles() - {100.0})
        if now == _END:
            return WatermarkCurve.flat(MAX_TIME, tuple(early))
        if self.by_arrival:
            return WatermarkCurve.flat(self._at(now), tuple(early))
        last = self._mark(_LATER_MARKS if early else _MARKS, now)
        return WatermarkCurve((*((percentile, self._mark(_MARKS, now)) for percentile in early), (100.0, last)))

    def _mark(self, marks: tuple[tuple[int, int], ...], now: int) -> Micros:
        return max((self._at(mark) for time, mark in marks if time <= now), default=MIN_TIME)


def _row(grouping: Grouping, number: int, value: int) -> dict[str, Any]:
    """A row with this value in every column, but for columns that predicates compare: they match now and then."""
    row: dict[str, Any] = dict.fromkeys((*grouping.trigger.columns(), *grouping.window.columns), value)
    options: dict[str, list[Any]] = {}
    for column, constant in _constants(grouping):
        is_number = isinstance(constant, int | float) and not isinstance(constant, bool)
        options.setdefault(column, []).extend((constant, constant + 1, constant - 1) if is_number else (constant, None))
    row |= {column: found[number % len(found)] for column, found in options.items()}
    return row | dict.fromkeys(grouping.key, "k") | {_VALUE: value}


def _constants(grouping: Grouping) -> Iterator[tuple[str, Any]]:
    """The columns and constants that the trigger's predicates compare."""
    for node in grouping.trigger.walk():
        if isinstance(node, AtPunctuation):
            yield from _compared(node.predicate)
        if isinstance(node, AtPattern):
            for step in node.steps:
                yield from _compared(step.predicate)


def _compared(predicate: Predicate) -> Iterator[tuple[str, Any]]:
    match predicate:
        case Comparison(column=column, value=value):
            yield column, value
        case IsIn(column=column, values=values):
            yield from ((column, value) for value in values)
        case Both(left=left, right=right) | Either(left=left, right=right):
            yield from _compared(left)
            yield from _compared(right)
        case Not(of=of):
            yield from _compared(of)
