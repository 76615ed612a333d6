"""Running folds over a forest: each group combined with all groups before it, all at once.

Groups are laid out so that the predecessors of a group lie right before it, with theirs. A group and all before it are
then a range. Ranges are made of pieces whose lengths are powers of two, and a piece is made of two of half its length:
as many steps as the longest range has binary digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.spark.kernel.columns import RIGHT

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.kernel.kernel import Kernel
    from airflow_dataflow_provider.spark.kernel.triggers.node import Indices, Mask


def running(kernel: Kernel, groups: pl.DataFrame, follows: Indices) -> pl.DataFrame:
    """Each group with all those before it.

    Args:
        kernel: the grouping's, which combines two.
        groups: the accumulators of each by itself.
        follows: for each the one that comes after it, which has a greater number, or -1.
    """
    size, root, place = _layout(follows)
    longest = int(size.max(initial=1))
    if longest == 1:
        return groups
    names, pair = groups.columns, kernel.pair(RIGHT)
    order = np.argsort(place)
    size, root, position = size[order], root[order], np.arange(len(order))
    piece, until = groups[order], position.copy()
    found = piece.with_columns(kernel.nothing()).select(names)
    step = 1
    while step <= longest:
        takes = (size & step) != 0
        found = _paired(found, piece[np.where(takes, until, 0)], takes, pair)
        until = np.where(takes, until - step, until)
        # A piece never reaches beyond the first group of its own tree.
        grows = position - 2 * step + 1 >= root
        piece = _paired(piece, piece[np.maximum(position - step, 0)], grows, pair)
        step *= 2
    return found[place]


def _paired(frame: pl.DataFrame, earlier: pl.DataFrame, where: Mask, pair: list[pl.Expr]) -> pl.DataFrame:
    """The first frame, put together with the second one where the mask says so."""
    mask = pl.lit(pl.Series(where))
    both = frame.hstack([column.alias(column.name + RIGHT) for column in earlier.iter_columns()])
    chosen = (
        pl.when(mask).then(each).otherwise(pl.col(name)).alias(name)
        for each in pair
        for name in (each.meta.output_name(),)
    )
    return both.select(chosen).select(frame.columns)


def _layout(follows: Indices) -> tuple[Indices, Indices, Indices]:
    """For each group, how many its range has, where its tree begins, and its own place."""
    after = follows.tolist()
    size = [1] * len(after)
    for group, then in enumerate(after):
        if then >= 0:
            size[then] += size[group]
    root, begin, free = [0] * len(after), 0, [0] * len(after)
    place = [0] * len(after)
    for group in range(len(after) - 1, -1, -1):
        then = after[group]
        if then >= 0:
            at = free[then]
            free[then] += size[group]
            root[group] = root[then]
        else:
            at, begin = begin, begin + size[group]
            root[group] = at
        free[group] = at
        place[group] = at + size[group] - 1
    return np.array(size, np.int64), np.array(root, np.int64), np.array(place, np.int64)
