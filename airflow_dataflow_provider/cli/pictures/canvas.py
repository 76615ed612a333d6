"""SVG by pixel. The white background makes a picture readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from xml.etree import ElementTree as ET

INK, MUTED, GRID, PAPER, FRAME = "#1f2933", "#616e7c", "#e4e7eb", "#ffffff", "#9aa5b1"
LETTER: Final = 0.62
"""The width of a letter, in font sizes: an upper bound for the fonts below."""

Corner = tuple[float, float]

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


class Canvas:
    """An SVG document of a fixed size. Shapes go to its end, or to the end of ``within``."""

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

    def clip(self, name: str, left: float, top: float, right: float, bottom: float) -> ET.Element:
        """A group whose shapes are cut off at this rectangle."""
        path = ET.SubElement(ET.SubElement(self.root, "defs"), "clipPath", {"id": name})
        ET.SubElement(path, "rect", _rectangle(left, top, right, bottom))
        return ET.SubElement(self.root, "g", {"clip-path": f"url(#{name})"})

    def shape(self, tag: str, *, within: ET.Element | None = None, **attributes: str | float) -> ET.Element:
        """Any shape of SVG."""
        return ET.SubElement(self.root if within is None else within, tag, _attributes(attributes))

    def rectangle(
        self, left: float, top: float, right: float, bottom: float, *, within: ET.Element | None = None,
        tip: str = "", **attributes: str | float,
    ) -> None:  # fmt: skip
        """A rectangle by its edges. A viewer shows ``tip`` under the pointer."""
        shape = self.shape("rect", within=within, **_rectangle(left, top, right, bottom), **attributes)
        if tip:
            ET.SubElement(shape, "title").text = tip

    def line(self, *corners: Corner, within: ET.Element | None = None, **attributes: str | float) -> None:
        """A line through these corners."""
        self.shape(
            "polyline", within=within, points=points(corners), fill="none", stroke_linejoin="round", **attributes
        )

    def circle(self, x: float, y: float, radius: float, **attributes: str | float) -> None:
        """A circle around a point."""
        self.shape("circle", within=None, cx=f"{x:.1f}", cy=f"{y:.1f}", r=radius, **attributes)

    def text(
        self, x: float, y: float, text: str, *, size: float = 12, colour: str = MUTED, anchor: str = "start",
        weight: str = "", turned: bool = False,
    ) -> None:  # fmt: skip
        """A text whose baseline is at ``y``; turned, it reads upwards."""
        if not text:
            return
        attributes = {"font_weight": weight} if weight else {}
        if turned:
            attributes["transform"] = f"rotate(-90 {x:.1f} {y:.1f})"
        at = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
        self.shape("text", within=None, **at, font_size=size, fill=colour, text_anchor=anchor, **attributes).text = text

    def pill(self, x: float, y: float, text: str, colour: str, *, dashed: bool = False) -> None:
        """A value on a small plate around a point."""
        half = pill_width(text) / 2
        dashes = "3 2" if dashed else "none"
        self.rectangle(
            x - half, y - 9, x + half, y + 9, fill=PAPER, stroke=colour, rx=9, stroke_width=1.4, stroke_dasharray=dashes
        )  # fmt: skip
        self.text(x, y + 4.6, text, size=13, colour=colour, anchor="middle", weight="600")


def pill_width(text: str) -> float:
    """The width of a :meth:`Canvas.pill` with this text."""
    return max(22.0, len(text) * 13 * LETTER + 12)


def text_width(text: str, size: float) -> float:
    """An upper bound for the width of a text."""
    return len(text) * size * LETTER


def points(corners: Iterable[Corner]) -> str:
    """Corners as SVG writes them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _rectangle(left: float, top: float, right: float, bottom: float) -> dict[str, str]:
    size = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return {name: f"{value:.1f}" for name, value in size.items()}


def _attributes(named: Mapping[str, str | float]) -> dict[str, str]:
    return {name.replace("_", "-"): value if isinstance(value, str) else f"{value:g}" for name, value in named.items()}
