"""The skew picture (Dataflow Model, figure 2) as SVG: event time to the right, processing time upwards.

The ideal line is where event time equals processing time; a watermark runs to the left of it, as far as the pipeline is
behind. Each line is labelled where it ends, at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree as ET

from airflow_dataflow_provider.cli.durations import coarse
from airflow_dataflow_provider.cli.time_axis import Tick, ticks
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES, percentile_text
from airflow_dataflow_provider.progress.status.skew import Skew

WIDTH, HEIGHT = 900, 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 88.0, 864.0, 140.0, 524.0
"""The plot's frame, in pixels."""
_SHOWN: Final = (50.0, 90.0, 97.0, 99.0, 99.9)
"""Which of the percentiles that every job publishes are drawn; the other ones lie between them."""
_WIDEST: Final = 1.5
"""How far the picture reaches to the left of the ideal line, in heights of the picture. What is further behind is cut
off, for a single straggler would squeeze everything else into a corner."""
_LETTER = 0.62
"""The width of a letter, in font sizes: an upper bound for what viewers choose of the fonts below."""

_INK, _MUTED, _GRID, _PAPER, _SKEW = "#1f2933", "#616e7c", "#e4e7eb", "#ffffff", "#c2410c"
_BLUES: Final = ("#5a9fe0", "#3f86cf", "#2b6cb0", "#1f5591", "#153f70", "#0b2a4f")
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

Point = tuple[float, float]


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
    corners: tuple[Point, ...]


