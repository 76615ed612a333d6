"""Predicates on one element's columns, as values. An engine evaluates them on whole columns, the reference on a row.

``column("status") == "END"``, ``(column("level") >= 3) & ~column("test").is_null()``. A comparison with a missing value
is False, so its negation is True; SQL's NULL does not exist here.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.model.code_name import code_name
from airflow_dataflow_provider.model.errors import DefinitionError

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Predicate(ABC):
    """A condition on one element."""

    __slots__ = ()

    @abstractmethod
    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row fulfils the condition."""

    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def __and__(self, other: Predicate) -> Predicate:
        return Both(self, predicate(other))

    def __or__(self, other: Predicate) -> Predicate:
        return Either(self, predicate(other))

    def __invert__(self) -> Predicate:
        return Not(self)

    def __bool__(self) -> bool:
        raise DefinitionError(
            f"{self!r} has no truth value of its own",
            reason="it is evaluated for each element later",
            hint="combine predicates with &, | and ~ instead of and, or, not and chained comparisons",
            code="DEFINITION_PREDICATE",
        )


def predicate(value: object) -> Predicate:
    """Check that something is a predicate.

    Raises:
        DefinitionError: ``DEFINITION_PREDICATE``.
    """
    if isinstance(value, Predicate):
        return value
    if callable(value):
        return PythonPredicate(value)
    raise DefinitionError(
        f"{value!r} is not a predicate", hint='write column("status") == "END"', code="DEFINITION_PREDICATE"
    )


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Predicate):
    """A column compared with a constant."""

    column: str
    sign: str
    value: Any

    def matches(self, row: Mapping[str, Any]) -> bool:
        found = row.get(self.column)
        return found is not None and bool(COMPARISONS[self.sign](found, self.value))

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        return f"(column({self.column!r}) {self.sign} {self.value!r})"


@dataclass(frozen=True, slots=True, repr=False)
class IsNull(Predicate):
    """A column without a value."""

    column: str

    def matches(self, row: Mapping[str, Any]) -> bool:
        return row.get(self.column) is None

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        return f"column({self.column!r}).is_null()"


@dataclass(frozen=True, slots=True, repr=False)
class IsIn(Predicate):
    """A column with one of some values."""

    column: str
    values: tuple[Any, ...]

    def matches(self, row: Mapping[str, Any]) -> bool:
        found = row.get(self.column)
        return found is not None and found in self.values

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        return f"column({self.column!r}).is_in({self.values!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Both(Predicate):
    """Both of two predicates match."""

    left: Predicate
    right: Predicate

    def matches(self, row: Mapping[str, Any]) -> bool:
        return self.left.matches(row) and self.right.matches(row)

    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns(), *self.right.columns())

    def __repr__(self) -> str:
        return f"({self.left!r} & {self.right!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Either(Predicate):
    """At least one of two predicates matches."""

    left: Predicate
    right: Predicate

    def matches(self, row: Mapping[str, Any]) -> bool:
        return self.left.matches(row) or self.right.matches(row)

    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns(), *self.right.columns())

    def __repr__(self) -> str:
        return f"({self.left!r} | {self.right!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Not(Predicate):
    """A predicate does not match."""

    of: Predicate

    def matches(self, row: Mapping[str, Any]) -> bool:
        return not self.of.matches(row)

    def columns(self) -> tuple[str, ...]:
        return self.of.columns()

    def __repr__(self) -> str:
        return f"~{self.of!r}"


@dataclass(frozen=True, slots=True, repr=False)
class PythonPredicate(Predicate):
    """A Python function of the row, called once for each element, which is slow.

    Args:
        function: takes a mapping of the columns in ``reads``, and returns whether it matches.
        reads: the columns that it needs.
    """

    function: Callable[[Mapping[str, Any]], bool]
    reads: tuple[str, ...] = ()

    def matches(self, row: Mapping[str, Any]) -> bool:
        return bool(self.function({name: row.get(name) for name in self.reads} if self.reads else row))

    def columns(self) -> tuple[str, ...]:
        return self.reads

    def __repr__(self) -> str:
        return f"PythonPredicate({code_name(self.function)}, reads={self.reads!r})"


class Column:
    """A column, to be compared with a constant."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"column({name!r}) needs a column's name", code="DEFINITION_PREDICATE")
        self._name = name

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]  # it makes a predicate
        return Comparison(self._name, "==", _constant(value))

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return Comparison(self._name, "!=", _constant(value))

    def __lt__(self, value: object) -> Predicate:
        return Comparison(self._name, "<", _constant(value))

    def __le__(self, value: object) -> Predicate:
        return Comparison(self._name, "<=", _constant(value))

    def __gt__(self, value: object) -> Predicate:
        return Comparison(self._name, ">", _constant(value))

    def __ge__(self, value: object) -> Predicate:
        return Comparison(self._name, ">=", _constant(value))

    __hash__ = None  # type: ignore[assignment]

    def is_null(self) -> Predicate:
        """Matches rows in which the column has no value."""
        return IsNull(self._name)

    def is_in(self, values: Iterable[object]) -> Predicate:
        """Matches rows in which the column has one of these values."""
        if isinstance(values, str | bytes):
            raise DefinitionError(
                f"column({self._name!r}).is_in({values!r}) would compare with single letters",
                hint=f"write .is_in(({values!r},))",
                code="DEFINITION_PREDICATE",
            )
        return IsIn(self._name, tuple(map(_constant, values)))


def _constant(value: object) -> object:
    if value is None or isinstance(value, Column):
        raise DefinitionError(
            f"a column cannot be compared with {value!r}",
            hint="compare with a constant; use .is_null() for missing values",
            code="DEFINITION_PREDICATE",
        )
    return value


def column(name: str) -> Column:
    """A column by name, to be compared: ``column("status") == "END"``."""
    return Column(name)
