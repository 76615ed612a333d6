"""``ParDo`` on frames gives what the reference gives one element at a time, and refuses what it could not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    Count,
    DataError,
    Files,
    FixedWindows,
    PerElement,
    Pipeline,
    SlidingWindows,
    SparkColumns,
    SubmissionError,
    Vectorised,
    Window,
)
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.reference import par_do as reference
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT
from airflow_dataflow_provider.spark.par_do.par_do import apply, schema_after
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.values.type_table import Schema

SCHEMA: Schema = {"text": pl.String(), "number": pl.Int64(), "share": pl.Float64()}
Row = Mapping[str, Any]

# Steps that take and give these columns, so that any may follow any.


def prefixes(row: Row) -> Iterator[Row]:
    """Every prefix of the text (the paper's example, section 2.1)."""
    for length in range(1, len(row["text"] or "") + 1):
        yield {**row, "text": row["text"][:length]}


def with_number(row: Row) -> Row | None:
    return None if row["number"] is None else row


def bare(row: Row) -> Row:
    return {"number": (row["number"] or 0) + 1}


def even(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("number") % 2 == 0)


def times_of_their_own(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(_event=pl.col("_event") // 2, number=pl.col("number").cast(pl.Int32))


def letters(frame: pl.DataFrame) -> pl.DataFrame:
    # The reference does not know the type of a column in which all is null.
    letters_of = pl.col("text").cast(pl.String).str.split("")
    return frame.select("_element", "number", "share", text=letters_of).explode("text")


def first_columns_last(table: pa.Table) -> pa.Table:
    return table.select(table.column_names[::-1]).slice(0)


STEPS: tuple[ParDo, ...] = (
    PerElement(prefixes, {"text": str, "number": int, "share": float}),
    PerElement(with_number, {"text": str, "number": int, "share": float}, reads=("number", "text", "share")),
    PerElement(bare, {"text": str, "number": int, "share": float}, reads=("number",)),
    Vectorised(even),
    Vectorised(times_of_their_own),
    Vectorised(letters, reads=("text", "number", "share")),
    Vectorised(first_columns_last, arrow=True),
    AssignWindows(FixedWindows("7s")),
    AssignWindows(SlidingWindows("7s", "3s")),
)

small = st.integers(0, 30)
elements_strategy = st.lists(
    st.builds(
        lambda text, number, share, event, arrival, start, sign: Element(
            {"text": text, "number": number, "share": share}, event, arrival, Window(start, start + 1), sign
        ),
        st.none() | st.text("aß€", max_size=3), st.none() | st.integers(-5, 5), st.none() | st.floats(allow_nan=False),
        small, small, small, st.booleans(),
    ),
    max_size=6,
)  # fmt: skip


def to_frame(elements: Sequence[Element]) -> pl.DataFrame:
    columns = {name: [element.row.get(name) for element in elements] for name in SCHEMA}
    hidden = {
        EVENT: [element.event_time for element in elements],
        ARRIVAL: [element.arrival_time for element in elements],
        "_start": [element.window.start for element in elements if element.window],
        "_end": [element.window.end for element in elements if element.window],
        "_sign": [-1 if element.is_retraction else 1 for element in elements],
        "_order": range(len(elements)),
    }
    types = dict.fromkeys(hidden, pl.Int64) | {"_sign": pl.Int8}
    return pl.DataFrame({**columns, **hidden}, schema={**SCHEMA, **types})


def to_elements(frame: pl.DataFrame) -> list[Element]:
    return [
        Element(
            {name: row[name] for name in SCHEMA}, row[EVENT], row[ARRIVAL], Window(row["_start"], row["_end"]),
            row["_sign"] < 0,
        )
        for row in frame.sort("_order", maintain_order=True).iter_rows(named=True)
    ]  # fmt: skip


def as_told(elements: Sequence[Element]) -> list[Element]:
    return [replace(element, row={name: element.row.get(name) for name in SCHEMA}) for element in elements]


@given(st.lists(st.sampled_from(STEPS), max_size=3), elements_strategy)
def test_steps_give_what_the_reference_gives(steps: list[ParDo], elements: list[Element]) -> None:
    found = to_elements(apply(steps, to_frame(elements)))
    told = as_told(reference.apply(steps, elements, None))
    if any(isinstance(step, AssignWindows) for step in steps):
        # One element's windows come in no order that anybody looks at.
        found, told = sorted(found, key=repr), sorted(told, key=repr)
    assert found == told


@given(st.lists(st.sampled_from(STEPS), max_size=3), elements_strategy)
def test_the_types_after_steps_are_known_before_the_first_element(steps: list[ParDo], elements: list[Element]) -> None:
    frame = apply(steps, to_frame(elements))
    assert schema_after(steps, SCHEMA) == {name: of for name, of in frame.schema.items() if not name.startswith("_")}
    assert frame.schema[EVENT] == frame.schema[ARRIVAL] == frame.schema["_start"] == pl.Int64


def test_every_type_that_python_makes_has_a_column() -> None:
    moment = dt.datetime(2013, 1, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    values = {
        "a": "ß", "b": 2**62, "c": 1.5, "d": True, "e": b"\xff", "f": moment, "g": dt.date(2013, 1, 1),
        "h": Decimal("1.10"),
    }  # fmt: skip
    step = PerElement(lambda _: [values, {}], {name: type(value) for name, value in values.items()})
    frame = apply([step], to_frame([Element({}, 5, 6, Window(0, 1))]))
    names = [*values]
    assert frame.select(names).rows() == [tuple(values.values()), (None,) * len(values)]
    assert frame["f"].dt.epoch("us").to_list()[0] == to_micros("2013-01-01T12:00:00Z")
    assert {name: frame.schema[name] for name in names} == schema_after([step], SCHEMA)


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (int, "1", "'1' where it says int"),
        (int, True, "True where it says int"),
        (int, 2**63, "in made"),
        (int, 1.5, "1.5 where it says int"),
        (str, 1, "1 where it says str"),
        (dt.date, dt.datetime(2013, 1, 1, tzinfo=dt.UTC), "where it says date"),
        (dt.datetime, dt.datetime(2013, 1, 1), "no time zone"),  # noqa: DTZ001 - what is refused
        (Decimal, Decimal("1e-19"), "behind the point"),
        (Decimal, Decimal("NaN"), "behind the point"),
        (Decimal, Decimal("1e30"), "in made"),
    ],
)
def test_a_value_that_is_not_what_the_step_says_it_makes_is_an_error(kind: type, value: object, told: str) -> None:
    step = PerElement(lambda _: {"made": value}, {"made": kind})
    with pytest.raises(DataError, match=told) as refusal:
        apply([step], to_frame([Element({}, 5, 6, Window(0, 1))]))
    assert refusal.value.code == "DATA_PAR_DO"


def parsed(row: Row) -> Row:
    return {"number": int(row["text"])}


def test_a_function_that_fails_is_told_with_its_element_and_its_line() -> None:
    elements = [Element({"text": text}, 5, 6, Window(0, 1)) for text in ("1", "one", "2")]
    with pytest.raises(DataError) as refusal:
        apply([PerElement(parsed, {"number": int}, reads=("text",))], to_frame(elements))
    assert "test_par_do.parsed" in refusal.value.what
    assert "{'text': 'one'}" in refusal.value.what
    assert "ValueError: invalid literal for int() with base 10: 'one'" in refusal.value.reason
    assert "test_par_do.py:" in refusal.value.reason
    assert "\n" not in refusal.value.what + refusal.value.reason


def test_a_function_that_looks_at_no_column_is_called_for_each_element() -> None:
    step = PerElement(lambda row: {"n": len(row)}, {"n": int}, reads=())
    assert apply([step], to_frame([Element({}, 5, 6, Window(0, 1))] * 3))["n"].to_list() == [0, 0, 0]


def on_rows(function: Callable[[pl.DataFrame], Any]) -> Callable[[pl.DataFrame], Any]:
    """A function that shows what it really does only when there are rows."""
    return lambda frame: frame if frame.is_empty() else function(frame)


ELEMENTS = [Element({"text": "a", "number": number}, 5, 6, Window(0, 1)) for number in range(3)]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (on_rows(lambda frame: frame.with_columns(number=pl.lit("a"))), "of type String"),
        (on_rows(lambda frame: frame.with_columns(more=1)), "more"),
        (on_rows(lambda frame: frame.drop("text")), "text"),
        (lambda frame: frame.with_columns(_event=pl.lit(None, pl.Int64)), "nulls in _event"),
        (lambda frame: frame.with_columns(_element=pl.lit(None, pl.Int64)), "nulls in _element"),
        (lambda frame: frame.with_columns(_element=pl.lit(3, pl.Int64)), "_element"),
        (lambda frame: frame.with_columns(_element=pl.lit(-1, pl.Int64)), "_element"),
        (on_rows(lambda frame: frame["text"]), "Series, not a polars.DataFrame"),
        (on_rows(lambda frame: frame.head(1 // (len(frame) - 3))), "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_frame_that_is_not_what_was_made_of_no_rows_is_an_error(
    function: Callable[[pl.DataFrame], pl.DataFrame], told: str
) -> None:
    with pytest.raises(DataError, match=told) as refusal:
        apply([Vectorised(function)], to_frame(ELEMENTS))
    assert refusal.value.code == "DATA_PAR_DO"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (PerElement(bare, {"n": int}, reads=("nowhere",)), "'nowhere'"),
        (PerElement(bare, {"n": int}, reads=("_event",)), "the engine's"),
        (PerElement(bare, {"_n": int}), "the engine's"),
        (Vectorised(even, reads=("nowhere",)), "'nowhere'"),
        (Vectorised(lambda frame: frame.select(pl.col("nowhere"))), "nowhere"),
        (Vectorised(lambda frame: frame.group_by("text").agg(pl.len())), "drops the column '_element'"),
        (Vectorised(lambda frame: frame.with_columns(_hidden=1)), "the engine's"),
        (Vectorised(lambda frame: frame.with_columns(n=None)), "of type Null"),
        (Vectorised(lambda frame: frame.with_columns(_event=pl.lit("noon"))), "whole number"),
        (Vectorised(lambda frame: frame.lazy()), "LazyFrame, not a polars.DataFrame"),
    ],
)  # fmt: skip
def test_a_step_that_cannot_be_taken_is_refused_before_the_first_element(step: ParDo, told: str) -> None:
    with pytest.raises(SubmissionError, match=told) as refusal:
        schema_after([step], SCHEMA)
    assert refusal.value.code == "SUBMIT_PAR_DO"


def test_a_grouping_by_a_column_that_no_step_makes_is_refused() -> None:
    pipeline = (
        Pipeline("p", Files("a", event_time="at"))
        .par_do(PerElement(bare, {"number": int}))
        .group_by_key_and_window(key="text", window=FixedWindows("1s"))
        .combine(n=Count())
    )
    with pytest.raises(SubmissionError, match="grouping by text reads the column 'text'") as refusal:
        Stages.of(pipeline, SCHEMA)
    assert refusal.value.code == "SUBMIT_PAR_DO"


def test_sparks_expressions_are_refused_where_there_is_no_spark() -> None:
    for refused in (
        lambda: schema_after([SparkColumns("true")], SCHEMA),
        lambda: apply([SparkColumns("true")], pl.DataFrame()),
    ):
        with pytest.raises(SubmissionError) as refusal:
            refused()
        assert refusal.value.code == "ENGINE_PAR_DO"
