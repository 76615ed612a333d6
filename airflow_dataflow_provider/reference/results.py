"""Applies the steps after the last grouping to its panes, before they are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_dataflow_provider.model.elements import Element, Key, Pane
from airflow_dataflow_provider.model.errors import DataError
from airflow_dataflow_provider.model.par_do import Row
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import replaces
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.reference.open_window import retraction
from airflow_dataflow_provider.reference.par_do import apply
from airflow_dataflow_provider.reference.stage import as_element


@dataclass(frozen=True, slots=True)
class _Numbered(Element):
    """A pane as an element, with the pane's position in the epoch."""

    number: int = 0


class Results:
    """Applies the steps after the last grouping to its panes.

    Each pane, retractions included, passes the steps by itself and becomes none, one or several rows with its key,
    window and other fields. Where the grouping accumulates without retracting, a pane without rows retracts the rows of
    the pane before, which otherwise would remain in the table.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._steps, self._grouping = pipeline.result_steps, pipeline.grouping
        self._replaces = replaces(pipeline.grouping)
        self._published: dict[tuple[Key, Window], list[Pane]] = {}

    def of(self, panes: Sequence[Pane]) -> Sequence[Pane]:
        """The rows that are published for these panes."""
        if not self._steps:
            return panes
        elements = [as_element(pane, self._grouping) for pane in panes]
        numbered = [
            _Numbered(element.row, element.event_time, element.arrival_time, number=number)
            for number, element in enumerate(elements)
        ]
        made: list[list[Pane]] = [[] for _ in panes]
        for element in apply(self._steps, numbered, None):
            assert isinstance(element, _Numbered)  # noqa: S101 - steps replace parts of an element, never its class
            number = element.number
            made[number].append(replace(panes[number], values=self._values(element.row, elements[number].row)))
        return [result for pane, rows in zip(panes, made, strict=True) for result in self._in_place(pane, rows)]

    def _in_place(self, pane: Pane, rows: list[Pane]) -> list[Pane]:
        if not self._replaces:
            return rows
        before = self._published.get((pane.key, pane.window), [])
        self._published[pane.key, pane.window] = rows
        return rows or [retraction(row, pane, pane.completeness) for row in before]

    def _values(self, row: Row, of: Row) -> Row:
        belongs = (*self._grouping.key, "window_start", "window_end")
        for name in belongs:
            if name in row and row[name] != of[name]:
                raise DataError(
                    f"a step after the last grouping changes {name!r} from {of[name]!r} to {row[name]!r}",
                    reason="a result belongs to its key and window, by which a later one replaces it",
                    hint="give the new column another name",
                    code="DATA_PAR_DO",
                )
        return {name: value for name, value in row.items() if name not in belongs}
