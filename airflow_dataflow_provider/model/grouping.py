"""One ``GroupByKeyAndWindow`` with its combiners (Dataflow Model, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import dropwhile
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo, Vectorised, code_of
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, duration_text
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.model.windows.window import expired_until

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.risk import Risk


class OutputTime(Enum):
    """The event time that a result has as an element of the next grouping; prints as the constant's name."""

    END_OF_WINDOW = "end-of-window"
    """The last instant of its window, one microsecond before the end."""
    EARLIEST = "earliest"
    """The event time of its earliest element. It holds the next grouping's watermark back for longer."""
    LATEST = "latest"
    """The event time of its latest element."""

    def __repr__(self) -> str:
        return self.name


END_OF_WINDOW = OutputTime.END_OF_WINDOW
EARLIEST = OutputTime.EARLIEST
LATEST = OutputTime.LATEST


@dataclass(frozen=True, slots=True, repr=False)
class Grouping:
    """The aggregates of each key and window, and when they are published.

    Attributes:
        key: the key columns.
        window: where in event time.
        trigger: when in processing time.
        refinement: how panes of one window relate.
        allowed_lateness: how long after its end, by ``W_100``, a window still takes elements; microseconds.
        aggregates: output names with their combiners.
        par_dos: the steps on each element before the grouping.
        output_time: the event time of a result in the next grouping.
        accept: the risks that the user accepts (see :mod:`airflow_dataflow_provider.model.proofs`).
    """

    key: tuple[str, ...]
    window: WindowStrategy
    trigger: Trigger
    refinement: Refinement
    allowed_lateness: Micros
    aggregates: tuple[tuple[str, Combiner], ...]
    par_dos: tuple[ParDo, ...] = ()
    output_time: OutputTime = END_OF_WINDOW
    accept: frozenset[Risk] = frozenset()

    @property
    def combiners(self) -> dict[str, Combiner]:
        """The aggregates by output name."""
        return dict(self.aggregates)

    @property
    def assigns_windows_early(self) -> bool:
        """Whether a step before the grouping assigns the windows."""
        return any(isinstance(step, AssignWindows) for step in self.par_dos)

    @property
    def moves_times(self) -> bool:
        """Whether a step may change event times after windows were assigned by them."""
        since = dropwhile(lambda step: not isinstance(step, AssignWindows), self.par_dos)
        return any(isinstance(step, Vectorised) for step in since)

    @property
    def forgets_times(self) -> bool:
        """Whether the event time of a pane depends on its own elements only, not on those of earlier panes."""
        return self.refinement is Refinement.DISCARDING and self.output_time is not END_OF_WINDOW

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The columns of a result as an element of the next grouping."""
        return (*self.key, *self.combiners, "window_start", "window_end")

    def input_columns(self) -> tuple[str, ...]:
        """The columns that the grouping itself reads, each once."""
        values = (name for combiner in self.combiners.values() for name in combiner.columns)
        placing = () if self.assigns_windows_early else self.window.columns
        return tuple(dict.fromkeys((*self.key, *values, *self.trigger.columns(), *placing)))

    def reads(self) -> tuple[str, ...] | None:
        """The input columns of the ParDos and the grouping together; None: all columns."""
        wanted: tuple[str, ...] | None = self.input_columns()
        for step in reversed(self.par_dos):
            if not isinstance(step, AssignWindows):
                wanted = step.reads
            elif wanted is not None:
                wanted = tuple(dict.fromkeys((*wanted, *step.window.columns)))
        return wanted

    def shape(self) -> dict[str, str]:
        """The parts of the definition that the state depends on, as code."""
        parts = {
            "key": repr(self.key),
            "window": repr(self.window),
            "trigger": repr(self.trigger),
            "refinement": repr(self.refinement),
            "allowed_lateness": duration_text(self.allowed_lateness),
            "combiners": ", ".join(f"{name}={combiner!r}" for name, combiner in self.combiners.items()),
        }
        if self.par_dos:
            parts["par_do"] = ", ".join(map(repr, self.par_dos))
        if self.output_time is not END_OF_WINDOW:
            parts["output_time"] = repr(self.output_time)
        return parts

    def __repr__(self) -> str:
        key = repr(self.key[0]) if len(self.key) == 1 else repr(self.key)
        aggregates = ", ".join(f"{name}={combiner!r}" for name, combiner in self.combiners.items())
        window = "" if self.assigns_windows_early else f", window={self.window!r}"
        output_time = "" if self.output_time is END_OF_WINDOW else f", output_time={self.output_time!r}"
        accept = f", accept=({', '.join(map(repr, sorted(self.accept)))},)" if self.accept else ""
        return (
            f"{code_of(self.par_dos)}.group_by_key_and_window(key={key}{window}, trigger={self.trigger!r}, "
            f"refinement={self.refinement!r}, allowed_lateness={duration_text(self.allowed_lateness)!r}"
            f"{output_time}{accept}).combine({aggregates})"
        )


def earliest_output(grouping: Grouping, horizon: Micros) -> Micros:
    """The least output time of any window that may still open, when windows expire by this horizon.

    A window that is open already may have an earlier one.
    """
    border, window = expired_until(horizon, grouping.allowed_lateness), grouping.window
    if border in (MIN_TIME, MAX_TIME):
        return border
    if window.merges and window.may_shrink:
        return MIN_TIME
    if grouping.output_time is END_OF_WINDOW:
        return border
    if window.merges and (grouping.output_time is EARLIEST or grouping.forgets_times):
        # An element that alone is too late is taken if other elements connect it with an open window.
        return MIN_TIME
    return MIN_TIME if window.longest is None or grouping.moves_times else border - window.longest
