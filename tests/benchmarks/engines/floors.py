"""The floor: engines that know nothing of streams, in one pass over all the files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from tests.benchmarks.check import Answer
from tests.benchmarks.engines.engine import CORES, Engine
from tests.benchmarks.generate import Events
from tests.benchmarks.queries import Query


class DuckDB(Engine):
    """Its SQL, into a Parquet file."""

    name, side, mode, place = "duckdb", "floor", "batch", "duckdb"

    def run(self, query: Query, events: Events, folder: Path) -> None:
        path = folder / "answer.parquet"
        with duckdb.connect(config={"threads": CORES}) as db:
            db.execute(f"COPY ({query.sql(events.glob)}) TO '{path}' (FORMAT parquet)")

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:  # noqa: ARG002
        return Answer(folder / "answer.parquet")


class Polars(Engine):
    """Its lazy frames, into a Parquet file."""

    name, side, mode, place = "polars", "floor", "batch", "polars"

    def run(self, query: Query, events: Events, folder: Path) -> None:
        query.polars(pl.scan_parquet(events.glob)).sink_parquet(folder / "answer.parquet")

    def answer(self, query: Query, events: Events, folder: Path) -> Answer:  # noqa: ARG002
        return Answer(folder / "answer.parquet")
