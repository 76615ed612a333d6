"""Ticks of a time axis: round times of day, days, or months, in UTC."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.model.time import Micros, duration, to_datetime, to_micros

_DAY, _MINUTE, _SECOND = duration("1d"), duration("1m"), duration("1s")
_STEPS: Final = tuple(
    duration(f"{count}{unit}")
    for unit, counts in (
        ("ms", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        ("s", (1, 2, 5, 10, 15, 30)),
        ("m", (1, 2, 5, 10, 15, 30)),
        ("h", (1, 2, 3, 6, 12)),
        ("d", (1, 2, 3, 7, 14)),
    )
    for count in counts
)
_MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120)


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment with its label, and in ``above`` the larger unit where it changes (else ``""``)."""

    at: Micros
    label: str
    above: str = ""


def ticks(start: Micros, end: Micros, most: int) -> list[Tick]:
    """Round times in ``[start, end]``: at most ``most``, if months allow it."""
    step = _step(start, end, most)
    if step is None:
        return _labelled(_months(start, end, most), "%b", "%Y")
    first = -(-start // step) * step
    times = list(range(first, end + 1, step))
    if step >= _DAY:
        return _labelled(times, "%b %-d", "%Y")
    if step >= _SECOND:
        return _labelled(times, "%H:%M" if step >= _MINUTE else "%H:%M:%S", "%b %-d")
    return _labelled(times, "%S.%f", "%H:%M")


def rounded(start: Micros, end: Micros, most: int) -> tuple[Micros, Micros]:
    """The smallest range around this one that begins and ends with a tick."""
    step = _step(start, end, most) or _DAY
    return start // step * step, -(-end // step) * step


def _step(start: Micros, end: Micros, most: int) -> Micros | None:
    """The least step for so many ticks. None: months."""
    return next((step for step in _STEPS if (end - start) // step + 1 <= most), None)


def _labelled(times: list[Micros], form: str, above: str) -> list[Tick]:
    result, last = [], ""
    for time in times:
        moment = to_datetime(time)
        if moment is None:
            continue
        larger = moment.strftime(above)
        label = moment.strftime(form)
        result.append(Tick(time, label[:-3] if form.endswith("%f") else label, "" if larger == last else larger))
        last = larger
    return result


def _months(start: Micros, end: Micros, most: int) -> list[Micros]:
    first, last = to_datetime(start), to_datetime(end)
    if first is None or last is None:
        return []
    begin, stop = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    step = next((step for step in _MONTHS if (stop - begin) // step + 1 <= most), _MONTHS[-1])
    starts = [month for month in range(begin, stop + 1) if month % step == 0]
    times = [to_micros(dt.datetime(month // 12, month % 12 + 1, 1, tzinfo=dt.UTC)) for month in starts]
    return [time for time in times if start <= time <= end]
