"""Which windows elements are in: event time to the right, the windows as bars below the elements, with their values."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.cli.pictures.canvas import FRAME, GRID, INK, PAPER, Canvas, text_width
from airflow_dataflow_provider.cli.pictures.pane_picture import TIMING, Point
from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_datetime
from airflow_dataflow_provider.testing.stream import TestStream

WIDTH = 780
_LEFT, _RIGHT, _TOP = 82.0, 748.0, 84.0
_LANE, _GAP = 24.0, 8.0


def draw_windows(
    stream: TestStream,
    title: str,
    *,
    span: tuple[Micros, Micros],
    step: Micros,
    marks: str = "%H:%M",
    time_zone: str = "UTC",
    note: str = "",
) -> str:
    """The windows of a stream, one band a key, as an SVG document.

    Args:
        stream: the script; it is run on the reference. Every last pane is drawn, with its first aggregate.
        title: above the picture.
        span: the first and the last event time that is drawn.
        step: from one rule to the next.
        marks: how the rules are labelled (``strftime``).
        time_zone: whose clocks the labels tell.
        note: below the title; by default the windows, as code.
    """
    return _Picture(stream, title, span, note).document(step, marks, ZoneInfo(time_zone))


@dataclass(slots=True)
class _Band:
    """What is drawn of one key: its elements, and its windows, side by side or below each other."""

    points: list[Point] = field(default_factory=list)
    lanes: list[list[Pane]] = field(default_factory=list)

    @property
    def height(self) -> float:
        return 48 + len(self.lanes) * (_LANE + _GAP)

    def take(self, pane: Pane) -> None:
        """Into the first lane that has room."""
        for lane in self.lanes:
            if not any(pane.window.intersects(other.window) for other in lane):
                lane.append(pane)
                return
        self.lanes.append([pane])


class _Picture:
    def __init__(self, stream: TestStream, title: str, span: tuple[Micros, Micros], note: str) -> None:
        grouping = stream.pipeline.grouping
        self._span, self._name = span, next(iter(grouping.combiners))
        self._bands: defaultdict[tuple[object, ...], _Band] = defaultdict(_Band)
        for epoch in stream.epochs():
            for element in epoch.elements:
                label = next((str(value) for value in element.row.values() if isinstance(value, int)), "")
                key = tuple(element.row.get(column) for column in grouping.key)
                self._bands[key].points.append(Point(element.event_time, element.arrival_time, label))
        last = {(pane.key, pane.window): pane for pane in stream.run()}
        for pane in sorted(last.values(), key=lambda pane: (pane.window.start, pane.window.end)):
            self._bands[pane.key].take(pane)
        self._bottom = _TOP + sum(band.height for band in self._bands.values())
        said = f"{len(last)} windows, over event time."
        self._canvas = Canvas(WIDTH, self._bottom + 62, title, said)
        self._canvas.text(_LEFT - 54, 34, title, size=18, colour=INK, weight="600")
        told = note or repr(grouping.window)
        self._canvas.text(_LEFT - 54, 58, told, size=min(13.0, (_RIGHT - _LEFT + 54) / text_width(told, 1)))

    def document(self, step: Micros, marks: str, zone: ZoneInfo) -> str:
        """All of it, from back to front."""
        canvas = self._canvas
        for time in range(self._span[0], self._span[1] + 1, step):
            canvas.line((self._x(time), _TOP), (self._x(time), self._bottom), stroke=GRID)
            moment = to_datetime(time)
            if moment is not None:
                label = moment.astimezone(zone).strftime(marks)
                canvas.text(self._x(time), self._bottom + 18, label, anchor="middle")
        canvas.text((_LEFT + _RIGHT) / 2, self._bottom + 42, "event time", size=13, colour=INK, anchor="middle")
        plot, top = canvas.clip("plot", _LEFT - 1, _TOP - 1, _RIGHT + 1, self._bottom + 1), _TOP
        for key, band in self._bands.items():
            if len(self._bands) > 1:
                name = ", ".join(map(str, key))
                canvas.text(_LEFT - 12, top + 26, name, size=13, colour=INK, anchor="end", weight="600")
            self._draw(band, top, plot)
            top += band.height
        canvas.rectangle(_LEFT, _TOP, _RIGHT, self._bottom, fill="none", stroke=FRAME)
        return canvas.document()

    def _x(self, time: Micros) -> float:
        if not MIN_TIME < time < MAX_TIME:
            return _LEFT - 12 if time < 0 else _RIGHT + 12
        return _LEFT + (time - self._span[0]) / (self._span[1] - self._span[0]) * (_RIGHT - _LEFT)

    def _draw(self, band: _Band, top: float, plot: ET.Element) -> None:
        canvas = self._canvas
        for number, lane in enumerate(band.lanes):
            upper = top + 42 + number * (_LANE + _GAP)
            for pane in lane:
                colour = TIMING[pane.timing]
                left, right = self._x(pane.window.start), self._x(pane.window.end)
                canvas.rectangle(
                    left + 1.5, upper, right - 1.5, upper + _LANE, within=plot, fill=colour, fill_opacity=0.14,
                    stroke=colour, stroke_width=1.4, rx=5,
                )  # fmt: skip
                middle, value = (max(left, _LEFT) + min(right, _RIGHT)) / 2, str(pane.values[self._name])
                canvas.text(middle, upper + 16.5, value, size=13, colour=colour, anchor="middle", weight="600")
        before, y = -_RIGHT, top + 22
        for point in sorted(band.points, key=lambda point: point.event_time):
            x = self._x(point.event_time)
            # Neighbours that would cover each other stand at different heights.
            y = top + 22 if x - before > 20 else top + 22 - 7 if y > top + 15 else top + 29
            before = x
            canvas.circle(x, y, 9.5 if point.label else 4, fill=PAPER, stroke=INK, stroke_width=1.3)
            canvas.text(x, y + 4.2, point.label, colour=INK, anchor="middle")
