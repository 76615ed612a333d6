"""The open windows that an epoch can touch: those of the keys that something has arrived for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.spark.kernel.codes import Codes, key_codes
from airflow_dataflow_provider.spark.kernel.columns import END, ID, START

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.spark.kernel.epoch import RunningEpoch
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.triggers.node import Mask


@dataclass(frozen=True, slots=True)
class Touched:
    """The open windows of some keys.

    Attributes:
        mask: which rows of the state they are.
        sub: those rows.
        codes: for each of them the number of its key.
        arrived: for each row that has arrived the number of its key.
    """

    mask: Mask
    sub: pl.DataFrame
    codes: Codes
    arrived: Codes

    @classmethod
    def of(cls, kernel: Kernel, now: RunningEpoch, arrived: list[pl.DataFrame]) -> Touched:
        """The windows of all keys in the frames that have arrived."""
        key = list(kernel.grouping.key)
        frames = [part.select(key) for part in arrived]
        codes = key_codes(pl.concat([*frames, now.state.select(key)]))
        count = len(codes) - len(now.state)
        came, existing = codes[:count], codes[count:]
        known = np.zeros(int(codes.max()) + 1 if len(codes) else 0, dtype=np.bool_)
        known[came] = True
        mask = known[existing]
        return cls(mask, now.state.filter(mask), existing[mask], came)

    def put_back(self, kernel: Kernel, now: RunningEpoch, after: pl.DataFrame, changed: Mask) -> None:
        """Replace the touched windows by what has become of them."""
        other = ~self.mask
        now.touched = self.sub
        now.state = pl.concat([now.state.filter(other), after.select(*kernel.state_schema)], rechunk=True)
        now.changed = np.concatenate([now.changed[other], changed])


def tombstones(now: RunningEpoch, border: Micros) -> pl.DataFrame | None:
    """State rows that remove windows which became part of others, or have shrunk and expired.

    A window that ends at or before the border of expiry needs none: readers of the state drop it by its end.
    """
    if now.touched is None or not len(now.touched):
        return None
    gone = now.touched.join(now.state.select(ID), on=ID, how="anti").filter(pl.col(END) > border)
    # A window that ends before all time has expired.
    marker = pl.lit(MIN_TIME, dtype=pl.Int64)
    return gone.with_columns(marker.alias(START), marker.alias(END)) if len(gone) else None
