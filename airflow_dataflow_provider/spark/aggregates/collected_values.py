"""Accumulators that hold many values: sets, sorted lists, counted values. One list column each.

Inside a group values are only concatenated; then one call brings the lists of all groups into a normal form. That form
is unique, so that equal accumulators are equal columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import SIGN, Aggregate, Field, number
from airflow_dataflow_provider.spark.aggregates.division import quotient
from airflow_dataflow_provider.spark.aggregates.polars_errors import carrying
from airflow_dataflow_provider.spark.aggregates.ragged import ROW, Ragged, from_entries

COUNT = "count"
Normalise = Callable[[pl.DataFrame], pl.DataFrame]
"""Entries in any order, with their :data:`ROW`, to entries in the normal form, sorted by row."""
Read = Callable[[Ragged], pl.Series]
"""The result of each row."""


@dataclass(frozen=True, slots=True)
class CollectedValues(Aggregate):
    """Entries of a few columns, in a normal form.

    Attributes:
        name: of the output.
        suffix: of the accumulator column.
        entry: the entry that a row is, as a struct, or a list of several; null is none.
        types: the columns of an entry with their types.
        normalise: to the normal form.
        read: the result.
        output: its type.
    """

    name: str
    suffix: str
    entry: pl.Expr
    types: Mapping[str, pl.DataType]
    normalise: Normalise
    read: Read
    output: pl.DataType

    @property
    @override
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        return (Field(f"{self.name}.{self.suffix}", pl.List(pl.Struct(dict(self.types))), []),)

    @property
    def _column(self) -> pl.Expr:
        return pl.col(self.fields[0].name)

    @override
    def lift(self) -> Sequence[pl.Expr]:
        return [self._normal(pl.concat_list(self.entry))]

    @override
    def make(self) -> Sequence[pl.Expr]:
        return [self._normal(self.entry.implode())]

    @override
    def merge(self) -> Sequence[pl.Expr]:
        return [self._normal(self._column.implode())]

    @override
    def pair(self, suffix: str) -> Sequence[pl.Expr]:
        sides = pl.struct(self._column.alias("left"), pl.col(self.fields[0].name + suffix).alias("right"))
        return [sides.map_batches(self._paired, return_dtype=self.fields[0].dtype, is_elementwise=True)]

    def _paired(self, sides: pl.Series) -> pl.Series:
        # Flat at once: polars puts lists together row by row.
        halves = [Ragged.of(sides.struct.field(side)).entries() for side in ("left", "right")]
        return self._lists(pl.concat(halves), len(sides))

    def _normal(self, lists: pl.Expr) -> pl.Expr:
        return lists.map_batches(self._normalised, return_dtype=self.fields[0].dtype, is_elementwise=True)

    def _normalised(self, lists: pl.Series) -> pl.Series:
        return self._lists(Ragged.of(lists).entries(), len(lists))

    def _lists(self, entries: pl.DataFrame, rows: int) -> pl.Series:
        return from_entries(self.normalise(entries).select(ROW, *self.types), rows).to_lists(self.fields[0].dtype)

    @override
    def result(self) -> pl.Expr:
        return self._column.map_batches(
            carrying(lambda lists: self.read(Ragged.of(lists))), return_dtype=self.output, is_elementwise=True
        )


def sorted_entries(entries: pl.DataFrame) -> pl.DataFrame:
    return entries.sort(entries.columns)


def distinct(entries: pl.DataFrame) -> pl.DataFrame:
    return entries.unique().sort(entries.columns)


def at_most(k: int, *, greatest: bool) -> Normalise:
    """The ``k`` greatest entries of each row, greatest first, or the ``k`` least. Of two columns the left one decides.

    A null in a struct is less than any value, and NaN greater.
    """

    def normalise(entries: pl.DataFrame) -> pl.DataFrame:
        values = [name for name in entries.columns if name != ROW]
        falling = [False, *[greatest] * len(values)]
        ranked = entries.sort(ROW, *values, descending=falling, nulls_last=falling)
        first = ranked[ROW].search_sorted(ranked[ROW]).to_numpy()
        return ranked.filter(np.arange(len(ranked)) - first < k)

    return normalise


def counted(entries: pl.DataFrame) -> pl.DataFrame:
    """Each entry once with its count, sorted. A count may be negative; entries that count zero go."""
    by = [name for name in entries.columns if name != COUNT]
    return entries.group_by(by).agg(pl.col(COUNT).sum()).filter(pl.col(COUNT) != 0).sort(by)


def entry(columns: Mapping[str, pl.Expr], types: Mapping[str, pl.DataType], *, skip_nulls: bool = True) -> pl.Expr:
    """The entry of a row; none where one of the columns is null, unless nulls are to be kept."""
    typed = [
        (number(value) if types[name].is_float() else value).cast(types[name]).alias(name)
        for name, value in columns.items()
    ]
    if not skip_nulls:
        return pl.struct(typed)
    return pl.when(pl.all_horizontal(value.is_not_null() for value in typed)).then(pl.struct(typed))


def bag(
    name: str,
    columns: Mapping[str, pl.Expr],
    types: Mapping[str, pl.DataType],
    read: Read,
    output: pl.DataType,
    *,
    retracting: bool = True,
    skip_nulls: bool = True,
) -> Aggregate:
    """Values with their counts, sorted by value: retractions work for every result."""
    sign = pl.col(SIGN).cast(pl.Int64) if retracting else pl.lit(1, dtype=pl.Int64)
    all_types = {**types, COUNT: pl.Int64()}
    return CollectedValues(
        name,
        "bag",
        entry({**columns, COUNT: sign}, all_types, skip_nulls=skip_nulls),
        all_types,
        counted,
        lambda ragged: read(without_negative(ragged)),
        output,
    )


def without_negative(ragged: Ragged) -> Ragged:
    """Without entries that were retracted before they came."""
    entries = ragged.entries()
    return from_entries(entries.filter(pl.col(COUNT) > 0), len(ragged.lengths))


def repeated(ragged: Ragged) -> Ragged:
    """Each entry of a bag as often as it counts, without its count."""
    entries = ragged.entries()
    places = np.repeat(np.arange(len(entries)), entries[COUNT].to_numpy())
    return from_entries(entries[places].drop(COUNT), len(ragged.lengths))


# Results


def null_unless(mask: np.ndarray[tuple[int], np.dtype[np.bool_]], values: pl.Series) -> pl.Series:
    return pl.select(pl.when(pl.Series(mask)).then(values)).to_series()


def field(ragged: Ragged, name: str) -> pl.Series:
    return ragged.values.struct.field(name)


def first_or_last(name: str, *, last: bool = False) -> Read:
    """A column of the first or last entry; null where there is none."""

    def read(ragged: Ragged) -> pl.Series:
        places = ragged.offsets[1:] - 1 if last else ragged.offsets[:-1]
        return field(ragged, name).gather(null_unless(ragged.lengths > 0, pl.Series(places)))

    return read


def as_list(name: str, dtype: pl.DataType) -> Read:
    """A column of all entries, as a list."""
    return lambda ragged: Ragged(ragged.offsets, field(ragged, name)).to_lists(pl.List(dtype))


def entry_count(ragged: Ragged) -> pl.Series:
    return pl.Series(ragged.lengths, dtype=pl.Int64)


def quantiles(ranks: tuple[float, ...], name: str) -> Read:
    """The values of a bag at these ranks, as the model says it; null over none."""

    def read(ragged: Ragged) -> pl.Series:
        values = field(ragged, name)
        upto = np.concatenate(([0], np.cumsum(field(ragged, COUNT).to_numpy())))
        before, total = upto[ragged.offsets[:-1]], np.diff(upto[ragged.offsets])
        wanted = np.maximum(np.ceil(np.outer(total, ranks)), 1).astype(np.int64) + before[:, None]
        # Of a row without values the place is another row's, or none; its list is not taken.
        places = np.minimum(np.searchsorted(upto[1:], wanted.ravel()), len(values) - 1)
        found = values.gather(null_unless(np.repeat(total > 0, len(ranks)), pl.Series(places)))
        offsets = np.arange(len(total) + 1) * len(ranks)
        return null_unless(total > 0, Ragged(offsets, found).to_lists(pl.List(pl.Float64())))

    return read


def spread(name: str, *, sample: bool, root: bool) -> Read:
    """The variance or standard deviation of a bag, in two passes; null over too few values."""

    def read(ragged: Ragged) -> pl.Series:
        count = pl.col(COUNT)
        value = pl.col(name)
        mean = ((value * count).sum() / count.sum()).over(ROW)
        moments = (
            ragged.entries()
            .with_columns(m2=count * (value - mean) ** 2)
            .group_by(ROW)
            .agg(pl.col("m2").sum(), count.sum().alias("n"))
        )
        degrees = pl.col("n") - int(sample)
        variance = pl.when(degrees > 0).then(quotient(pl.col("m2"), degrees))
        of_rows = moments.select(ROW, result=variance.sqrt() if root else variance)
        rows = pl.DataFrame({ROW: np.arange(len(ragged.lengths), dtype=np.uint32)})
        return rows.join(of_rows, on=ROW, how="left", maintain_order="left")["result"]

    return read


def top_k(ragged: Ragged, k: int) -> Ragged:
    """The ``k`` greatest of a bag, greatest first, each as often as it counts."""
    capped = ragged.entries().with_columns(pl.col(COUNT).clip(upper_bound=k))
    rows = len(ragged.lengths)
    return from_entries(at_most(k, greatest=True)(repeated(from_entries(capped, rows)).entries()), rows)
