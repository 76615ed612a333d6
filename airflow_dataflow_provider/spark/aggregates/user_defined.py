"""Users' own combiners: Python called for each row, or polars expressions."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, get_args, get_origin

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.model.combiners import Combiner, VectorisedCombiner
from airflow_dataflow_provider.model.errors import DataError, DataflowError, SubmissionError
from airflow_dataflow_provider.model.par_do import EVENT_TIME as EVENT
from airflow_dataflow_provider.spark.aggregates.aggregate import SIGN, Aggregate, Field
from airflow_dataflow_provider.spark.aggregates.collected_values import bag, repeated
from airflow_dataflow_provider.spark.aggregates.packed import Packed
from airflow_dataflow_provider.spark.aggregates.ragged import ROW, Ragged
from airflow_dataflow_provider.spark.values.kept_values import dump, load
from airflow_dataflow_provider.spark.values.made_by_python import NOT_TAKEN, unfit
from airflow_dataflow_provider.spark.values.type_table import MADE_BY_PYTHON


def result_type(combiner: Combiner) -> pl.DataType:
    """The column type of what a combiner of the user's gives.

    Raises:
        SubmissionError: ``ENGINE_COMBINER`` where it does not say, or says what no column can have.
    """

    def column_type(kind: Any) -> pl.DataType:  # noqa: ANN401 - any type, to be judged here
        if get_origin(kind) is list:
            return pl.List(column_type(*get_args(kind)))
        if kind in MADE_BY_PYTHON:
            return MADE_BY_PYTHON[kind]
        raise SubmissionError(
            f"{combiner!r} does not say a type of its result that a column can have: {kind!r}",
            reason="columns are typed before there is a value",
            hint="set result_type in its class: bool, int, float, str, bytes, Decimal, date, datetime (UTC), timedelta "
            "or a list[...] of one",
            code="ENGINE_COMBINER",
        )

    return column_type(combiner.result_type)


def reads_event_time(combiner: Combiner) -> bool:
    """Whether the event time can matter to a combiner of the user's."""
    return type(combiner).value_of is not Combiner.value_of


@dataclass(frozen=True, slots=True)
class Scalar(Packed):
    """Plain Python: one call a row, accumulators as bytes."""

    name: str
    combiner: Combiner
    retracting: bool

    @property
    @override
    def entry(self) -> pl.Expr:
        event = pl.col(EVENT) if reads_event_time(self.combiner) else pl.lit(0, dtype=pl.Int64)
        sign = pl.col(SIGN) if self.retracting else pl.lit(1, dtype=pl.Int8)
        return pl.struct(*map(pl.col, self.combiner.columns), event.alias(EVENT), sign.alias(SIGN))

    @property
    @override
    def output(self) -> pl.DataType:
        return result_type(self.combiner)

    @override
    def pack(self, rows: Ragged) -> Sequence[bytes | None]:
        entries = rows.values.to_list()
        with _blamed(self.name, self.combiner):
            return [self._pack(entries[start:stop]) for start, stop in pairwise(rows.offsets.tolist())]

    def _pack(self, rows: Sequence[Mapping[str, Any]]) -> bytes | None:
        accumulator, has_values = self.combiner.create(), False
        for row in rows:
            value = self.combiner.value_of(row, row[EVENT])
            if value is not None:
                fold = self.combiner.add if row[SIGN] > 0 else self.combiner.uncombine
                accumulator, has_values = fold(accumulator, value), True
        return dump(accumulator, self.combiner) if has_values else None

    @override
    def merged(self, parts: Sequence[bytes]) -> bytes:
        first, *others = (load(part, self.combiner) for part in parts)
        with _blamed(self.name, self.combiner):
            for other in others:
                first = self.combiner.merge(first, other)
        return dump(first, self.combiner)

    @override
    def read(self, packed: Sequence[bytes | None]) -> pl.Series:
        accumulators = (self.combiner.create() if part is None else load(part, self.combiner) for part in packed)
        with _blamed(self.name, self.combiner):
            results = [self.combiner.extract(each) for each in accumulators]
        return _results(self.name, self.combiner, results)


@contextmanager
def _blamed(name: str, combiner: Combiner) -> Iterator[None]:
    """Wraps calls of a user's code.

    Raises:
        DataError: ``DATA_COMBINER`` with what it raised, and where.
    """
    try:
        yield
    except DataflowError:
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        raise DataError(
            f"{name}={combiner!r} failed",
            reason=f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})",
            hint="correct it or the data, run again; what is committed stays",
            code="DATA_COMBINER",
        ) from error


def _results(name: str, combiner: Combiner, values: list[Any]) -> pl.Series:
    """Results of a combiner in plain Python as a column, none of them changed.

    Raises:
        DataError: ``DATA_COMBINER`` for a result that is not of the type that the combiner says, or does not fit.
    """
    wrong: Exception | None = unfit(values, combiner.result_type)
    if wrong is None:
        try:
            return pl.Series(values, dtype=result_type(combiner), strict=True)
        except NOT_TAKEN as error:
            wrong = error
    raise DataError(
        f"{name}={combiner!r} gives a result that its column cannot hold",
        reason=f"{wrong}; a result is never rounded or changed",
        hint="correct extract(), or say another result_type; what is committed stays",
        code="DATA_COMBINER",
    ) from wrong


