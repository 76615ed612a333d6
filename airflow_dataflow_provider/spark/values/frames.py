"""Frames as bytes: Arrow between tasks and in the state, Parquet in what people read.

The oldest Arrow layout is asked for everywhere, so that any Arrow tool reads what is written here.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import polars as pl

from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile

_OLDEST = pl.CompatLevel.oldest()


def to_blob(frame: pl.DataFrame) -> bytes:
    """A frame as an uncompressed Arrow stream: for the shuffle, which compresses by itself."""
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compat_level=_OLDEST)
    return buffer.getvalue()


def from_blob(blob: bytes) -> pl.DataFrame:
    """Read back :func:`to_blob`."""
    return pl.read_ipc_stream(io.BytesIO(blob))


def write_arrow(store: Store, folder: str, name: str, frame: pl.DataFrame) -> WrittenFile:
    """Write a frame as a new Arrow file."""
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="lz4", compat_level=_OLDEST)
    return WrittenFile.write(store, folder, name, buffer.getvalue())


def read_arrow(store: Store, folder: str, file: WrittenFile) -> pl.DataFrame:
    """Read back :func:`write_arrow`.

    Raises:
        StateError: ``STATE_DAMAGED``.
    """
    return pl.read_ipc(io.BytesIO(file.read(store, folder)))


def write_parquet(store: Store, folder: str, name: str, frame: pl.DataFrame) -> WrittenFile:
    """Write a frame as a new Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return WrittenFile.write(store, folder, name, buffer.getvalue())


def read_parquet(store: Store, folder: str, file: WrittenFile) -> pl.DataFrame:
    """Read back :func:`write_parquet`.

    Raises:
        StateError: ``STATE_DAMAGED``.
    """
    return pl.read_parquet(io.BytesIO(file.read(store, folder)), hive_partitioning=False)


def schema_bytes(schema: Mapping[str, pl.DataType]) -> bytes:
    """Column types as an Arrow file without rows."""
    buffer = io.BytesIO()
    pl.DataFrame(schema=dict(schema)).write_ipc(buffer, compat_level=_OLDEST)
    return buffer.getvalue()


def schema_from_bytes(data: bytes) -> dict[str, pl.DataType]:
    """Read back :func:`schema_bytes`."""
    return dict(pl.read_ipc(io.BytesIO(data)).schema)
