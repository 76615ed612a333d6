"""Steps on elements before they are grouped: in Python, per element and vectorised."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo, PerElement, Vectorised
from airflow_dataflow_provider.testing.strategies.moments import SECOND
from airflow_dataflow_provider.testing.strategies.window_kinds import windows

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

COLUMNS: dict[str, type] = {"key": str, "site": int, "whole": int, "part": float}
"""What every step takes and gives, so that any may follow any."""

Row = Mapping[str, Any]


def without_unknown(row: Row) -> Row | None:
    """None where there is no ``part``, else the same."""
    return None if row["part"] is None else row


def as_often_as_said(row: Row) -> list[Row]:
    """No, one or two elements, by ``whole``."""
    return [{**row, "site": number} for number in range((row["whole"] or 0) % 3)]


def doubled(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col("part") * 2)


def earlier(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col("_event") - 10 * SECOND)


def twice(frame: pl.DataFrame) -> pl.DataFrame:
    """Every element two times, one directly after the other."""
    import polars as pl

    return frame.select(pl.all().gather(pl.int_range(2 * pl.len()) // 2))


def positive(table: pa.Table) -> pa.Table:
    """Those with a ``whole`` above 0."""
    import pyarrow.compute as pc

    return table.filter(pc.greater(table["whole"], 0))


@cache
def par_dos() -> SearchStrategy[list[ParDo]]:
    """One or two steps, among them at most one that assigns windows."""
    reads = st.sampled_from((None, tuple(COLUMNS)))
    per_element = st.builds(
        lambda function, columns: PerElement(function, COLUMNS, columns),
        st.sampled_from((without_unknown, as_often_as_said)), reads,
    )  # fmt: skip
    vectorised = st.builds(Vectorised, st.sampled_from((doubled, earlier, twice)), reads)
    in_arrow = st.builds(Vectorised, st.just(positive), reads, arrow=st.just(True))
    # A step in Python gives no other columns, so windows that look at some come before or at the grouping.
    assigned = windows("fixed", "sliding", "sessions", "global", "own aligned").filter(_is_without_key)
    step: SearchStrategy[ParDo] = st.one_of(per_element, vectorised, in_arrow, assigned.map(AssignWindows))
    return st.lists(step, min_size=1, max_size=2).filter(_assigns_at_most_once)


def _is_without_key(window: object) -> bool:
    return not getattr(window, "shifted_by_key", False)


def _assigns_at_most_once(steps: list[ParDo]) -> bool:
    return sum(isinstance(step, AssignWindows) for step in steps) < 2


# After the last grouping


def odd_ones(row: Row) -> Row | None:
    """Only where the first aggregate is odd; nothing else of the result is kept."""
    return row if (row["aggregate_0"] or 0) % 2 else None


def as_often_as_counted(row: Row) -> list[Row]:
    """No, one or two rows, by the first aggregate."""
    return [{"aggregate_0": row["aggregate_0"], "row": number} for number in range((row["aggregate_0"] or 0) % 3)]


def above_one(frame: pl.DataFrame) -> pl.DataFrame:
    """Those whose first aggregate is above 1, with all their columns."""
    import polars as pl

    return frame.filter(pl.col("aggregate_0") > 1)


def tripled(frame: pl.DataFrame) -> pl.DataFrame:
    """Three times the first aggregate; the last element's comes first."""
    import polars as pl

    return frame.select("_element", (3 * pl.col("aggregate_0")).alias("aggregate_0")).reverse()


def with_value(table: pa.Table) -> pa.Table:
    """Those that have a first aggregate."""
    import pyarrow.compute as pc

    return table.filter(pc.is_valid(table["aggregate_0"]))


@cache
def result_steps() -> SearchStrategy[list[ParDo]]:
    """One or two steps on results whose ``aggregate_0`` is an integer: conditions, projections, several rows of one."""
    some = ("aggregate_0",)
    return st.lists(
        st.sampled_from((
            PerElement(odd_ones, {"aggregate_0": int}),
            PerElement(as_often_as_counted, {"aggregate_0": int, "row": int}, some),
            Vectorised(above_one),
            Vectorised(tripled, some),
            Vectorised(with_value, arrow=True),
        )),
        min_size=1,
        max_size=2,
    )  # fmt: skip
