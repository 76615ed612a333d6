"""The rows that a world offers: as a file of the source, and as the elements that they are."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa

from airflow_dataflow_provider import Csv
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import Micros, to_datetime
from airflow_dataflow_provider.testing.strategies import SECOND, START
from tests.simulate.script import Row

_SCHEMA = {
    "key": pl.String(),
    "site": pl.Int64(),
    "whole": pl.Int64(),
    "part": pl.Float64(),
    "happened": pl.Datetime("us", "UTC"),
}


_TYPES = {"key": "string", "site": "int64", "whole": "int64", "part": "float64"}
_BROKEN = {".csv.gz": "ragged\n", ".jsonl.zst": '{"happened": '}


def options(ending: str) -> dict[str, Any]:
    """What a source says of files with an ending."""
    return {
        ".parquet": {},
        ".csv.gz": {"format": Csv(separator=";"), "schema": _TYPES},
        ".jsonl.zst": {"time_format": "epoch_microseconds", "schema": _TYPES},
    }[ending]


@cache
def as_file(rows: tuple[Row, ...], ending: str) -> bytes:
    """Rows as a file; in one of text a malformed row is a line that is none."""
    if ending == ".parquet":
        return _as_parquet(rows)
    table = _table(tuple(row for row in rows if row[0] is not None))
    broken = _BROKEN[ending] * sum(row[0] is None for row in rows)
    if ending == ".csv.gz":
        moments = pl.col("happened").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
        text = table.with_columns(moments).write_csv(separator=";", quote_style="non_numeric")
        return gzip.compress((text + broken).encode(), mtime=0)
    lines = table.with_columns(pl.col("happened").dt.epoch("us")).write_ndjson()
    return bytes(pa.compress(lines.encode() + broken.replace("{", "\n{").encode(), "zstd", asbytes=True))


def _as_parquet(rows: tuple[Row, ...]) -> bytes:
    buffer = io.BytesIO()
    _table(rows).write_parquet(buffer)
    return buffer.getvalue()


def _table(rows: tuple[Row, ...]) -> pl.DataFrame:
    columns = {
        "happened": [None if row[0] is None else to_datetime(moment(row[0])) for row in rows],
        **{name: [row[number] for row in rows] for number, name in enumerate(("key", "site", "whole", "part"), 1)},
    }
    return pl.DataFrame(columns, schema_overrides=_SCHEMA).select(*_SCHEMA)


def as_elements(rows: Iterable[Row], arrival_time: Micros) -> list[Element]:
    """The elements that rows are to an epoch which reads them at a time; malformed ones are none."""
    elements = []
    for happened, key, site, whole, part in rows:
        if happened is not None:
            time = moment(happened)
            row = {"key": key, "site": site, "whole": whole, "part": part, "happened": to_datetime(time)}
            elements.append(Element(row, time, arrival_time))
    return elements


def moment(seconds: float) -> Micros:
    """A time of a script, in microseconds since the epoch."""
    return START + round(seconds * SECOND)
