"""``ParDo``: what is done to each element before it is grouped (Dataflow Model, section 2.1), in three forms.

:class:`SparkColumns` leaves it to Spark's own expressions, :class:`Vectorised` to a function of whole frames, and
:class:`PerElement` to a Python function of one element. The last one is by far the slowest. All are stateless: an
engine may apply them to any share of the elements, in any order, and again after a failure.

A result has the times of the element that it was made of. :class:`AssignWindows` may stand anywhere among them: windows
are then those of the event time as it was there.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from airflow_dataflow_provider.model.code_name import code_name
from airflow_dataflow_provider.model.described import Described
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.windows.strategy import WindowStrategy

Row = Mapping[str, Any]
EVENT_TIME, ARRIVAL_TIME, ELEMENT = "_event", "_arrival", "_element"
"""Columns of a frame that a :class:`Vectorised` function gets: the element's times, in microseconds, and its number in
the frame (all Int64)."""
TYPES: tuple[type, ...] = (str, int, float, bool, bytes, dt.datetime, dt.date, Decimal)
"""The types that a column made by Python can be said to have."""


class ParDo(Described, ABC):
    """A stateless step from elements to elements: none, one or several for each."""

    __slots__ = ()

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it needs; None: all that there are."""


def _check_columns(name: str, reads: object) -> None:
    if reads is not None and not (
        isinstance(reads, tuple) and all(isinstance(column, str) and column for column in reads)
    ):
        raise DefinitionError(
            f"{name} reads={reads!r} is not a tuple of columns", hint='write reads=("url",)', code="DEFINITION_PAR_DO"
        )


@dataclass(frozen=True, slots=True, repr=False)
class SparkColumns(ParDo):
    """Columns computed, and rows kept, by Spark SQL expressions, with exactly Spark's meaning.

    All columns stay, those named here are added or replaced. The expressions see the columns as they were before.

    Args:
        where: a condition; rows for which it is not true are dropped. It is the user's choice, so they are counted
            nowhere.
        columns: Spark SQL by the name of the column that it makes, e.g. ``speed="distance / (air_time / 60)"``.
    """

    where: str | None
    columns: tuple[tuple[str, str], ...]

    def __init__(self, where: str | None = None, /, **columns: str) -> None:
        texts = [*columns.values(), *([] if where is None else [where])]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise DefinitionError(
                "SparkColumns needs Spark SQL expressions",
                hint='write SparkColumns("delay IS NOT NULL", hours="delay / 60"); a condition comes first',
                code="DEFINITION_PAR_DO",
            )
        reserved = sorted(name for name in columns if name.startswith("_"))
        if reserved:
            raise DefinitionError(
                f"SparkColumns cannot make the column {reserved[0]!r}",
                reason="names that start with '_' are the engine's",
                hint="choose another name",
                code="DEFINITION_PAR_DO",
            )
        if "where" in columns:
            raise DefinitionError(
                "SparkColumns cannot make a column 'where'",
                reason="it would be taken for the condition, and nothing would be dropped",
                hint='write the condition first, without a name: SparkColumns("delay > 0", ...)',
                code="DEFINITION_PAR_DO",
            )
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "columns", tuple(columns.items()))

    @property
    def reads(self) -> None:
        """What an expression reads only Spark knows: all."""
        return None

    def __repr__(self) -> str:
        parts = [] if self.where is None else [repr(self.where)]
        parts += [f"{name}={text!r}" for name, text in self.columns]
        return f"SparkColumns({', '.join(parts)})"


@dataclass(frozen=True, slots=True, repr=False)
class Vectorised(ParDo):
    """A function from a polars frame to a polars frame, called a few times an epoch with many elements each.

    The frame has the columns that it reads, the times ``_event`` and ``_arrival`` in microseconds, and ``_element``,
    the number of each element in the frame. The result must have ``_element``: it says which element each row is made
    of, and with it whatever else belongs to that element, such as windows assigned before, its place in the order of
    arrival, or that it is taken back. It may leave the times out; a result with another ``_event`` has another event
    time. ``with_columns``, ``filter`` and ``explode`` carry all of these along; a ``select`` must name ``_element``.

    The function must be able to take a frame without rows, from which the columns and types of its result are learned,
    and must give the same ones for any rows. Which elements share a frame is the engine's choice.

    Args:
        function: no state, no side effects. An engine that keeps a state takes only functions that have a name in their
            module, so that another function is seen to be another one.
        reads: the columns that it needs, or None for all. Reading few is faster.
        arrow: it takes and gives ``pyarrow.Table`` instead.
    """

    function: Callable[[Any], Any]
    reads: tuple[str, ...] | None = None
    arrow: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DefinitionError(f"Vectorised({self.function!r}) needs a function", code="DEFINITION_PAR_DO")
        _check_columns("Vectorised", self.reads)

    def __repr__(self) -> str:
        reads = "" if self.reads is None else f", reads={self.reads!r}"
        return f"Vectorised({code_name(self.function)}{reads}{', arrow=True' if self.arrow else ''})"


