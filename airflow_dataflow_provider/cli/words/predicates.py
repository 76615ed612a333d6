"""Predicates in words, as conditions."""

from __future__ import annotations

from functools import singledispatch

from airflow_dataflow_provider.cli.words.plain import name_of, series
from airflow_dataflow_provider.model.predicates import (
    Both,
    Comparison,
    Either,
    IsIn,
    IsNull,
    Not,
    Predicate,
    PythonPredicate,
)

_SIGNS = {"==": "is", "!=": "is not", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@singledispatch
def condition(predicate: Predicate) -> str:
    """What holds of an element; of a predicate of the user's own, its code."""
    return f"{predicate!r} holds"


@condition.register
def _(predicate: Comparison) -> str:
    return f"{predicate.column} {_SIGNS[predicate.sign]} {predicate.value!r}"


@condition.register
def _(predicate: IsNull) -> str:
    return f"{predicate.column} is null"


@condition.register
def _(predicate: IsIn) -> str:
    return f"{predicate.column} is one of {series(map(repr, predicate.values), 'or')}"


@condition.register
def _(predicate: Both) -> str:
    return f"{_inside(predicate.left, Both)} and {_inside(predicate.right, Both)}"


@condition.register
def _(predicate: Either) -> str:
    return f"{_inside(predicate.left, Either)} or {_inside(predicate.right, Either)}"


@condition.register
def _(predicate: Not) -> str:
    return f"it is not so that {_inside(predicate.of, Not)}"


@condition.register
def _(predicate: PythonPredicate) -> str:
    return f"{name_of(predicate.function)} says so (it is called for each element, which is slow)"


def _inside(predicate: Predicate, around: type[Predicate]) -> str:
    """In parentheses, where it could be read otherwise."""
    compound = isinstance(predicate, Both | Either | Not) and not (isinstance(predicate, around) and around is not Not)
    return f"({condition(predicate)})" if compound else condition(predicate)
