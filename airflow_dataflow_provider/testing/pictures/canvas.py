"""A sheet of SVG: shapes and text by pixel, on a background of its own, so that it reads on a light and a dark page."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from airflow_dataflow_provider.model.elements import PaneTiming

INK, MUTED, GRID, PAPER, FRAME = "#1f2933", "#616e7c", "#e4e7eb", "#ffffff", "#9aa5b1"
WATERMARK, RETRACTION = "#2b6cb0", "#c53030"
TIMING: Final = {
    PaneTiming.EARLY: "#b7791f",
    PaneTiming.ON_TIME: "#2f855a",
    PaneTiming.LATE: "#6b46c1",
    PaneTiming.CORRECTION: "#0f766e",
}
TIMING_NAMES: Final = {
    PaneTiming.EARLY: "early",
    PaneTiming.ON_TIME: "on time",
    PaneTiming.LATE: "late",
    PaneTiming.CORRECTION: "correction",
}
LETTER: Final = 0.6
"""The width of a letter, in font sizes: an upper bound for what viewers choose of the fonts below."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


class Canvas:
    """The sheet, and the element that shapes are added to."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width, self.height = width, height
        self.root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}",
                "height": f"{height:g}", "role": "img", "font-family": _FONT,
            },
        )  # fmt: skip
        ET.SubElement(self.root, "title").text = title
        ET.SubElement(self.root, "desc").text = description
        self.rectangle(0.5, 0.5, width - 0.5, height - 0.5, fill=PAPER, stroke=GRID, rx=8)

    def document(self) -> str:
        """The SVG."""
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode", xml_declaration=True) + "\n"

    def clip(self, name: str, left: float, top: float, right: float, bottom: float) -> None:
        """A part of the sheet that shapes can be held to, by name."""
        path = ET.SubElement(ET.SubElement(self.root, "defs"), "clipPath", {"id": name})
        ET.SubElement(path, "rect", _rectangle(left, top, right, bottom))

    def group(self, clip: str) -> ET.Element:
        """Shapes that are held to a part of the sheet."""
        return ET.SubElement(self.root, "g", {"clip-path": f"url(#{clip})"})

    def rectangle(
        self, left: float, top: float, right: float, bottom: float, *, within: ET.Element | None = None,
        tip: str = "", **how: str | float,
    ) -> None:  # fmt: skip
        """A rectangle by its edges; ``tip`` is told where the pointer rests on it."""
        shape = ET.SubElement(
            self.root if within is None else within, "rect", _rectangle(left, top, right, bottom) | _attributes(how)
        )
        if tip:
            ET.SubElement(shape, "title").text = tip

    def line(
        self, *corners: tuple[float, float], within: ET.Element | None = None, **how: str | float
    ) -> None:  # fmt: skip
        """A line through these corners."""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        attributes = {"points": points, "fill": "none", "stroke-linejoin": "round", **_attributes(how)}
        ET.SubElement(self.root if within is None else within, "polyline", attributes)

    def circle(self, x: float, y: float, radius: float, **how: str | float) -> None:
        """A circle."""
        ET.SubElement(self.root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:g}", **_attributes(how)})

    def text(
        self, x: float, y: float, text: str, *, size: float = 12, colour: str = MUTED, anchor: str = "start",
        weight: str = "", turned: bool = False,
    ) -> None:  # fmt: skip
        """A text on a line at ``y``; turned, it reads upwards."""
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": f"{size:g}", "fill": colour, "text-anchor": anchor}
        if weight:
            attributes["font-weight"] = weight
        if turned:
            attributes["transform"] = f"rotate(-90 {x:.1f} {y:.1f})"
        ET.SubElement(self.root, "text", attributes).text = text

    def pill(self, x: float, y: float, text: str, colour: str, *, dashed: bool = False) -> None:
        """A value on a small plate, around a point."""
        half = pill_width(text) / 2
        dashes = "3 2" if dashed else "none"
        self.rectangle(
            x - half, y - 9, x + half, y + 9, fill=PAPER, stroke=colour, rx=9, stroke_width=1.4, stroke_dasharray=dashes
        )  # fmt: skip
        self.text(x, y + 4.6, text, size=13, colour=colour, anchor="middle", weight="600")


def pill_width(text: str) -> float:
    """How wide :meth:`Canvas.pill` draws a text."""
    return max(22.0, len(text) * 13 * LETTER + 12)


def text_width(text: str, size: float) -> float:
    """An upper bound of how wide a text is."""
    return len(text) * size * LETTER


def _rectangle(left: float, top: float, right: float, bottom: float) -> dict[str, str]:
    size = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return {name: f"{value:.1f}" for name, value in size.items()}


def _attributes(how: dict[str, str | float]) -> dict[str, str]:
    return {name.replace("_", "-"): value if isinstance(value, str) else f"{value:g}" for name, value in how.items()}
