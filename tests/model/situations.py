"""Situations for triggers, in small numbers, and what a trigger does when elements and clocks come one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_dataflow_provider import Trigger, Window
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.triggers import Situation, TriggerState
from airflow_dataflow_provider.model.watermarks import WatermarkCurve


def at(
    watermark: int = 0,
    *,
    w97: int | None = None,
    now: int = 0,
    first: int | None = 0,
    signals: Iterable[str] = (),
    passed: Iterable[float] = (),
    boundary: bool = True,
    timers: int | None = None,
) -> Situation:
    """A window that ends at 10, watched under this clock; ``first`` is the first new element's arrival."""
    curve = WatermarkCurve(((97.0, watermark if w97 is None else w97), (100.0, watermark)))
    clock = Clock(now, curve, frozenset(signals), timers)
    return Situation(clock, Window(0, 10), first, frozenset(passed), boundary)


def element(**row: object) -> Element:
    return Element(row, 0, 0)


@dataclass
class Watched:
    """One window's trigger, asked as an engine asks it; ``fired`` are the numbers of elements at its firings."""

    trigger: Trigger
    state: TriggerState = None
    finished: bool = False
    seen: int = 0
    fired: list[int] = field(default_factory=list)
    fresh: bool = False

    def __post_init__(self) -> None:
        self.state = self.trigger.initial()

    def add(self, *rows: dict[str, Any], clock: Situation | None = None) -> Watched:
        for row in rows:
            now = at(first=0 if self.fresh else None, boundary=False)
            self.seen += 1
            if not self.finished:
                self.state = self.trigger.on_element(self.state, element(**row), now)
            self.fresh = True
            self._ask(clock or at(boundary=False))
        return self

    def boundary(self, now: Situation) -> Watched:
        if not self.finished:
            self.state = self.trigger.on_clock(self.state, now)
        self._ask(now)
        return self

    def _ask(self, now: Situation) -> None:
        if not self.finished and self.trigger.should_fire(self.state, now):
            self.fired.append(self.seen)
            self.state, self.finished = self.trigger.on_fire(self.state, replace(now, is_firing=True))
            self.fresh = False


def numbered(count: int) -> Iterator[dict[str, int]]:
    return ({"number": number} for number in range(1, count + 1))
