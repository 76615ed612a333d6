"""Division that does not depend on how a frame holds its columns."""

from __future__ import annotations

import numpy as np
import polars as pl


def quotient(dividend: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """One column over another as float64, rounded once.

    Polars divides by a column that it holds as one value for all rows by multiplying with the reciprocal, which rounds
    twice: 2001.25 / 3 then differs in the last digit from what the same rows give elsewhere.
    """
    both = pl.struct(dividend=dividend.cast(pl.Float64), divisor=divisor.cast(pl.Float64))
    return both.map_batches(_divided, return_dtype=pl.Float64(), is_elementwise=True)


def _divided(both: pl.Series) -> pl.Series:
    with np.errstate(divide="ignore", invalid="ignore"):
        return pl.Series(both.struct.field("dividend").to_numpy() / both.struct.field("divisor").to_numpy())
