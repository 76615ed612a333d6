"""Panes over time, as the Dataflow Model draws them: event time to the right, processing time upwards.

Each pane is a box over its window. The box begins at the window's pane before, or at the arrival of its first element.
It ends at the pane's processing time, where its value is. A dashed plate is a retraction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from airflow_dataflow_provider.cli.pictures.canvas import (
    FRAME,
    GRID,
    INK,
    MUTED,
    PAPER,
    Canvas,
    Corner,
    pill_width,
    text_width,
)
from airflow_dataflow_provider.cli.pictures.time_axis import Tick, rounded, ticks
from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_datetime
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows import Window

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping
    from airflow_dataflow_provider.reference.epoch import Epoch

WIDTH, HEIGHT = 780, 570
WATERMARK, RETRACTION = "#2b6cb0", "#c53030"
TIMING: Final = {
    PaneTiming.EARLY: "#b7791f",
    PaneTiming.ON_TIME: "#2f855a",
    PaneTiming.LATE: "#6b46c1",
    PaneTiming.CORRECTION: "#0f766e",
}
_LEFT, _RIGHT, _TOP, _BOTTOM = 82.0, 748.0, 94.0, 478.0
_ACROSS, _UP = 11, 8
"""The most ticks of an axis."""
_RADIUS = 9.5
_PLACES = (0.5, 0.3, 0.7, 0.15, 0.85, 0.4, 0.6, 0.22, 0.78)
"""Places of a value along its box, best first."""
_LONGEST_NOTE = 140
_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Point:
    """An element as it is drawn."""

    event_time: Micros
    arrival_time: Micros
    label: str


def draw_panes(
    grouping: Grouping,
    epochs: Sequence[Epoch],
    panes: Sequence[Pane],
    title: str,
    *,
    points: Iterable[Point] | None = None,
    note: str = "",
) -> str:
    """The panes of one key, as an SVG document.

    Args:
        grouping: gave the panes. Its first aggregate is drawn.
        epochs: the elements and clocks.
        panes: as they were published.
        title: above the picture.
        points: the elements to draw; by default those of the epochs.
        note: up to two lines below the title; by default the trigger, the windows and the refinement, as code.
    """
    return _Picture(grouping, epochs, panes, title, points=points, note=note).document()


class _Picture:
    def __init__(
        self,
        grouping: Grouping,
        epochs: Sequence[Epoch],
        panes: Sequence[Pane],
        title: str,
        *,
        points: Iterable[Point] | None,
        note: str,
    ) -> None:
        self._epochs, self._panes = epochs, panes
        self._name = next(iter(grouping.combiners))
        self._percentiles = sorted({100.0, *grouping.trigger.percentiles()})
        self._points = [*(_points(epochs) if points is None else points)]
        first, last = (end(point.arrival_time for point in self._points) for end in (min, max))
        clocks = [epoch.clock.processing_time for epoch in epochs if epoch.clock.processing_time >= first]
        self._y0, self._y1 = rounded(first, max(last, *clocks), _UP)
        ends = [time for pane in panes for time in (pane.window.start, pane.window.end) if _finite(time)]
        times = [point.event_time for point in self._points] + ends
        self._x0, self._x1 = rounded(min(times), max(times), _ACROSS)
        said = f"{len(self._points)} elements and {len(panes)} panes, over event time and processing time."
        self._canvas = Canvas(WIDTH, HEIGHT, title, said)
        self._title, self._note = title, note or f"{grouping.trigger!r}\n{grouping.window!r}, {grouping.refinement!r}"
        self._taken: list[tuple[float, float, float, float]] = []

    def document(self) -> str:
        """All of it, from back to front."""
        canvas = self._canvas
        canvas.text(_LEFT - 54, 34, self._title, size=18, colour=INK, weight="600")
        for number, line in enumerate(self._note.splitlines()):
            shown = line if len(line) <= _LONGEST_NOTE else f"{line[: _LONGEST_NOTE - 1]}…"
            size = min(12.5, (_RIGHT - _LEFT + 54) / text_width(shown, 1))
            canvas.text(_LEFT - 54, 56 + 17 * number, shown, size=size)
        self._axes()
        plot = canvas.clip("plot", _LEFT - 1, _TOP - 1, _RIGHT + 1, _BOTTOM + 1)
        self._boxes(plot)
        self._lines(plot)
        canvas.rectangle(_LEFT, _TOP, _RIGHT, _BOTTOM, fill="none", stroke=FRAME)
        self._draw_points()
        self._values()
        self._legend()
        return canvas.document()

    # Where things are

    def _x(self, time: Micros) -> float:
        if not _finite(time):
            return _LEFT if time < 0 else _RIGHT
        return _LEFT + (time - self._x0) / (self._x1 - self._x0) * (_RIGHT - _LEFT)

    def _y(self, time: Micros) -> float:
        return _BOTTOM - (time - self._y0) / (self._y1 - self._y0) * (_BOTTOM - _TOP)

    # What is drawn

    def _axes(self) -> None:
        canvas = self._canvas
        for tick in _marks(self._x0, self._x1, _ACROSS):
            x = self._x(tick.at)
            canvas.line((x, _TOP), (x, _BOTTOM), stroke=GRID)
            canvas.text(x, _BOTTOM + 16, tick.label, anchor="middle")
            canvas.text(x, _BOTTOM + 28, tick.above, size=10, anchor="middle")
        for tick in _marks(self._y0, self._y1, _UP):
            y = self._y(tick.at)
            canvas.line((_LEFT, y), (_RIGHT, y), stroke=GRID)
            canvas.text(_LEFT - 8, y + 4, tick.label, anchor="end")
            canvas.text(_LEFT - 8, y + 15, tick.above, size=10, anchor="end")
        canvas.text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "event time", size=13, colour=INK, anchor="middle")
        canvas.text(24, (_TOP + _BOTTOM) / 2, "processing time", size=13, colour=INK, anchor="middle", turned=True)

    def _boxes(self, plot: ET.Element) -> None:
        for pane, since in self._since():
            colour = TIMING[pane.timing]
            left, right = self._x(pane.window.start), self._x(pane.window.end)
            top, bottom = self._y(pane.processing_time), self._y(since)
            self._canvas.rectangle(
                left + 1, top, right - 1, max(bottom, top + 1), within=plot, tip=self._tip(pane), fill=colour,
                fill_opacity=0.13, stroke=colour, stroke_opacity=0.45,
            )  # fmt: skip
            self._canvas.line((left + 1, top), (right - 1, top), within=plot, stroke=colour, stroke_width=2.5)

    def _since(self) -> list[tuple[Pane, Micros]]:
        """The panes that are no retractions, each with the time at which its box begins."""
        boxes: list[tuple[Pane, Micros]] = []
        for pane in self._panes:
            if pane.is_retraction:
                continue
            before = [other.processing_time for other, _ in boxes if other.window.intersects(pane.window)]
            same = [other.processing_time for other, _ in boxes if other.window == pane.window]
            arrived = [
                point.arrival_time
                for point in self._points
                if pane.window.start <= point.event_time < pane.window.end
                and point.arrival_time <= pane.processing_time
                and point.arrival_time > max(same or before, default=MIN_TIME)
            ]
            last = max(same or before, default=None)
            boxes.append((pane, min(arrived, default=pane.processing_time) if last is None else last))
        return boxes

    def _lines(self, plot: ET.Element) -> None:
        canvas = self._canvas
        ideal = (max(self._x0, self._y0), min(self._x1, self._y1))
        if ideal[0] < ideal[1]:
            ends = [(self._x(time), self._y(time)) for time in ideal]
            canvas.line(*ends, within=plot, stroke=MUTED, stroke_width=1.3, stroke_dasharray="6 5")
        for percentile in self._percentiles:
            corners = self._watermark(percentile)
            dashes = "none" if percentile == 100 else "2 3"
            canvas.line(*corners, within=plot, stroke=WATERMARK, stroke_width=2.2, stroke_dasharray=dashes)

    def _watermark(self, percentile: float) -> list[Corner]:
        """The corners of a line that goes up until an epoch moves the watermark, then to the right."""
        corners = [(_LEFT, _BOTTOM)]
        for epoch in self._epochs:
            if epoch.clock.processing_time >= self._y0:
                x, y = self._x(epoch.clock.watermarks.at(percentile)), self._y(epoch.clock.processing_time)
                corners += [(corners[-1][0], y), (max(_LEFT, min(x, _RIGHT)), y)]
        return [*corners, (corners[-1][0], _TOP)]

    def _draw_points(self) -> None:
        for point in self._points:
            x, y = self._x(point.event_time), self._y(point.arrival_time)
            self._canvas.circle(x, y, _RADIUS, fill=PAPER, stroke=INK, stroke_width=1.3)
            self._canvas.text(x, y + 4.2, point.label, colour=INK, anchor="middle")
            self._taken.append((x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS))

    def _values(self) -> None:
        """Each value is on the upper edge of its box, at a free place."""
        for pane in self._panes:
            text = f"{_MINUS if pane.is_retraction else ''}{_shown(pane.values[self._name])}"
            colour = RETRACTION if pane.is_retraction else TIMING[pane.timing]
            y = self._y(pane.processing_time)
            x = self._free(pane.window, y, pill_width(text))
            self._canvas.pill(x, y, text, colour, dashed=pane.is_retraction)

    def _free(self, window: Window, y: float, width: float) -> float:
        """The place along a window's edge that covers the least."""
        left, right = self._x(window.start) + width / 2 + 2, self._x(window.end) - width / 2 - 2
        places = [max(left, min(right, left + part * (right - left))) for part in _PLACES]
        box = {x: (x - width / 2 - 1, y - 10, x + width / 2 + 1, y + 10) for x in places}
        x = min(places, key=lambda x: sum(_overlap(box[x], taken) for taken in self._taken))
        self._taken.append(box[x])
        return x

    def _tip(self, pane: Pane) -> str:
        start, end = (_clock(time) if _finite(time) else "∞" for time in (pane.window.start, pane.window.end))
        value, at = _shown(pane.values[self._name]), _clock(pane.processing_time)
        return f"[{start}, {end}): {value}, {_named(pane.timing)}, at {at}"

    def _legend(self) -> None:
        canvas, x, y = self._canvas, _LEFT - 54, HEIGHT - 22
        shown = {pane.timing for pane in self._panes if not pane.is_retraction}
        for timing in PaneTiming:
            if timing in shown:
                colour = TIMING[timing]
                canvas.rectangle(x, y - 10, x + 16, y + 2, fill=colour, fill_opacity=0.18, stroke=colour)
                x = self._entry(x + 22, y, f"{_named(timing)} pane")
        if any(pane.is_retraction for pane in self._panes):
            canvas.rectangle(x, y - 11, x + 20, y + 3, fill=PAPER, stroke=RETRACTION, stroke_dasharray="3 2", rx=7)
            x = self._entry(x + 26, y, "retraction")
        for percentile in self._percentiles:
            dashes = "none" if percentile == 100 else "2 3"
            canvas.line((x, y - 4), (x + 18, y - 4), stroke=WATERMARK, stroke_width=2.2, stroke_dasharray=dashes)
            share = "" if percentile == 100 else f", {percentile_text(percentile)} %"
            x = self._entry(x + 24, y, f"watermark{share}")
        if max(self._x0, self._y0) < min(self._x1, self._y1):
            canvas.line((x, y - 4), (x + 18, y - 4), stroke=MUTED, stroke_width=1.3, stroke_dasharray="6 5")
            x = self._entry(x + 24, y, "event time = processing time")

    def _entry(self, x: float, y: float, name: str) -> float:
        self._canvas.text(x, y, name)
        return x + text_width(name, 12) * 0.9 + 14


def _marks(start: Micros, end: Micros, most: int) -> list[Tick]:
    """The ticks of an axis; of a single day (or year) without its name."""
    found = ticks(start, end, most)
    return found if any(tick.above for tick in found[1:]) else [Tick(tick.at, tick.label) for tick in found]


def _points(epochs: Sequence[Epoch]) -> list[Point]:
    return [
        Point(element.event_time, element.arrival_time, _shown(next(iter(_numbers(element.row.values())), "")))
        for epoch in epochs
        for element in epoch.elements
    ]


def _numbers(values: Iterable[object]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float)]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _named(timing: PaneTiming) -> str:
    return timing.value.lower().replace("_", " ")


def _finite(time: Micros) -> bool:
    return MIN_TIME < time < MAX_TIME


def _clock(time: Micros) -> str:
    moment = to_datetime(time)
    return "" if moment is None else moment.strftime("%H:%M" if moment.second == 0 else "%H:%M:%S")


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)
