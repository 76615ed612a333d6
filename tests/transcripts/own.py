"""What users bring along: functions, windows and triggers of their own, as the transcripts use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider import Trigger, Window, WindowStrategy
from airflow_dataflow_provider.model.combiners import VectorisedCombiner
from airflow_dataflow_provider.model.elements import Element, Key
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.triggers import Situation
from airflow_dataflow_provider.model.windows.strategy import Merged

HOUR: Micros = 3_600_000_000


@dataclass(frozen=True)
class ValidityWindows(WindowStrategy):
    """A quote is valid until the next one of its key, and for an hour at most."""

    merges = True

    @property
    def longest(self) -> Micros:
        return HOUR

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] | None = None) -> tuple[Window]:  # noqa: ARG002
        return (Window(event_time, event_time + HOUR),)

    def merge(self, windows: Iterable[Window]) -> list[Merged]:
        """Each window ends where the next begins."""
        starts = sorted({window.start for window in windows})
        merged: list[Merged] = []
        for start, next_start in zip(starts, [*starts[1:], starts[-1] + HOUR], strict=True):
            parts = frozenset(window for window in windows if window.start == start)
            merged.append((Window(start, min(next_start, *(window.end for window in parts), start + HOUR)), parts))
        return merged


@dataclass(frozen=True)
class Subscriptions(WindowStrategy):
    """From the event on, for as many hours as the element itself says; none for a subscription of no hours."""

    columns = ("hours",)

    def assign(self, event_time: Micros, key: Key = (), row: Mapping[str, Any] | None = None) -> Sequence[Window]:  # noqa: ARG002
        hours = (row or {})["hours"]
        return [Window(event_time, event_time + hours * HOUR)] if hours else []


@dataclass(frozen=True)
class AtAlternation(Trigger):
    """With every element whose column differs from that of the element before it.

    The state is ``(changed, value)``.
    """

    column: str
    looks_at_elements = True

    def initial(self) -> tuple[bool, Any]:
        return False, None

    def on_element(self, state: tuple[bool, Any], element: Element, now: Situation) -> tuple[bool, Any]:  # noqa: ARG002
        changed, before = state
        value = element.row[self.column]
        return changed or (before is not None and value != before), value

    def should_fire(self, state: tuple[bool, Any], now: Situation) -> bool:  # noqa: ARG002
        return state[0]

    def on_fire(self, state: tuple[bool, Any], now: Situation) -> tuple[tuple[bool, Any], bool]:  # noqa: ARG002
        return (False, state[1]), False

    def may_lose_data(self) -> None:
        """It never finishes."""

    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True)
class Span(VectorisedCombiner):
    """The distance between the least and the greatest value."""

    column: str

    def lift(self) -> dict[str, Any]:
        import polars as pl

        return {"low": pl.col(self.column), "high": pl.col(self.column)}

    def fold(self, accumulators: Mapping[str, Any]) -> dict[str, Any]:
        return {"low": accumulators["low"].min(), "high": accumulators["high"].max()}

    def result(self, accumulators: Mapping[str, Any]) -> Any:
        return accumulators["high"] - accumulators["low"]


def prefixes(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The paper's example: an element for each prefix of its key."""
    for length in range(1, len(row["key"]) + 1):
        yield {"key": row["key"][:length], "value": row["value"]}


def words(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The words of a line."""
    return [{"word": word} for word in row["line"].split()]


def sold(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Only what was sold, with its turnover."""
    return {"key": row["key"], "turnover": row["price"] * row["pieces"]} if row["pieces"] else None


def an_hour_earlier(frame: Any) -> Any:
    """Elements that happened an hour before what they say."""
    import polars as pl

    return frame.with_columns(pl.col("_event") - HOUR)


def doubled(frame: Any) -> Any:
    """Twice the value, and only of positive ones."""
    import polars as pl

    return frame.filter(pl.col("value") > 0).with_columns(pl.col("value") * 2)


def under_five_seconds(frame: Any) -> Any:
    """Sessions whose last event came less than five seconds after the first; their gap is half a minute."""
    import polars as pl

    return frame.filter(pl.col("window_end") - pl.col("window_start") < pl.duration(seconds=35))


def at_least_ten(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """HAVING."""
    return row if row["total"] >= 10 else None


def mean_alone(frame: Any) -> Any:
    """A projection: the mean of what was added up, and nothing else."""
    return frame.select("_element", mean=frame["total"] / frame["n"])


def rows_apart(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Structs as text: the last price and url by themselves, and those of whole rows."""
    last, first, (best,) = row["row"], row["first"], row["best"]
    texts = {"last": last, "first": first, "best": best}
    apart = {name: f"{value['price']}{value['url']}" for name, value in texts.items()}
    return {"apart": f"{row['price']}{row['url']}", **apart}


NAMES: dict[str, Any] = {
    each.__name__: each
    for each in (
        ValidityWindows, Subscriptions, AtAlternation, Span, prefixes, words, sold, an_hour_earlier, doubled,
        under_five_seconds, at_least_ten, mean_alone, rows_apart,
    )
}  # fmt: skip
