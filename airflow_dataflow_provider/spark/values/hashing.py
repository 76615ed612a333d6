"""The hash that says which state partition a key lives in.

It must give the same number in every version, process and language for as long as a state exists, so it is written down
here rather than borrowed: FNV-1a (64 bits, `draft-eastlake-fnv`) over the UTF-8 bytes of a text, and the finaliser of
SplitMix64 over the 64 bits of a number; columns are folded together with ``h = mix(h ^ column)``. Both are computed
column-wise: one pass of vector operations a byte position, none a row.
"""

from __future__ import annotations

import numpy as np
import polars as pl

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_NULL = np.uint64(0x9E3779B97F4A7C15)

UInt64s = np.ndarray[tuple[int], np.dtype[np.uint64]]


def _mix(values: UInt64s) -> UInt64s:
    """SplitMix64's finaliser: every input bit reaches every output bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: UInt64s = values ^ (values >> np.uint64(31))
    return mixed


def _fnv1a(texts: pl.Series) -> UInt64s:
    """FNV-1a of each text's UTF-8 bytes; a null hashes as the empty text (the caller tells them apart)."""
    arrow = texts.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets_buffer, data_buffer = arrow.buffers()
    width = np.int64 if str(arrow.type) == "large_string" else np.int32
    offsets = np.frombuffer(offsets_buffer, dtype=width)[arrow.offset : arrow.offset + len(arrow) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.full(len(starts), _FNV_OFFSET, dtype=np.uint64)
    # Rows sorted by length, longest first: those still running at a position are a prefix.
    order = np.argsort(-lengths, kind="stable")
    running = hashes[order]
    starts, lengths = starts[order], lengths[order]
    for position in range(int(lengths[0]) if len(lengths) else 0):
        alive = int(np.searchsorted(-lengths, -position, side="left"))
        running[:alive] = (running[:alive] ^ data[starts[:alive] + position]) * _FNV_PRIME
    hashes[order] = running
    return hashes


def key_hash(columns: list[pl.Series]) -> UInt64s:
    """One unsigned 64-bit hash a row over the key columns (text, integer, boolean, date or time)."""
    with np.errstate(over="ignore"):
        folded = np.zeros(len(columns[0]), dtype=np.uint64)
        for column in columns:
            if column.dtype == pl.String:
                hashes = _fnv1a(column)
            else:
                physical = column.to_physical().cast(pl.Int64, wrap_numerical=True)
                hashes = _mix(physical.fill_null(0).to_numpy().view(np.uint64) + _NULL)
            if column.null_count():
                hashes = np.where(column.is_null().to_numpy(), _NULL, hashes)
            folded = _mix(folded ^ hashes)
        return folded


def partition_of(columns: list[pl.Series], partitions: int) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """The state partition, ``0 <= p < partitions``, of each row's key."""
    return (key_hash(columns) % np.uint64(partitions)).astype(np.uint16)