@dataclass(frozen=True, slots=True, repr=False)
class PerElement(ParDo):
    """A Python function of one element, called for each: easy to write, and slow (about a million calls a second).

    Args:
        function: takes the row as a mapping and gives None, one mapping, or an iterable of mappings: the results. Times
            are aware, in UTC. As for :class:`Vectorised`, it has a name in its module.
        makes: the columns of a result with their Python types, e.g. ``{"prefix": str, "user": str}``. A column that a
            result lacks is null; one that is not named here is dropped. On an engine, integers have 64 bits and
            decimals up to 20 digits before the point and 18 behind it; what does not fit is an error, never rounded.
        reads: the columns that the function needs, or None for all.
    """

    function: Callable[[Row], Row | Iterable[Row] | None]
    makes: Mapping[str, type] = field(hash=False)
    reads: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DefinitionError(f"PerElement({self.function!r}) needs a function", code="DEFINITION_PAR_DO")
        _check_columns("PerElement", self.reads)
        wrong = not isinstance(self.makes, Mapping) or not self.makes
        if wrong or not all(isinstance(name, str) and kind in TYPES for name, kind in self.makes.items()):
            raise DefinitionError(
                f"PerElement makes={self.makes!r} does not say what columns it makes",
                reason="types have to be known before the first element",
                hint=f'write makes={{"word": str}}; the types are {", ".join(kind.__name__ for kind in TYPES)}',
                code="DEFINITION_PAR_DO",
            )
        object.__setattr__(self, "makes", MappingProxyType(dict(self.makes)))

    def results(self, row: Row) -> list[dict[str, Any]]:
        """What the function makes of one row, in the columns that it says it makes."""
        made = self.function(row if self.reads is None else {name: row.get(name) for name in self.reads})
        rows = [] if made is None else [made] if isinstance(made, Mapping) else list(made)
        return [{name: result.get(name) for name in self.makes} for result in rows]

    def __reduce__(self) -> tuple[Any, ...]:
        """A read-only view does not pickle."""
        return type(self), (self.function, dict(self.makes), self.reads)

    def __repr__(self) -> str:
        makes = ", ".join(f"{name!r}: {kind.__name__}" for name, kind in self.makes.items())
        reads = "" if self.reads is None else f", reads={self.reads!r}"
        return f"PerElement({code_name(self.function)}, makes={{{makes}}}{reads})"


@dataclass(frozen=True, slots=True, repr=False)
class AssignWindows(ParDo):
    """Windows assigned here rather than at the grouping, which then merges and groups by them.

    An element in several windows goes on as several, one in each, as the paper has it. Windows that depend on the key
    cannot be assigned here, for there is no key yet.
    """

    window: WindowStrategy

    def __post_init__(self) -> None:
        if not isinstance(self.window, WindowStrategy) or getattr(self.window, "shifted_by_key", False):
            raise DefinitionError(
                f"assign_windows({self.window!r}) needs windows that do not depend on the key",
                hint='write assign_windows(FixedWindows("1h"))',
                code="DEFINITION_WINDOW",
            )

    @property
    def reads(self) -> tuple[str, ...] | None:
        """What the strategy looks at."""
        return self.window.columns

    def __repr__(self) -> str:
        return f"AssignWindows({self.window!r})"


def code_of(steps: Sequence[ParDo]) -> str:
    """The code that puts these steps into a pipeline."""
    return "".join(
        f".assign_windows({step.window!r})" if isinstance(step, AssignWindows) else f".par_do({step!r})"
        for step in steps
    )
