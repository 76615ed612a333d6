"""Events with delays for the engine's tests, as files in the order of their arrival."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from airflow_dataflow_provider import AtWatermark, Count, Files, FixedWindows, Mean, Pipeline, Repeat, SequenceOf, Sum
from airflow_dataflow_provider.model.refinement import ACCUMULATING, Refinement

ARRIVALS_BEGIN = 1_700_000_000_000_000


def events(rows: int, *, keys: int = 20, seed: int = 0) -> pl.DataFrame:
    """An hour of arrivals, delayed by a heavy-tailed time, in the order of arrival."""
    random = np.random.default_rng(seed)
    arrived = np.sort(random.integers(0, 3_600_000_000, rows)) + ARRIVALS_BEGIN
    delay = np.minimum((random.pareto(2.5, rows) * 20_000_000).astype(np.int64), 900_000_000)
    frame = pl.DataFrame(
        {
            "key": [f"key {number}" for number in random.integers(0, keys, rows)],
            "happened": arrived - delay,
            "arrived": arrived,
            "value": random.integers(-500, 1000, rows),
        }
    )
    return frame.with_columns(pl.col("happened", "arrived").cast(pl.Datetime("us", "UTC")))


def write_files(folder: Path, frame: pl.DataFrame, *, files: int, first: int = 0) -> None:
    """Cut a frame into files, each complete when it appears under its name, with rising modification times."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        name = folder / f"part-{first + number:04d}.parquet"
        partial = folder / f".{name.name}"
        frame[number * len(frame) // files : (number + 1) * len(frame) // files].write_parquet(partial)
        os.utime(partial, (1_700_000_000 + first + number,) * 2)
        partial.rename(name)


def pipeline(
    folder: Path, *, refinement: Refinement = ACCUMULATING, lateness: str = "2m", **source: object
) -> Pipeline:
    """Minutes by key: early at 90 %, on time, and late."""
    files = Files(f"{folder}/*.parquet", event_time="happened", arrival_time="arrived", **source)  # type: ignore[arg-type]
    return (
        Pipeline("minutes", files)
        .group_by_key_and_window(
            key="key",
            window=FixedWindows("1m"),
            trigger=SequenceOf(AtWatermark(90), Repeat(AtWatermark())),
            refinement=refinement,
            allowed_lateness=lateness,
        )
        .combine(count=Count(), total=Sum("value"), mean=Mean("value"))
    )


def truth(frame: pl.DataFrame) -> pl.DataFrame:
    """The same by another engine: one row a key and minute."""
    import duckdb

    return duckdb.sql(
        """
        select key, time_bucket(interval 1 minute, happened at time zone 'UTC') as start, count(*) as count,
               sum(value)::bigint as total, avg(value) as mean
        from frame group by all order by start, key
        """
    ).pl()


def as_truth(current: pl.DataFrame) -> pl.DataFrame:
    """A pane log's current table in the columns of :func:`truth`."""
    start = pl.col("window_start").dt.replace_time_zone(None).alias("start")
    return current.select("key", start, "count", "total", "mean").sort("start", "key")
