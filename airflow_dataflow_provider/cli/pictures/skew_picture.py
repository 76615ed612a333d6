"""The skew picture (Dataflow Model, figure 2): event time to the right, processing time upwards.

On the ideal line event time equals processing time. A watermark runs to the left of it, as far as the pipeline is
behind. The label of each line is above its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree as ET

from airflow_dataflow_provider.cli.durations import coarse
from airflow_dataflow_provider.cli.pictures.canvas import (
    FRAME,
    GRID,
    INK,
    MUTED,
    Canvas,
    Corner,
    points,
    text_width,
)
from airflow_dataflow_provider.cli.pictures.time_axis import Tick, ticks
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES, percentile_text
from airflow_dataflow_provider.progress.status.skew import Skew

WIDTH, HEIGHT = 900, 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 88.0, 864.0, 140.0, 524.0
"""The plot's frame, in pixels."""
_SHOWN: Final = (50.0, 90.0, 97.0, 99.0, 99.9)
"""Which of the percentiles that every job publishes are drawn; the other ones lie between them."""
_WIDEST: Final = 1.5
"""How far the picture reaches to the left of the ideal line, in heights of the picture. The rest is cut off, because
one straggler would squeeze everything else into a corner."""
_SKEW = "#c2410c"
_BLUES: Final = ("#5a9fe0", "#3f86cf", "#2b6cb0", "#1f5591", "#153f70", "#0b2a4f")


def draw(skew: Skew, title: str | None = None) -> str:
    """The picture, as an SVG document of 900 by 600 pixels with a background of its own."""
    return _Picture(skew, title or f"{skew.pipeline}: how far its watermarks are behind").document()


@dataclass(frozen=True, slots=True)
class _Line:
    """One watermark: its corners in pixels, in the order of time, and the time at which it ends."""

    name: str
    end: Micros
    colour: str
    width: float
    corners: tuple[Corner, ...]