class _Picture:
    def __init__(self, skew: Skew, title: str) -> None:
        self._skew, self._title = skew, title
        self._shown = _shown(skew)
        self._y0, self._y1 = skew.points[0].at, skew.points[-1].at
        times = [time for percentile in self._shown for time, _ in skew.line(percentile)]
        self._x0 = max(min(*times, self._y0), self._y0 - int(_WIDEST * (self._y1 - self._y0)))
        self._x1 = max(*times, self._y1)
        self._root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {WIDTH} {HEIGHT}",
                "width": str(WIDTH),
                "height": str(HEIGHT),
                "role": "img",
                "font-family": _FONT,
            },
        )

    def document(self) -> str:
        """All of it, from back to front."""
        lines = self._lines()
        self._frame()
        self._axes()
        plot = ET.SubElement(self._root, "g", {"clip-path": "url(#frame)"})
        self._draw_skew(plot)
        for line in reversed(lines):
            attributes = {"fill": "none", "stroke": line.colour, "stroke-width": f"{line.width:g}"}
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line.corners)
            ET.SubElement(plot, "polyline", {"points": points, "stroke-linejoin": "round", **attributes})
        self._labels(lines)
        self._name_skew()
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode", xml_declaration=True) + "\n"

    # Where things are

    def _x(self, time: Micros) -> float:
        return _LEFT + (time - self._x0) / (self._x1 - self._x0) * (_RIGHT - _LEFT)

    def _y(self, time: Micros) -> float:
        return _BOTTOM - (time - self._y0) / (self._y1 - self._y0) * (_BOTTOM - _TOP)

    def _lines(self) -> list[_Line]:
        """Those that were ever finite; 100 first, so that it wins no place by chance where several end together."""
        lines = []
        for index, percentile in reversed(list(enumerate(self._shown))):
            told = self._skew.line(percentile)
            if told:
                last = percentile == 100
                colour = _SKEW if last else _BLUES[index * len(_BLUES) // max(1, len(self._shown) - 1)]
                width = 2.5 if last else 1.6
                lines.append(_Line(percentile_text(percentile), told[-1][0], colour, width, self._corners(percentile)))
        return lines

    def _corners(self, percentile: float) -> tuple[Point, ...]:
        """A published watermark stands until the next epoch moves it: up first, then to the right."""
        corners: list[Point] = []
        for time, at in self._skew.line(percentile):
            x, y = round(self._x(time), 1), round(self._y(at), 1)
            if corners and corners[-1][1] != y:
                corners.append((corners[-1][0], y))
            if not corners or corners[-1][0] != x:
                corners.append((x, y))
        return _without_middles(corners)

    # What is drawn

    def _frame(self) -> None:
        ET.SubElement(self._root, "title").text = self._title
        ET.SubElement(self._root, "desc").text = (
            f"Event time against {self._clock_name()} of {self._skew.epochs} epochs, with the ideal line and the "
            f"watermarks of percentiles {', '.join(map(percentile_text, self._shown))}."
        )
        clip = ET.SubElement(ET.SubElement(self._root, "defs"), "clipPath", {"id": "frame"})
        # A little air, so that a line along the border keeps its width.
        self._rectangle(clip, _LEFT - 1.5, _TOP - 1.5, _RIGHT + 1.5, _BOTTOM + 1.5)
        self._rectangle(self._root, 0.5, 0.5, WIDTH - 0.5, HEIGHT - 0.5, fill=_PAPER, stroke=_GRID, rx="8")
        # A long title is set smaller rather than cut off.
        size = min(19.0, (_RIGHT - _LEFT) / _width(self._title, 1))
        self._text(_LEFT, 38, self._title, size=size, colour=_INK, weight="600")
        self._text(_LEFT, 60, self._summary(), size=13)

    def _summary(self) -> str:
        behind = [
            f"W {percentile_text(percentile)} % {coarse(self._y1 - line[-1][0])}"
            for percentile in self._shown
            if percentile in {97.0, 100.0} and (line := self._skew.line(percentile))
        ]
        return f"{self._skew.epochs:,} epochs · {self._skew.rows:,} rows · behind at the end: {', '.join(behind)}"

    def _axes(self) -> None:
        across, up = ticks(self._x0, self._x1, 8), ticks(self._y0, self._y1, 7)
        for tick in across:
            x = self._x(tick.at)
            self._rule(x, _TOP, x, _BOTTOM)
            self._text(x, _BOTTOM + 20, tick.label, anchor="middle")
            if tick.above:
                self._text(x, _BOTTOM + 36, tick.above, anchor="middle", weight="600")
        for tick in up:
            y = self._y(tick.at)
            self._rule(_LEFT, y, _RIGHT, y)
            self._up_label(y, tick)
        self._rectangle(self._root, _LEFT, _TOP, _RIGHT, _BOTTOM, fill="none", stroke="#9aa5b1")
        self._text((_LEFT + _RIGHT) / 2, HEIGHT - 20, "event time (UTC)", size=13, colour=_INK, anchor="middle")
        middle = (_TOP + _BOTTOM) / 2
        label = self._text(20, middle, f"{self._clock_name()} (UTC)", size=13, colour=_INK, anchor="middle")
        label.set("transform", f"rotate(-90 20 {middle:g})")

    def _up_label(self, y: float, tick: Tick) -> None:
        self._text(_LEFT - 8, y + 4, tick.label, anchor="end")
        if tick.above:
            # Above the label, or below it where that would leave the frame.
            self._text(_LEFT - 8, y - 11 if y > _TOP + 12 else y + 19, tick.above, anchor="end", weight="600")

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
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in area)
            ET.SubElement(plot, "polygon", {"points": points, "fill": _SKEW, "fill-opacity": "0.07"})
        ET.SubElement(
            plot,
            "line",
            {
                "x1": f"{self._x(self._y0):.1f}", "y1": f"{self._y(self._y0):.1f}", "x2": f"{self._x(self._y1):.1f}",
                "y2": f"{self._y(self._y1):.1f}", "stroke": _MUTED, "stroke-width": "1.6", "stroke-dasharray": "7 5",
            },
        )  # fmt: skip

    def _labels(self, lines: Sequence[_Line]) -> None:
        """Each line's name above the frame, with a thread down to where the line ends."""
        ends = [(self._y1, "ideal", _MUTED)]
        for line in lines:
            # What ends behind the left border has its label there, with a sign that it lies further on.
            beyond = "< " if line.end < self._x0 else ""
            ends.append(
                (max(line.end, self._x0), f"{beyond}{'W ' if line.name == '100' else ''}{line.name} %", line.colour)
            )
        ends.sort(key=lambda end: end[0])
        places = _apart([self._x(end) for end, _, _ in ends], [_width(name, 12) + 10 for _, name, _ in ends])
        for (end, name, colour), place in zip(ends, places, strict=True):
            x = self._x(end)
            thread = f"{x:.1f},{_TOP:g} {x:.1f},{_TOP - 4:g} {place:.1f},{_TOP - 26:g} {place:.1f},{_TOP - 30:g}"
            ET.SubElement(self._root, "polyline", {"points": thread, "fill": "none", "stroke": colour})
            self._text(place, _TOP - 36, name, colour=colour, anchor="middle", weight="600")

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
        ET.SubElement(self._root, "path", {"d": path, "fill": "none", "stroke": _SKEW, "stroke-width": "1.2"})
        room = _width(name, 13) + 16
        # No line is up and to the left of the ordinary watermark, hardly any is to the right of the ideal one.
        place, anchor = (left - 8, "end") if left - _LEFT > room else (right + 10, "start")
        if anchor == "start" and _RIGHT - right < room:
            place, anchor = (left + right) / 2, "middle"
        self._text(place, y - 5, name, size=13, colour=_SKEW, anchor=anchor, weight="600")

    # Shapes

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        colour: str = _MUTED,
        anchor: str = "start",
        weight: str = "",
    ) -> ET.Element:
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": f"{size:g}", "fill": colour, "text-anchor": anchor}
        element = ET.SubElement(self._root, "text", attributes | ({"font-weight": weight} if weight else {}))
        element.text = text
        return element

    def _rule(self, x1: float, y1: float, x2: float, y2: float) -> None:
        places = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        ET.SubElement(self._root, "line", {**{name: f"{at:.1f}" for name, at in places.items()}, "stroke": _GRID})

    def _rectangle(self, parent: ET.Element, left: float, top: float, right: float, bottom: float, **how: str) -> None:
        size = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        ET.SubElement(parent, "rect", {**{name: f"{value:g}" for name, value in size.items()}, **how})


def _shown(skew: Skew) -> tuple[float, ...]:
    """The percentiles to draw: a few of the usual ones, all that the pipeline's own triggers have added, and 100."""
    known = {percentile for point in skew.points for percentile in point.watermarks.percentiles}
    usual = {float(percentile) for percentile in DEFAULT_PERCENTILES}
    return tuple(sorted({100.0, *(known & {*_SHOWN}), *(known - usual)}))


def _without_middles(corners: list[Point]) -> tuple[Point, ...]:
    """Without the corners that lie on a straight line between their neighbours."""
    kept: list[Point] = []
    for corner in corners:
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == corner[0] or kept[-2][1] == kept[-1][1] == corner[1]):
            kept.pop()
        kept.append(corner)
    return tuple(kept)


def _width(text: str, size: float) -> float:
    return len(text) * size * _LETTER


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
