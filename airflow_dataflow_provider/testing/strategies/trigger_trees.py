"""When in processing time: trees of triggers over every kind of leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.predicates import Called, Predicate, column
from airflow_dataflow_provider.model.triggers import (
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
    any_number,
    maybe,
    some,
)
from airflow_dataflow_provider.testing.strategies.moments import SECOND

_PERCENTILES = (100.0, 33.3, 50.0, 90.0, 97.0, 99.5)
Leaves = Callable[[], SearchStrategy[Trigger]]


def is_odd(row: Mapping[str, Any]) -> bool:
    """A predicate of a user's own."""
    return row["whole"] is not None and row["whole"] % 2 == 1


@cache
def predicates() -> SearchStrategy[Predicate]:
    """About every value column; true of a good share of the elements, so that sequences of them occur."""
    simple = st.sampled_from(
        (
            column("whole") > 0,
            column("whole") == 1,
            column("whole") != 2,
            column("part") <= 0.25,
            column("part") >= 0.0,
            column("site") == 1,
            column("part").is_null(),
            column("site").is_null(),
            column("whole").is_in((-1, 0, 1)),
            Called(is_odd, reads=("whole",)),
        )
    )
    pairs = st.tuples(simple, simple)
    return st.one_of(
        simple,
        simple.map(lambda one: ~one),
        pairs.map(lambda both: both[0] & both[1]),
        pairs.map(lambda both: both[0] | both[1]),
    )


@cache
def watermark_triggers() -> SearchStrategy[Trigger]:
    """Of several percentiles."""
    return st.sampled_from(_PERCENTILES).map(AtWatermark)


@cache
def clock_triggers() -> SearchStrategy[Trigger]:
    """All that are asked at the boundaries of epochs."""
    lengths = st.sampled_from((10 * SECOND, 60 * SECOND, 7 * SECOND, 3600 * SECOND))
    return st.one_of(
        watermark_triggers(),
        lengths.map(AtPeriod),
        lengths.map(AfterDelay),
        st.just(AtEpoch()),
        st.sampled_from((AtSignal("publish"), AtSignal("dag_done"))),
    )


@cache
def counting_triggers() -> SearchStrategy[Trigger]:
    """Of elements and of bytes."""
    measured = st.sampled_from((("whole",), ("key",), ("key", "site", "part")))
    return st.one_of(
        st.integers(1, 4).map(AtCount),
        st.builds(lambda n, names: AtBytes(n, *names), st.sampled_from((8, 1, 9, 24)), measured),
    )


@cache
def patterns() -> SearchStrategy[Trigger]:
    """Regular sequences of up to three steps; the last one has to be taken, so all of them are patterns."""
    steps = st.one_of(predicates(), *(predicates().map(kind) for kind in (some, maybe, any_number)))
    last = st.one_of(predicates(), predicates().map(some))
    return st.builds(
        lambda before, end, gaps: AtPattern(*before, end, gaps=gaps),
        st.lists(steps, max_size=2), last, st.booleans(),
    )  # fmt: skip


@cache
def element_triggers() -> SearchStrategy[Trigger]:
    """All that are asked after each element."""
    return st.one_of(counting_triggers(), predicates().map(AtPunctuation), patterns())


@cache
def leaf_triggers() -> SearchStrategy[Trigger]:
    """All there are."""
    return st.one_of(clock_triggers(), element_triggers())


@cache
def trees(leaves: Leaves = leaf_triggers, *, depth: int = 3) -> SearchStrategy[Trigger]:
    """Trees of every composite over these leaves, at most ``depth`` high; many repeat, so that there is much to see."""
    if depth == 1:
        return leaves()
    below = trees(leaves, depth=depth - 1)
    some_below = st.lists(below, min_size=1, max_size=3)
    return st.one_of(
        leaves(),
        st.builds(Repeat, below),
        st.builds(Repeat, below),
        st.builds(RepeatUntil, below, below),
        some_below.map(lambda parts: SequenceOf(*parts)),
        some_below.map(lambda parts: AnyOf(*parts)),
        some_below.map(lambda parts: AllOf(*parts)),
    )


@cache
def _watermark_trees(depth: int) -> SearchStrategy[Trigger]:
    if depth == 1:
        return watermark_triggers()
    below = _watermark_trees(depth - 1)
    sequences = st.lists(below, min_size=1, max_size=3).map(lambda parts: SequenceOf(*parts))
    return st.one_of(watermark_triggers(), st.builds(Repeat, below), sequences)


TRIGGER_FAMILIES: dict[str, Callable[[int], SearchStrategy[Trigger]]] = {
    "watermarks": _watermark_trees,
    "clocks": lambda depth: trees(clock_triggers, depth=depth),
    "elements": lambda depth: trees(element_triggers, depth=depth),
    "mixed": lambda depth: trees(leaf_triggers, depth=depth),
}
"""Every family of trigger trees by name: the height goes in."""


@cache
def triggers(*families: str, depth: int = 3) -> SearchStrategy[Trigger]:
    """Trees of these families, at most ``depth`` high; by default of ``AtWatermark``, ``Repeat`` and ``SequenceOf``."""
    return st.one_of(*(TRIGGER_FAMILIES[family](depth) for family in families or ("watermarks",)))