class _Picture:
    def __init__(self, skew: Skew, title: str) -> None:
        self._skew, self._title = skew, title
        self._shown = _shown(skew)
        self._y0, self._y1 = skew.points[0].at, skew.points[-1].at
        times = [time for percentile in self._shown for time, _ in skew.line(percentile)]
        self._x0 = max(min(*times, self._y0), self._y0 - int(_WIDEST * (self._y1 - self._y0)))
        self._x1 = max(*times, self._y1)
        description = (
            f"Event time against {self._clock_name()} of {skew.epochs} epochs, with the ideal line and the "
            f"watermarks of percentiles {', '.join(map(percentile_text, self._shown))}."
        )
        self._canvas = Canvas(WIDTH, HEIGHT, title, description)

    def document(self) -> str:
        """All of it, from back to front."""
        canvas, lines = self._canvas, self._lines()
        # A long title is set smaller rather than cut off.
        canvas.text(_LEFT, 38, self._title, size=_fitting(self._title, 19), colour=INK, weight="600")
        canvas.text(_LEFT, 60, self._summary(), size=13)
        self._axes()
        # A little air, so that a line along the border keeps its width.
        plot = canvas.clip("frame", _LEFT - 1.5, _TOP - 1.5, _RIGHT + 1.5, _BOTTOM + 1.5)
        self._draw_skew(plot)
        for line in reversed(lines):
            canvas.line(*line.corners, within=plot, stroke=line.colour, stroke_width=line.width)
        self._labels(lines)
        self._name_skew()
        return canvas.document()

    # Where things are

    def _x(self, time: Micros) -> float:
        return _LEFT + (time - self._x0) / (self._x1 - self._x0) * (_RIGHT - _LEFT)

    def _y(self, time: Micros) -> float:
        return _BOTTOM - (time - self._y0) / (self._y1 - self._y0) * (_BOTTOM - _TOP)

    def _lines(self) -> list[_Line]:
        """Those that were ever finite, from 100 down."""
        lines = []
        for index, percentile in reversed(list(enumerate(self._shown))):
            told = self._skew.line(percentile)
            if told:
                last = percentile == 100
                colour = _SKEW if last else _BLUES[index * len(_BLUES) // max(1, len(self._shown) - 1)]
                width = 2.5 if last else 1.6
                lines.append(_Line(percentile_text(percentile), told[-1][0], colour, width, self._corners(percentile)))
        return lines

    def _corners(self, percentile: float) -> tuple[Corner, ...]:
        """A line that goes up until an epoch moves the watermark, then to the right."""
        corners: list[Corner] = []
        for time, at in self._skew.line(percentile):
            x, y = round(self._x(time), 1), round(self._y(at), 1)
            if corners and corners[-1][1] != y:
                corners.append((corners[-1][0], y))
            if not corners or corners[-1][0] != x:
                corners.append((x, y))
        return _without_middles(corners)

    # What is drawn

    def _summary(self) -> str:
        behind = [
            f"W {percentile_text(percentile)} % {coarse(self._y1 - line[-1][0])}"
            for percentile in self._shown
            if percentile in {97.0, 100.0} and (line := self._skew.line(percentile))
        ]
        return f"{self._skew.epochs:,} epochs · {self._skew.rows:,} rows · behind at the end: {', '.join(behind)}"

    def _axes(self) -> None:
        canvas = self._canvas
        across, up = ticks(self._x0, self._x1, 8), ticks(self._y0, self._y1, 7)
        for tick in across:
            x = self._x(tick.at)
            canvas.line((x, _TOP), (x, _BOTTOM), stroke=GRID)
            canvas.text(x, _BOTTOM + 20, tick.label, anchor="middle")
            canvas.text(x, _BOTTOM + 36, tick.above, anchor="middle", weight="600")
        for tick in up:
            y = self._y(tick.at)
            canvas.line((_LEFT, y), (_RIGHT, y), stroke=GRID)
            self._up_label(y, tick)
        canvas.rectangle(_LEFT, _TOP, _RIGHT, _BOTTOM, fill="none", stroke=FRAME)
        canvas.text((_LEFT + _RIGHT) / 2, HEIGHT - 20, "event time (UTC)", size=13, colour=INK, anchor="middle")
        clock, middle = f"{self._clock_name()} (UTC)", (_TOP + _BOTTOM) / 2
        canvas.text(20, middle, clock, size=13, colour=INK, anchor="middle", turned=True)

    def _up_label(self, y: float, tick: Tick) -> None:
        self._canvas.text(_LEFT - 8, y + 4, tick.label, anchor="end")
        # Above the label, or below it where that would leave the frame.
        self._canvas.text(_LEFT - 8, y - 11 if y > _TOP + 12 else y + 19, tick.above, anchor="end", weight="600")

    def _clock_name(self) -> str:
        if self._skew.by_source_clock:
            return "processing time by the source's clock: newest arrival read"
        return "processing time by the driver's clock"

    def _draw_skew(self, plot: ET.Element) -> None:
        """The gap between the ideal line and the ordinary watermark, then the ideal line."""
        told = self._corners(100)
        if told:
            # The ideal runs through the corner of the frame where both times are y0, at 45 degrees in time.
            since, until = self._skew.line(100)[0][1], self._skew.line(100)[-1][1]
            area = [*told, (self._x(until), self._y(until)), (self._x(since), self._y(since))]
            self._canvas.shape("polygon", within=plot, points=points(area), fill=_SKEW, fill_opacity=0.07)
        ideal = [(self._x(time), self._y(time)) for time in (self._y0, self._y1)]
        self._canvas.line(*ideal, within=plot, stroke=MUTED, stroke_width=1.6, stroke_dasharray="7 5")

    def _labels(self, lines: Sequence[_Line]) -> None:
        """Each line's name above the frame, with a thread down to where the line ends."""
        ends = [(self._y1, "ideal", MUTED)]
        for line in lines:
            # What ends behind the left border has its label there, with a sign that it lies further on.
            beyond = "< " if line.end < self._x0 else ""
            ends.append(
                (max(line.end, self._x0), f"{beyond}{'W ' if line.name == '100' else ''}{line.name} %", line.colour)
            )
        ends.sort(key=lambda end: end[0])
        places = _apart([self._x(end) for end, _, _ in ends], [text_width(name, 12) + 10 for _, name, _ in ends])
        for (end, name, colour), place in zip(ends, places, strict=True):
            x = self._x(end)
            thread = ((x, _TOP), (x, _TOP - 4), (place, _TOP - 26), (place, _TOP - 30))
            self._canvas.line(*thread, stroke=colour)
            self._canvas.text(place, _TOP - 36, name, colour=colour, anchor="middle", weight="600")

    def _name_skew(self) -> None:
        """An arrow across the gap where it is widest, with its length."""
        told = self._skew.line(100)
        # A watermark stands until the next one is told: that is when it is furthest behind.
        marks = [(after - time, time, after) for (time, _), (_, after) in pairwise(told) if after > time]
        inside = [mark for mark in marks if _TOP + 12 < self._y(mark[2]) < _BOTTOM - 12]
        if not inside:
            return
        skew, time, at = max(inside)
        left, right, y = self._x(max(time, self._x0)), self._x(at), self._y(at)
        name = f"skew {coarse(skew)}"
        path = f"M {left:.1f} {y:.1f} H {right:.1f}"
        if right - left > 16:
            path += f" M {left + 8:.1f} {y - 4:.1f} l -6 4 l 6 4 M {right - 8:.1f} {y - 4:.1f} l 6 4 l -6 4"
        self._canvas.shape("path", d=path, fill="none", stroke=_SKEW, stroke_width=1.2)
        room = text_width(name, 13) + 16
        # No line is up and to the left of the ordinary watermark, hardly any is to the right of the ideal one.
        place, anchor = (left - 8, "end") if left - _LEFT > room else (right + 10, "start")
        if anchor == "start" and _RIGHT - right < room:
            place, anchor = (left + right) / 2, "middle"
        self._canvas.text(place, y - 5, name, size=13, colour=_SKEW, anchor=anchor, weight="600")


def _shown(skew: Skew) -> tuple[float, ...]:
    """The percentiles to draw: a few of the usual ones, all that the pipeline's own triggers have added, and 100."""
    known = {percentile for point in skew.points for percentile in point.watermarks.percentiles}
    usual = {float(percentile) for percentile in DEFAULT_PERCENTILES}
    return tuple(sorted({100.0, *(known & {*_SHOWN}), *(known - usual)}))


def _without_middles(corners: list[Corner]) -> tuple[Corner, ...]:
    """Without the corners that lie on a straight line between their neighbours."""
    kept: list[Corner] = []
    for corner in corners:
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == corner[0] or kept[-2][1] == kept[-1][1] == corner[1]):
            kept.pop()
        kept.append(corner)
    return tuple(kept)


def _fitting(text: str, size: float) -> float:
    """The font size at which a text fits into the frame."""
    return min(size, (_RIGHT - _LEFT) / text_width(text, 1))


def _apart(places: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The sorted places, moved as little as need be for labels of these widths to stand side by side in the frame.

    With the widths before each label taken off, "side by side" is "not falling", and the nearest such places are found
    by giving neighbours that fall their common mean (isotonic regression).
    """
    before = [sum(widths[:index]) + width / 2 for index, width in enumerate(widths)]
    groups: list[tuple[float, int]] = []
    for place, taken in zip(places, before, strict=True):
        mean, count = place - taken, 1
        while groups and groups[-1][0] >= mean:
            other, many = groups.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        groups.append((mean, count))
    starts = [mean for mean, count in groups for _ in range(count)]
    rightmost = _RIGHT + widths[-1] / 2 - sum(widths)
    return [
        max(min(start, rightmost), _LEFT - widths[0] / 2) + taken for start, taken in zip(starts, before, strict=True)
    ]
