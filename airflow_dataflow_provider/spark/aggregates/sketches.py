"""Approximate distinct counts and quantiles: HyperLogLog and KLL of Apache DataSketches.

Their bytes are those of the DataSketches library in any language, Spark's ``hll_*`` and ``kll_*`` functions included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import datasketches
import numpy as np
import polars as pl
from typing_extensions import override

from airflow_dataflow_provider.spark.aggregates.aggregate import number
from airflow_dataflow_provider.spark.aggregates.packed import Packed
from airflow_dataflow_provider.spark.aggregates.ragged import ROW, Ragged

_EMPTY_TEXT = "\N{EMPTY SET} the empty text"
"""DataSketches passes over empty texts; here they are a value like others."""
_FOUR_BITS = datasketches.tgt_hll_type.HLL_4


@dataclass(frozen=True, slots=True)
class DistinctSketch(Packed):
    """``CountDistinct(..., exact=False)``: HyperLogLog."""

    name: str
    column: str
    dtype: pl.DataType
    lg_k: int

    @property
    @override
    def entry(self) -> pl.Expr:
        """The value as what the sketch hashes: an integer, a double or a text."""
        value = pl.col(self.column)
        if self.dtype.is_float():
            return number(value.cast(pl.Float64))
        if self.dtype.is_temporal():
            return value.to_physical().cast(pl.Int64)
        if self.dtype.is_integer() or self.dtype == pl.Boolean:
            return value.cast(pl.Int64)
        text = value.bin.encode("hex") if self.dtype == pl.Binary else value.cast(pl.String)
        return text.replace("", _EMPTY_TEXT)

    @property
    @override
    def output(self) -> pl.DataType:
        return pl.Int64()

    @override
    def pack(self, rows: Ragged) -> Sequence[bytes | None]:
        """Only different values are hashed, each once a group."""
        entries = pl.DataFrame({ROW: rows.rows, "value": rows.values}).unique().sort(ROW, "value")
        offsets = np.searchsorted(entries[ROW].to_numpy(), np.arange(len(rows.offsets)))
        values = entries["value"].to_list()
        packed: list[bytes | None] = []
        for start, stop in pairwise(offsets.tolist()):
            if start == stop:
                packed.append(None)
                continue
            sketch = datasketches.hll_sketch(self.lg_k, _FOUR_BITS)
            for value in values[start:stop]:
                sketch.update(value)
            packed.append(sketch.serialize_compact())
        return packed

    @override
    def merged(self, parts: Sequence[bytes]) -> bytes:
        union = datasketches.hll_union(self.lg_k)
        for part in parts:
            union.update(datasketches.hll_sketch.deserialize(part))
        packed: bytes = union.get_result(_FOUR_BITS).serialize_compact()
        return packed

    @override
    def read(self, packed: Sequence[bytes | None]) -> pl.Series:
        """The estimates, as whole numbers."""
        return pl.Series([0 if part is None else self._estimate(part) for part in packed], dtype=pl.Int64)

    def _estimate(self, packed: bytes) -> int:
        sketch = datasketches.hll_sketch.deserialize(packed)
        # A sketch that was never merged estimates by the order in which values came. One that was estimates by its
        # registers alone; those do not depend on order or cuts, so every sketch is made one that was.
        union = datasketches.hll_union(self.lg_k)
        union.update(sketch)
        union.update(sketch)
        estimate: float = union.get_estimate()
        return round(estimate)


@dataclass(frozen=True, slots=True)
class QuantileSketch(Packed):
    """``Quantiles``: KLL."""

    name: str
    column: str
    ranks: tuple[float, ...]
    k: int

    @property
    @override
    def entry(self) -> pl.Expr:
        """The value as a double; NaN has no rank."""
        return number(pl.col(self.column).cast(pl.Float64)).fill_nan(None)

    @property
    @override
    def output(self) -> pl.DataType:
        return pl.List(pl.Float64())

    @override
    def pack(self, rows: Ragged) -> Sequence[bytes | None]:
        values = rows.values.to_numpy(writable=True)  # the sketch takes no others
        packed: list[bytes | None] = []
        for start, stop in pairwise(rows.offsets.tolist()):
            if start == stop:
                packed.append(None)
                continue
            sketch = datasketches.kll_doubles_sketch(self.k)
            sketch.update(values[start:stop])
            packed.append(sketch.serialize())
        return packed

    @override
    def merged(self, parts: Sequence[bytes]) -> bytes:
        first, *others = (datasketches.kll_doubles_sketch.deserialize(part) for part in parts)
        for other in others:
            first.merge(other)
        packed: bytes = first.serialize()
        return packed

    @override
    def read(self, packed: Sequence[bytes | None]) -> pl.Series:
        """The quantiles; null over none."""
        deserialize = datasketches.kll_doubles_sketch.deserialize
        ranks = list(self.ranks)
        results = [None if part is None else deserialize(part).get_quantiles(ranks, inclusive=True) for part in packed]
        return pl.Series(results, dtype=self.output)
