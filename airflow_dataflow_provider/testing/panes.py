"""Panes as tests expect them, and what to say when others came."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from airflow_dataflow_provider.model.elements import Key, Pane, PaneTiming
from airflow_dataflow_provider.model.time import Micros, iso
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.testing.times import Moment, moment

_OPEN_FIELDS = ("timing", "index", "is_first", "is_last", "watermark", "completeness", "processing_time")


@dataclass(frozen=True, slots=True)
class ExpectedPane:
    """An expected pane, made by :func:`pane`. A field that is None matches anything."""

    key: Key
    window: Window
    values: Mapping[str, Any]
    is_retraction: bool = False
    timing: PaneTiming | None = None
    index: int | None = None
    is_first: bool | None = None
    is_last: bool | None = None
    watermark: Micros | None = None
    completeness: float | None = None
    processing_time: Micros | None = None

    def differences(self, actual: Pane, relative: float = 0.0) -> list[str]:
        """The names of the aggregates and fields, window and key aside, in which a pane is not as expected.

        Args:
            actual: the pane.
            relative: how far apart floats may be, as a share of the greater one.
        """
        names = dict.fromkeys([*self.values, *actual.values])
        # An aggregate that only one of them has differs, even if it is null.
        others = [
            name
            for name in names
            if (name not in self.values or name not in actual.values)
            or not _agree(self.values[name], actual.values[name], relative)
        ]
        said = (name for name in _OPEN_FIELDS if getattr(self, name) is not None)
        return others + [name for name in said if getattr(self, name) != getattr(actual, name)]


def pane(
    key: object,
    start: Moment | None,
    end: Moment | None,
    /,
    *,
    pane_timing: PaneTiming | str | None = None,
    pane_index: int | None = None,
    pane_is_first: bool | None = None,
    pane_is_last: bool | None = None,
    pane_is_retraction: bool = False,
    watermark: Moment | None = None,
    completeness: float | None = None,
    processing_time: Moment | None = None,
    **values: object,
) -> ExpectedPane:
    """Write an expected pane: ``pane("k", "12:00", "12:02", total=14, pane_timing="LATE")``.

    The options have the names of the pane log's columns, which no aggregate can have. An option that is left out
    matches anything, except ``pane_is_retraction``.

    Args:
        key: the value of the key column, or a tuple of several.
        start: the window's start; None for minus infinity.
        end: the window's end; None for plus infinity.
        pane_timing: EARLY, ON_TIME, LATE or CORRECTION.
        pane_index: how many panes of this window were published before it.
        pane_is_first: whether it is the first of its window.
        pane_is_last: whether its window was dropped with it.
        pane_is_retraction: whether it takes back the values instead of stating them.
        watermark: ``W_100`` at firing.
        completeness: the share that the watermark curve claimed at firing, 0 to 1.
        processing_time: when it fired.
        **values: every aggregate by its output name; ``pytest.approx(2.5)`` matches what is close.
    """
    return ExpectedPane(
        key=key if isinstance(key, tuple) else (key,),
        window=Window(moment("-inf" if start is None else start), moment("+inf" if end is None else end)),
        values=values,
        is_retraction=pane_is_retraction,
        timing=None if pane_timing is None else PaneTiming(pane_timing),
        index=pane_index,
        is_first=pane_is_first,
        is_last=pane_is_last,
        watermark=None if watermark is None else moment(watermark),
        completeness=completeness,
        processing_time=None if processing_time is None else moment(processing_time),
    )


def canonical_order(pane: Pane | ExpectedPane) -> tuple[Any, ...]:
    """A sort key that does not depend on the engine: window, key (nulls first), index, a pane before its retraction."""
    # The type separates values that cannot be compared, so that a wrong type is reported as a difference.
    key = tuple((value is not None, type(value).__name__, value) for value in pane.key)
    index = -1 if pane.index is None else pane.index
    return pane.window.end, pane.window.start, key, index, pane.is_retraction


def assert_panes(
    actual: Iterable[Pane],
    expected: Iterable[Pane | ExpectedPane],
    *,
    relative: float = 0.0,
    in_order: bool = False,
) -> None:
    """Check that exactly the expected panes were published, in any order of windows and keys.

    Expected panes of one window without an index must come in the order in which they are written.

    Args:
        actual: the panes that were published.
        expected: the panes that should have been.
        relative: the greatest relative difference of floats, since engines add them up in another order.
        in_order: whether the panes and retractions of each key must come in the order in which they are written, across
            windows.

    Raises:
        AssertionError: with a table of missing, unexpected and different panes.
    """
    __tracebackhide__ = True
    actual, expected = list(actual), list(expected)
    rows: list[tuple[str, Pane | ExpectedPane]] = []
    agreed = 0
    for wanted, got in _pairs(actual, expected, relative):
        if wanted is not None and got is not None:
            if different := wanted.differences(got, relative):
                rows += [("expected", wanted), (f"came, with other {', '.join(different)}", got)]
            else:
                agreed += 1
        elif wanted is not None:
            rows.append(("missing", wanted))
        elif got is not None:
            rows.append(("unexpected", got))
    if rows:
        raise AssertionError(
            f"the panes are not as expected ({agreed} {'is' if agreed == 1 else 'are'})\n{table(rows)}"
        )
    if in_order:
        _check_order(actual, expected)


def table(rows: Sequence[tuple[str, Pane | ExpectedPane]]) -> str:
    """Panes as aligned text, each with a remark before it."""
    head = ("", "key", "window", "values", "timing", "index", "first/last", "watermark", "completeness", "fired at")
    columns = zip(head, *((remark, *_cells(pane)) for remark, pane in rows), strict=True)
    # Empty columns are left out.
    cells = list(zip(*(column for column in columns if any(column[1:])), strict=True))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def _cells(pane: Pane | ExpectedPane) -> tuple[str, ...]:
    sign = "- " if pane.is_retraction else "+ "
    ends = " ".join(name for name, is_it in (("first", pane.is_first), ("last", pane.is_last)) if is_it)
    return (
        ", ".join(map(repr, pane.key)),
        str(pane.window),
        sign + ", ".join(f"{name}={value!r}" for name, value in pane.values.items()),
        "" if pane.timing is None else pane.timing.value,
        "" if pane.index is None else str(pane.index),
        ends,
        "" if pane.watermark is None else iso(pane.watermark),
        "" if pane.completeness is None else f"{pane.completeness:.2%}",
        "" if pane.processing_time is None else iso(pane.processing_time),
    )


def _as_expected(pane: Pane | ExpectedPane) -> ExpectedPane:
    if isinstance(pane, ExpectedPane):
        return pane
    said = {name: getattr(pane, name) for name in _OPEN_FIELDS}
    return ExpectedPane(pane.key, pane.window, pane.values, pane.is_retraction, **said)


def _agree(wanted: object, got: object, relative: float) -> bool:
    """Whether a value is as expected; a NaN is as good as another."""
    match wanted, got:
        case float(), float():
            return math.isclose(wanted, got, rel_tol=relative) or (math.isnan(wanted) and math.isnan(got))
        case (list() | tuple(), list() | tuple()):
            return len(wanted) == len(got) and all(map(_agree, wanted, got, [relative] * len(got)))
        case _:
            return bool(wanted == got)


def _check_order(actual: Sequence[Pane], expected: Sequence[Pane | ExpectedPane]) -> None:
    """Fail for the first key whose panes came in another order than they are written."""
    __tracebackhide__ = True
    for key in dict.fromkeys(pane.key for pane in actual):
        came, wanted = ([pane for pane in panes if pane.key == key] for panes in (actual, expected))
        if list(map(_place, came)) != list(map(_place, wanted)):
            rows = [("came", pane) for pane in came] + [("expected", pane) for pane in wanted]
            raise AssertionError(f"the panes of {key!r} came in another order\n{table(rows)}")


def _place(pane: Pane | ExpectedPane) -> tuple[Window, bool]:
    return pane.window, pane.is_retraction


_Pair = tuple[ExpectedPane | None, Pane | None]


def _pairs(actual: Iterable[Pane], expected: Iterable[Pane | ExpectedPane], relative: float) -> Iterator[_Pair]:
    """Pairs of expected and actual panes; each pane is in one pair, and may be alone."""
    came: defaultdict[tuple[Key, Window, bool], list[Pane]] = defaultdict(list)
    wanted: defaultdict[tuple[Key, Window, bool], list[ExpectedPane]] = defaultdict(list)
    for got in sorted(actual, key=canonical_order):
        came[got.key, got.window, got.is_retraction].append(got)
    for want in map(_as_expected, expected):
        wanted[want.key, want.window, want.is_retraction].append(want)
    places = {place: canonical_order((came[place] or wanted[place])[0]) for place in [*came, *wanted]}
    for place in sorted(places, key=places.__getitem__):
        of_window = wanted[place]
        if all(want.index is not None for want in of_window):
            of_window.sort(key=canonical_order)
        if len(of_window) == len(came[place]):
            yield from zip(of_window, came[place], strict=True)
        else:
            yield from _aligned(of_window, came[place], relative)


def _aligned(wanted: Sequence[ExpectedPane], came: Sequence[Pane], relative: float) -> Iterator[_Pair]:
    """Pairs for different numbers of panes: first those that agree, then the others."""
    left, unmet = list(came), []
    for want in wanted:
        found = next((got for got in left if not want.differences(got, relative)), None)
        if found is None:
            unmet.append(want)
        else:
            left.remove(found)
            yield want, found
    yield from zip_longest(unmet, left)
