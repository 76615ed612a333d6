"""The rows that a world offers: as a file of the source, and as the elements that they are."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cache

import polars as pl

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


@cache
def as_file(rows: tuple[Row, ...]) -> bytes:
    """Rows as a Parquet file."""
    columns = {
        "happened": [None if row[0] is None else to_datetime(moment(row[0])) for row in rows],
        **{name: [row[number] for row in rows] for number, name in enumerate(("key", "site", "whole", "part"), 1)},
    }
    buffer = io.BytesIO()
    pl.DataFrame(columns, schema_overrides=_SCHEMA).select(*_SCHEMA).write_parquet(buffer)
    return buffer.getvalue()


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