def scalar(name: str, combiner: Combiner, schema: Mapping[str, pl.DataType], *, retracting: bool) -> Aggregate:
    """A combiner in plain Python. If it cannot retract, its rows are kept with their counts."""
    output = result_type(combiner)
    if not retracting or combiner.retractable() is combiner:
        return Scalar(name, combiner, retracting)

    def read(ragged: Ragged) -> pl.Series:
        rows = repeated(ragged)
        entries = rows.values.to_list()
        results = []
        with _blamed(name, combiner):
            for start, stop in pairwise(rows.offsets.tolist()):
                accumulator = combiner.create()
                for row in entries[start:stop]:
                    value = combiner.value_of(row, row[EVENT])
                    accumulator = accumulator if value is None else combiner.add(accumulator, value)
                results.append(combiner.extract(accumulator))
        return _results(name, combiner, results)

    event = pl.col(EVENT) if reads_event_time(combiner) else pl.lit(0, dtype=pl.Int64)
    columns = {**{column: pl.col(column) for column in combiner.columns}, EVENT: event}
    types = {**{column: schema[column] for column in combiner.columns}, EVENT: pl.Int64()}
    # A combiner with a value_of of its own judges nulls itself.
    return bag(name, columns, types, read, output, skip_nulls=not reads_event_time(combiner))


@dataclass(frozen=True)
class Vectorised(Aggregate):
    """The user's expressions, on accumulator columns of the names that the user gave."""

    name: str
    combiner: VectorisedCombiner
    schema: Mapping[str, pl.DataType]

    @cached_property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """In the types that the expressions give, and with what they make of nothing."""
        nothing = pl.DataFrame(schema={**self.schema, EVENT: pl.Int64()}).select(**self.combiner.make())
        return tuple(
            Field(f"{self.name}.{column}", dtype, nothing[column][0]) for column, dtype in nothing.schema.items()
        )

    def _columns(self, suffix: str = "") -> dict[str, pl.Expr]:
        return {field.name.removeprefix(f"{self.name}."): pl.col(field.name + suffix) for field in self.fields}

    def _in_order(self, columns: Mapping[str, pl.Expr]) -> Sequence[pl.Expr]:
        return [columns[name].cast(field.dtype) for name, field in zip(self._columns(), self.fields, strict=True)]

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return self._in_order(self.combiner.lift())

    @override
    def make(self) -> Sequence[pl.Expr]:
        return self._in_order(self.combiner.make())

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return self._in_order(self.combiner.fold(self._columns()))

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        own = self.combiner.pair(self._columns(), self._columns(suffix))
        if own is not None:
            return self._in_order(own)
        both = pl.struct(name + end for name in (field.name for field in self.fields) for end in ("", suffix))
        return [
            both.map_batches(partial(self._pair, number, suffix), return_dtype=field.dtype, is_elementwise=True)
            for number, field in enumerate(self.fields)
        ]

    def _pair(self, number: int, suffix: str, both: pl.Series) -> pl.Series:
        sides = both.struct.unnest().with_row_index(ROW)
        names = [field.name for field in self.fields]
        left, right = sides.select(ROW, *names), sides.select(ROW, **{name: pl.col(name + suffix) for name in names})
        folded = pl.concat([left, right]).group_by(ROW, maintain_order=True).agg(self.merge()[number].alias("folded"))
        return folded["folded"]

    @override
    def result(self) -> pl.Expr:
        return self.combiner.result(self._columns())


def vectorised(
    name: str, combiner: VectorisedCombiner, schema: Mapping[str, pl.DataType], *, retracting: bool
) -> Aggregate:
    """A combiner of expressions. Under retraction its input columns are kept as rows with their counts."""
    types = {column: schema[column] for column in combiner.columns}
    aggregate = Vectorised(name, combiner, types)
    try:
        output = pl.DataFrame(schema={field.name: field.dtype for field in aggregate.fields}).select(aggregate.result())
    except pl.exceptions.PolarsError as error:
        raise SubmissionError(
            f"the expressions of {name}={combiner!r} do not fit the columns: {error}",
            hint="correct the expressions, or cast the columns in the source",
            code="SUBMIT_COLUMN_TYPE",
        ) from error
    if not retracting:
        return aggregate
    [dtype] = output.dtypes
    roots = {root for column in combiner.make().values() for root in column.meta.root_names()}
    if EVENT in roots:
        types[EVENT] = pl.Int64()

    def read(ragged: Ragged) -> pl.Series:
        made = repeated(ragged).entries().group_by(ROW).agg(
            column.alias(field.name) for column, field in zip(aggregate.make(), aggregate.fields, strict=True)
        )  # fmt: skip
        results = made.select(ROW, result=aggregate.result())
        rows = pl.DataFrame({ROW: np.arange(len(ragged.lengths), dtype=np.uint32)})
        return rows.join(results, on=ROW, how="left", maintain_order="left")["result"]

    return bag(name, {column: pl.col(column) for column in types}, types, read, dtype, skip_nulls=False)
