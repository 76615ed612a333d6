"""``ParDo``: a stateless step on each element before it is grouped (Dataflow Model, section 2.1), in three forms.

:class:`SparkColumns` evaluates Spark expressions, :class:`Vectorised` calls a function of whole frames, and
:class:`PerElement` calls a Python function for each element, which is by far the slowest. An engine may apply a step to
any share of the elements, in any order, and again after a failure.

A result has the times of its element. :class:`AssignWindows` may stand anywhere among the steps; it assigns windows by
the event time at its place.
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
"""Columns that a :class:`Vectorised` function receives: the element's times, in microseconds, and its number in the
frame (all Int64)."""
TYPES: tuple[type, ...] = (str, int, float, bool, bytes, dt.datetime, dt.date, Decimal)
"""The types in ``makes=``."""


class ParDo(Described, ABC):
    """A stateless step from elements to elements: none, one or several for each."""

    __slots__ = ()

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...] | None:
        """The columns that it needs; None: all columns."""


def _check_columns(name: str, reads: object) -> None:
    if reads is not None and not (
        isinstance(reads, tuple) and all(isinstance(column, str) and column for column in reads)
    ):
        raise DefinitionError(
            f"{name} reads={reads!r} is not a tuple of columns", hint='write reads=("url",)', code="DEFINITION_PAR_DO"
        )


@dataclass(frozen=True, slots=True, repr=False)
class SparkColumns(ParDo):
    """Columns and a condition as Spark SQL expressions, with exactly Spark's meaning.

    The columns named here are added or replaced; all others stay. The expressions see the columns before this step.

    Args:
        where: a condition; rows for which it is not true are dropped, and are not counted anywhere.
        columns: Spark SQL by the name of the new column, e.g. ``speed="distance / (air_time / 60)"``.
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
                reason="it looks like the condition, but would drop no rows",
                hint='write the condition first, without a name: SparkColumns("delay > 0", ...)',
                code="DEFINITION_PAR_DO",
            )
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "columns", tuple(columns.items()))

    @property
    def reads(self) -> None:
        return None  # only Spark knows the columns of an expression

    def __repr__(self) -> str:
        parts = [] if self.where is None else [repr(self.where)]
        parts += [f"{name}={text!r}" for name, text in self.columns]
        return f"SparkColumns({', '.join(parts)})"


@dataclass(frozen=True, slots=True, repr=False)
class Vectorised(ParDo):
    """A function from a polars frame to a polars frame, called a few times an epoch with many elements each.

    The frame has the columns of ``reads``, the times ``_event`` and ``_arrival`` in microseconds, and ``_element``, the
    number of each element in the frame. The result must have ``_element``: it connects each row with its element, and
    so with the element's assigned windows, order of arrival and sign. The result may leave the times out; another
    ``_event`` changes the event time. ``with_columns``, ``filter`` and ``explode`` keep these columns; a ``select``
    must name ``_element``.

    The function is also called with a frame without rows, to learn the columns and types of its result. They must be
    the same for all frames. The engine chooses which elements share a frame.

    Args:
        function: without state and side effects. A pipeline with a state takes only functions with a name in their
            module, so that a change of the function is noticed.
        reads: the columns that it needs, or None for all. Few columns are faster.
        arrow: the function takes and returns ``pyarrow.Table`` instead.
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
    """A Python function that is called for each element: easy to write, and slow (about a million calls a second).

    Args:
        function: takes the row as a mapping and returns its results: None, one mapping, or an iterable of mappings.
            Times are aware, in UTC. As for :class:`Vectorised`, it has a name in its module.
        makes: the columns of a result with their Python types, e.g. ``{"prefix": str, "user": str}``. A missing column
            is null; a column that is not named here is dropped. Integers have 64 bits, and decimals up to 20 digits
            before the point and 18 after it; a value that does not fit is an error.
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
                f"PerElement makes={self.makes!r} is not a mapping from columns to types",
                reason="types must be known before the first element",
                hint=f'write makes={{"word": str}}; the types are {", ".join(kind.__name__ for kind in TYPES)}',
                code="DEFINITION_PAR_DO",
            )
        object.__setattr__(self, "makes", MappingProxyType(dict(self.makes)))

    def results(self, row: Row) -> list[dict[str, Any]]:
        """The results of the function for one row, in the columns of ``makes``."""
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
    """Assigns windows before the grouping, which then merges and groups by them.

    An element in several windows becomes several elements, one in each, as in the paper. Windows that depend on the key
    cannot be assigned here, since there is no key yet.
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
        return self.window.columns

    def __repr__(self) -> str:
        return f"AssignWindows({self.window!r})"


def code_of(steps: Sequence[ParDo]) -> str:
    """The code that puts these steps into a pipeline."""
    return "".join(
        f".assign_windows({step.window!r})" if isinstance(step, AssignWindows) else f".par_do({step!r})"
        for step in steps
    )
