"""Trees of triggers over every kind of leaf."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider.model.predicates import Predicate, PythonPredicate, column
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
    one_or_more,
    optional,
    zero_or_more,
)

_USUAL = st.sampled_from((100.0, 33.3, 50.0, 90.0, 97.0, 99.5))
_ANY = st.floats(1, 100)
_PERCENTILES = st.sampled_from((_USUAL, _USUAL, _USUAL, _ANY)).flatmap(lambda percentiles: percentiles)


def is_odd(row: Mapping[str, Any]) -> bool:
    """A predicate of a user's own."""
    return row["whole"] is not None and row["whole"] % 2 == 1


@cache
def predicates(whole: str = "whole", part: str = "part") -> SearchStrategy[Predicate]:
    """True of a good share of the elements, so that sequences of them occur.

    Args:
        whole: a column of small integers.
        part: a column of small numbers; may be the same.
    """
    simple: list[Predicate] = [
        column(whole) > 0,
        column(whole) == 1,
        column(whole) != 2,
        column(whole).is_in((-1, 0, 1)),
        column(part) <= 0.25,
        column(part) >= 0.0,
        column(part).is_null(),
        column("site") == 1,
        column("site").is_null(),
    ]
    if whole == "whole":
        simple.append(PythonPredicate(is_odd, reads=("whole",)))
    one = st.sampled_from(simple)
    return st.one_of(
        one,
        one.map(lambda single: ~single),
        st.builds(lambda left, right: left & right, one, one),
        st.builds(lambda left, right: left | right, one, one),
    )


@cache
def watermark_triggers() -> SearchStrategy[Trigger]:
    """Of several percentiles, some with many digits."""
    return _PERCENTILES.map(AtWatermark)


def _evenly(*kinds: SearchStrategy[Trigger]) -> SearchStrategy[Trigger]:
    """One kind as often as the other; ``one_of`` would count a kind once for each of its own alternatives."""
    return st.sampled_from(kinds).flatmap(lambda kind: kind)


def _clocks() -> tuple[SearchStrategy[Trigger], ...]:
    lengths = st.sampled_from(("10s", "1m", "7s", "1h"))
    return (
        watermark_triggers(),
        st.builds(lambda period, offset: AtPeriod(period, offset=offset), lengths, st.sampled_from((0, "3s", "-90s"))),
        lengths.map(AfterDelay),
        st.just(AtEpoch()),
        st.sampled_from((AtSignal("publish"), AtSignal("dag_done"))),
    )


@cache
def clock_triggers() -> SearchStrategy[Trigger]:
    """All that are asked at the boundaries of epochs."""
    return _evenly(*_clocks())


@cache
def patterns(whole: str = "whole", part: str = "part") -> SearchStrategy[Trigger]:
    """Regular sequences of up to three steps; the last one has to be taken, so all of them are patterns."""
    step = predicates(whole, part)
    before = st.lists(st.one_of(step, step.map(one_or_more), step.map(optional), step.map(zero_or_more)), max_size=2)
    last = st.one_of(step, step.map(one_or_more))
    return st.builds(lambda first, end, gaps: AtPattern(*first, end, gaps=gaps), before, last, st.booleans())


def _elements(whole: str, part: str) -> tuple[SearchStrategy[Trigger], ...]:
    measured = st.sampled_from(((whole,), ("site", part)))
    return (
        st.integers(1, 4).map(AtCount),
        st.builds(lambda n, names: AtBytes(n, *names), st.sampled_from((8, 1, 9, 24)), measured),
        predicates(whole, part).map(AtPunctuation),
        patterns(whole, part),
    )


@cache
def element_triggers(whole: str = "whole", part: str = "part") -> SearchStrategy[Trigger]:
    """All that are asked after each element: of their number, of the bytes of these columns, of what they say."""
    return _evenly(*_elements(whole, part))


@cache
def leaf_triggers(whole: str = "whole", part: str = "part") -> SearchStrategy[Trigger]:
    return _evenly(*_clocks(), *_elements(whole, part))


# Hypothesis makes variants of what it has drawn, the more the longer that is: small roots are named twice, so that all
# come equally often in the end (tests/testing/test_trigger_trees.py measures it).
_KINDS = st.sampled_from((None, None, Repeat, Repeat, RepeatUntil, SequenceOf, AnyOf, AllOf))
_SIMPLE_KINDS = st.sampled_from((None, None, Repeat, Repeat, SequenceOf))
_CHILDREN = st.integers(1, 3)


@cache
def _heights(most: int) -> SearchStrategy[int]:
    """Small trees as often as great ones: a composite of leaves alone shows most of what it does."""
    return st.sampled_from(range(1, most + 1))


@st.composite
def trees(draw: DrawFn, leaves: SearchStrategy[Trigger], *, depth: int = 3, simple: bool = False) -> Trigger:
    """Trees over these leaves. A leaf, and each composite, are at the root equally often.

    Args:
        draw: hypothesis' own; not given by the caller.
        leaves: triggers that are no composites.
        depth: the greatest height; 1 gives leaves alone.
        simple: no other composites than ``Repeat`` and ``SequenceOf``.
    """

    def tree(height: int) -> Trigger:
        kind = draw(_SIMPLE_KINDS if simple else _KINDS) if height > 1 else None
        if kind is None:
            return draw(leaves)
        below = draw(_heights(height - 1))
        if kind is Repeat:
            return Repeat(tree(below))
        if kind is RepeatUntil:
            return RepeatUntil(tree(below), tree(below))
        return kind(*(tree(below) for _ in range(draw(_CHILDREN))))

    return tree(depth)


TRIGGER_FAMILIES = ("watermarks", "clocks", "elements", "mixed")
"""What the leaves look at. ``watermarks`` are composed by ``Repeat`` and ``SequenceOf``, the others in every way."""


@st.composite
def triggers(draw: DrawFn, *families: str, depth: int = 3, whole: str = "whole", part: str = "part") -> Trigger:
    """Trees of these :data:`TRIGGER_FAMILIES`; by default of ``AtWatermark``, ``Repeat`` and ``SequenceOf``.

    Args:
        draw: hypothesis' own; not given by the caller.
        families: names.
        depth: the greatest height.
        whole: a column of small integers, for the leaves that look at columns.
        part: a column of small numbers; may be the same.
    """
    match draw(st.sampled_from(families)) if families else "watermarks":
        case "watermarks":
            return draw(trees(watermark_triggers(), depth=depth, simple=True))
        case "clocks":
            return draw(trees(clock_triggers(), depth=depth))
        case "elements":
            return draw(trees(element_triggers(whole, part), depth=depth))
        case "mixed":
            return draw(trees(leaf_triggers(whole, part), depth=depth))
        case other:
            raise ValueError(f"{other!r} is none of {TRIGGER_FAMILIES}")
