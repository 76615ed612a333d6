"""Frames as bytes: Arrow between tasks and in the state, Parquet in what people read.

The oldest Arrow layout is asked for everywhere, so that any Arrow tool reads what is written here.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import polars as pl

from airflow_dataflow_provider.progress.store import Store

_OLDEST = pl.CompatLevel.oldest()


def to_blob(frame: pl.DataFrame) -> bytes:
    """A frame as an uncompressed Arrow stream: for the shuffle, which compresses by itself."""
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compat_level=_OLDEST)
    return buffer.getvalue()


def from_blob(blob: bytes) -> pl.DataFrame:
    """Read back :func:`to_blob`."""
    return pl.read_ipc_stream(io.BytesIO(blob))


def write_arrow(store: Store, path: str, frame: pl.DataFrame) -> int:
    """Write a frame as a new Arrow file (see :meth:`Store.add`); the answer is its size in bytes."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="lz4", compat_level=_OLDEST)
    store.add(path, buffer.getvalue())
    return buffer.tell()


def read_arrow(store: Store, path: str) -> pl.DataFrame:
    """Read back :func:`write_arrow`."""
    local = store.local_path(path)
    return pl.read_ipc(local) if local is not None else pl.read_ipc(io.BytesIO(store.read(path)))


def write_parquet(store: Store, path: str, frame: pl.DataFrame) -> int:
    """Write a frame as a new Parquet file (see :meth:`Store.add`); the answer is its size in bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    store.add(path, buffer.getvalue())
    return buffer.tell()


def read_parquet(store: Store, path: str) -> pl.DataFrame:
    """Read back :func:`write_parquet`."""
    local = store.local_path(path)
    return pl.read_parquet(local if local is not None else io.BytesIO(store.read(path)), hive_partitioning=False)


def schema_bytes(schema: Mapping[str, pl.DataType]) -> bytes:
    """Column types as an Arrow file without rows."""
    buffer = io.BytesIO()
    pl.DataFrame(schema=dict(schema)).write_ipc(buffer, compat_level=_OLDEST)
    return buffer.getvalue()


def schema_from_bytes(data: bytes) -> dict[str, pl.DataType]:
    """Read back :func:`schema_bytes`."""
    return dict(pl.read_ipc(io.BytesIO(data)).schema)
