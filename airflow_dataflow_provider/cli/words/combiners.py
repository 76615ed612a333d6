"""Combiners in words: what each computes, and what it keeps for that."""

from __future__ import annotations

import math
from functools import singledispatch

from airflow_dataflow_provider.cli.words.plain import number_text, series
from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    ExactSum,
    First,
    KeepingValues,
    Last,
    Max,
    Mean,
    Min,
    Quantiles,
    StdDev,
    Sum,
    TopK,
    Variance,
    VectorisedCombiner,
)
from airflow_dataflow_provider.model.combiners.protocol import Columns

_NULL = "nulls left out; of no values it is null"


@singledispatch
def computed(combiner: Combiner) -> str:
    """What the result is; of a combiner of the user's own, where it comes from."""
    return f"what {combiner!r} computes of {_columns(combiner)}: the user's own Python, called for each element (slow)"


@singledispatch
def kept(combiner: Combiner) -> str:  # noqa: ARG001 - those of the user's own look alike
    """What stands for the elements so far."""
    return "its accumulator"


def kept_under_retraction(combiner: Combiner) -> str:
    """The same where elements can be taken back."""
    return kept(combiner.retractable())


def _columns(combiner: Combiner) -> str:
    return series(combiner.columns) if combiner.columns else "the elements"


@computed.register
def _(combiner: Count) -> str:
    if combiner.column is None:
        return "the number of elements"
    return f"the number of values of {combiner.column}, nulls left out"


@kept.register
def _(_combiner: Count) -> str:
    return "a count"


@computed.register
def _(combiner: Sum) -> str:
    return f"the sum of {combiner.column}, nulls left out; of no values it is 0"


@kept.register
def _(_combiner: Sum) -> str:
    return "a sum"


@computed.register
def _(combiner: Mean) -> str:
    return f"the mean of {combiner.column}, {_NULL}"


@kept.register
def _(_combiner: Mean) -> str:
    return "a sum and a count"


def _spread(combiner: Variance, what: str) -> str:
    by, of = ("n - 1", "fewer than two") if combiner.sample else ("n", "no")
    return f"the {what} of {combiner.column} (divided by {by}), nulls left out; of {of} values it is null"


@computed.register
def _(combiner: Variance) -> str:
    return _spread(combiner, "variance")


@computed.register
def _(combiner: StdDev) -> str:
    return _spread(combiner, "standard deviation")


@kept.register
def _(_combiner: Variance) -> str:
    return "a count, a mean and a sum of squares"


@computed.register
def _(combiner: Min) -> str:
    return f"the least {combiner.column}, {_NULL}"


@computed.register
def _(combiner: Max) -> str:
    return f"the greatest {combiner.column}, {_NULL}"


@kept.register(Min)
@kept.register(Max)
def _(_combiner: Min | Max) -> str:
    return "a value"


def _row(columns: tuple[str, ...]) -> str:
    return f"row of {series(columns)}"


@computed.register
def _(combiner: TopK) -> str:
    if isinstance(combiner.column, tuple):
        if combiner.by is None:
            return f"the {combiner.k:,} greatest rows of {series(combiner.column)}, greatest first, nulls least"
        ranked = (
            f"the {combiner.k:,} element{'s' if combiner.k > 1 else ''} with the greatest {combiner.by}, greatest first"
        )
        return f"the {_row(combiner.column)} of {ranked}; left out where {combiner.by} is null"
    if combiner.by is None:
        return f"the {combiner.k:,} greatest values of {combiner.column}, greatest first, nulls left out"
    ranked = f"the {combiner.k:,} elements with the greatest {combiner.by}, greatest first"
    return f"{combiner.column} of {ranked}; left out where either is null"


@kept.register
def _(combiner: TopK) -> str:
    return f"{combiner.k:,} values at most"


@computed.register
def _(combiner: First) -> str:
    return _by_time(combiner.column, "least")


@computed.register
def _(combiner: Last) -> str:
    return _by_time(combiner.column, "greatest")


def _by_time(column: Columns, which: str) -> str:
    if isinstance(column, tuple):
        return f"the {_row(column)} with the {which} event time, with its nulls"
    return f"the {column} with the {which} event time, {_NULL}"


@kept.register(First)
@kept.register(Last)
def _(_combiner: First | Last) -> str:
    return "a value with its event time"


@computed.register
def _(combiner: Collect) -> str:
    if isinstance(combiner.column, tuple):
        return f"all rows of {series(combiner.column)} as a list, by event time, with their nulls"
    return f"all values of {combiner.column} as a list, by event time, nulls left out"


@kept.register
def _(_combiner: Collect) -> str:
    return "all values with their event times"


@computed.register
def _(combiner: CountDistinct) -> str:
    what = f"the number of different values of {combiner.column}, nulls left out"
    if combiner.exact:
        return what
    error = 104 / math.sqrt(2**combiner.lg_k)
    return f"{what}; beyond few values it is an estimate, off by {error:.2g} % (standard error)"


@kept.register
def _(combiner: CountDistinct) -> str:
    return "the different values" if combiner.exact else "a HyperLogLog sketch"


@computed.register
def _(combiner: Quantiles) -> str:
    many = len(combiner.ranks) > 1
    ranks = f"rank{'s' if many else ''} {series(map(number_text, combiner.ranks))}"
    what = (
        f"the quantile{'s' if many else ''} of {combiner.column} at {ranks}, nulls and NaN left out; of no values null"
    )
    if combiner.exact:
        return what
    return f"{what}. Beyond {combiner.k:,} values ranks are off by up to about {230 / combiner.k:.2g} %"


@kept.register
def _(combiner: Quantiles) -> str:
    return "every value with its count" if combiner.exact else "a KLL sketch"


@computed.register
def _(combiner: VectorisedCombiner) -> str:
    return f"what the expressions of {combiner!r} make of {_columns(combiner)}"


@kept.register
def _(_combiner: VectorisedCombiner) -> str:
    return "its own columns"


@computed.register(ExactSum)
@computed.register(KeepingValues)
def _(combiner: ExactSum | KeepingValues) -> str:
    return f"{computed(combiner.combiner)}; values can be taken back"


@kept.register
def _(combiner: ExactSum) -> str:
    return "an exact sum" if isinstance(combiner.combiner, Sum) else "an exact sum and a count"


@kept.register
def _(_combiner: KeepingValues) -> str:
    return "every value with its count"
