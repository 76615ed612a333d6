"""Combiners whose results are exact, so that they can be compared with ``==``."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider.model.combiners import (
    Collect,
    Combiner,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Quantiles,
    Sum,
    TopK,
)

_COLUMNS = st.sampled_from(("whole", "part"))
_ROWS = st.sampled_from((("whole", "part"), ("part", "key"), ("site", "whole", "part")))


@cache
def plain_combiners() -> SearchStrategy[Combiner]:
    """Count, sum, mean, least and greatest, over the integer or the floating-point column."""
    over_column = st.builds(lambda make, column: make(column), st.sampled_from((Sum, Mean, Min, Max, Count)), _COLUMNS)
    return st.just(Count()) | over_column


@cache
def gathering_combiners() -> SearchStrategy[Combiner]:
    """Those that keep more than a number or two."""
    over_column = st.builds(
        lambda make, column: make(column), st.sampled_from((First, Last, Collect)), _COLUMNS | _ROWS
    )
    return st.one_of(
        over_column,
        st.sampled_from(("whole", "part", "key")).map(CountDistinct),
        st.builds(
            lambda column, ranks: Quantiles(column, ranks, exact=True),
            _COLUMNS,
            st.sampled_from(((0.5,), (0.0, 0.9, 1.0))),
        ),
        st.builds(TopK, _COLUMNS | _ROWS, st.integers(1, 3), st.sampled_from((None, "whole", "part"))),
    )


COMBINER_FAMILIES = {"plain": plain_combiners, "gathering": gathering_combiners}
"""Every family of combiners by name."""


@st.composite
def combiners(draw: DrawFn, *families: str) -> Combiner:
    """Combiners of these :data:`COMBINER_FAMILIES`; by default the plain ones."""
    return draw(COMBINER_FAMILIES[draw(st.sampled_from(families or ("plain",)))]())
