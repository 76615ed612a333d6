"""Windows in words."""

from __future__ import annotations

from functools import singledispatch

from airflow_dataflow_provider.cli.words.plain import series
from airflow_dataflow_provider.model.time import Micros, duration_text, iso, to_micros
from airflow_dataflow_provider.model.windows import (
    CalendarUnit,
    CalendarWindows,
    FixedWindows,
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    Window,
    WindowStrategy,
)

_MOMENT: Micros = to_micros("2013-01-01T10:17:00Z")
"""An event time to explain windows with."""


@singledispatch
def window_lines(window: WindowStrategy) -> list[str]:
    """Which windows elements have; of a strategy of the user's own, how it is asked."""
    looks = series(["the event time", "the key", *window.columns])
    lines = [f"In {window!r}, the user's own way: it is called for each element, with {looks}, which is slow."]
    if window.merges:
        lines.append(
            "Its windows of one key can merge, by its own rule: elements are taken one by one, in arrival order. An "
            "element is judged too late by the window that it becomes part of."
        )
    return lines


@window_lines.register
def _(window: FixedWindows) -> list[str]:
    kind = f"In windows of {duration_text(window.size)}, side by side, each with its start and without its end"
    offset = f"borders lie {duration_text(window.offset)} after multiples of that"
    if not window.shifted_by_key:
        return [f"{kind}{f'; {offset}' if window.offset else ''}: {_example(window)}."]
    by_key = "Every key has borders of its own, moved by a hash of the key: not all windows close at the same moment."
    return [f"{kind}.", f"{by_key}{f' Without the hash, {offset}.' if window.offset else ''}"]


@window_lines.register
def _(window: SlidingWindows) -> list[str]:
    size, period = duration_text(window.size), duration_text(window.period)
    offset = f", {duration_text(window.offset)} after its multiples" if window.offset else ""
    kind = f"In windows of {size} that start every {period}{offset}, each with its start and without its end"
    if window.period > window.size:
        gap = duration_text(window.period - window.size)
        return [
            f"{kind}.",
            f"Between two of them lies {gap}: an element there is counted as read, and part of no result.",
        ]
    return [f"{kind}: {_example(window)}."]


@window_lines.register
def _(window: SessionWindows) -> list[str]:
    gap = duration_text(window.gap)
    return [
        (
            f"In sessions: elements of a key with less than {gap} between them. A session ends {gap} after its last "
            f"element; alone, {_example(window)}."
        ),
        (
            "An element between two sessions makes them one. What comes late is judged by the session that it becomes "
            "part of, all elements of its epoch taken together; a session that has expired takes no more."
        ),
    ]


@window_lines.register
def _(window: CalendarWindows) -> list[str]:
    unit = {CalendarUnit.WEEK: "weeks, from Monday on,"}.get(window.unit, f"{window.unit.value}s")
    zone = window.time_zone
    lines = [f"In calendar {unit} of {zone}, from local midnight to local midnight: {_example(window)}."]
    if zone != "UTC":
        lines.append(f"Where the clocks of {zone} change, a day has an hour more or less.")
    return lines


@window_lines.register
def _(_window: GlobalWindows) -> list[str]:
    return ["In one window over all of time, which ends at the end of input."]


def example(window: WindowStrategy) -> Window | None:
    """A window to explain other things with; None where it depends on more than a time."""
    if window_lines.dispatch(type(window)) is window_lines.dispatch(WindowStrategy) or isinstance(
        window, GlobalWindows
    ):
        return None
    found = () if getattr(window, "shifted_by_key", False) else window.assign(_MOMENT)
    return found[-1] if found else None


def _example(window: WindowStrategy) -> str:
    windows = window.assign(_MOMENT)
    named = windows if len(windows) <= 3 else [windows[0], windows[1], windows[-1]]
    texts = [str(each) for each in named]
    if len(windows) > 3:
        texts.insert(2, f"{len(windows) - 3:,} more")
    return f"an element at {iso(_MOMENT)} belongs to {series(texts)}"
