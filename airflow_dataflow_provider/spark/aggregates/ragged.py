"""List columns as one flat column of values, with the offset at which each row begins.

Operations on accumulators that hold many values work on the values of all rows at once, sorted and grouped by the row's
number: one operation a row would cost microseconds for each of hundreds of thousands of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

Offsets = np.ndarray[tuple[int], np.dtype[np.int64]]
ROW = "_row"


@dataclass(frozen=True, slots=True)
class Ragged:
    """A list column.

    Attributes:
        offsets: where each row begins in ``values``, and at the end their number.
        values: all of them; no nulls.
    """

    offsets: Offsets
    values: pl.Series

    @classmethod
    def of(cls, lists: pl.Series) -> Ragged:
        """The values of a column of lists, or of lists of lists; nulls among them, and null lists, are nothing."""
        offsets, values = _flat(lists)
        if isinstance(values.dtype, pl.List):
            inner, values = _flat(values)
            offsets = inner[offsets]
        if values.null_count():
            there = values.is_not_null()
            before = np.concatenate(([0], np.cumsum(there.to_numpy())))
            offsets, values = before[offsets], values.filter(there)
        return cls(offsets, values)

    @property
    def lengths(self) -> Offsets:
        return np.diff(self.offsets)

    @property
    def rows(self) -> pl.Series:
        return pl.Series(ROW, np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint32), self.lengths))

    def entries(self) -> pl.DataFrame:
        """Values that are structs, as columns, with the row of each in front."""
        return self.values.struct.unnest().insert_column(0, self.rows)

    def to_lists(self, dtype: pl.DataType) -> pl.Series:
        """The column again, with as many rows, in that type."""
        flat = self.values.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
        column = pl.Series(pa.LargeListArray.from_arrays(pa.array(self.offsets, pa.int64()), flat))
        return column if column.dtype == dtype else column.cast(dtype)


def from_entries(entries: pl.DataFrame, rows: int) -> Ragged:
    """Entries sorted by row, as structs."""
    offsets = np.searchsorted(entries[ROW].to_numpy(), np.arange(rows + 1))
    return Ragged(offsets.astype(np.int64), entries.drop(ROW).to_struct())


def _flat(lists: pl.Series) -> tuple[Offsets, pl.Series]:
    lengths = lists.list.len().fill_null(0).to_numpy()
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    # Empty and null lists would each explode to a null.
    filled = lists.filter(pl.Series(lengths > 0))
    return offsets, filled.explode() if len(filled) else filled.explode().clear()
