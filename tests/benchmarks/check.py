"""Whether an answer is right: row for row the one that DuckDB computes from the same files.

What fair equality means:

- *Ours* must publish every key and window of the whole input, with exactly the right value. What the timed run has
  published stands; the windows that are still open then are published afterwards by a batch run on the same state,
  which tells it of the end of input. No row may have been expired or rejected. A batch of an interval in which every
  window ends publishes everything at once.
- *Spark, update mode* must have emitted, as the last value of each key and window, exactly the right one.
- *Spark, append mode* never emits windows that are open at the end of an ``availableNow`` run. It must have emitted
  exactly the windows that its own last watermark has passed; how many it has not is reported.
- In these two modes Spark is timed on a sink that keeps nothing. Its answer is taken from a rehearsal before: the same
  query on the same files in the same batches, written out. Of each timed run the rows that it read and the rows that it
  dropped are checked.
- *Spark, foreach-batch* is timed with what it publishes: it writes a table, in which it also keeps what is incomplete
  yet. All of that is checked.
- *Spark, batch* and *polars* must give the whole answer. *DuckDB* is the measure of the others; against it, polars is
  its check.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from airflow_dataflow_provider.model.time import Micros
from tests.benchmarks.generate import Events
from tests.benchmarks.queries import Query


class WrongAnswerError(Exception):
    """An engine computed something else than DuckDB."""


@dataclass(frozen=True, slots=True)
class StateSize:
    """A keyed state at the end of a run.

    Attributes:
        open_windows: how many keys and windows it holds.
        stands: bytes of the files that it is made of.
        written_per_epoch: bytes of keyed state that an epoch with elements has written, in the mean.
        epochs: how many such epochs there were.
    """

    open_windows: int
    stands: int
    written_per_epoch: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine computed.

    Attributes:
        path: a Parquet file with the query's columns.
        complete_until: it holds the windows that end at or before this, and no others; None: it holds everything.
        published: how many panes were published in the timed run, where the engine counts them.
        state: what the timed run has left, where an engine's state can be looked into.
    """

    path: Path
    complete_until: Micros | None = None
    published: int | None = None
    state: StateSize | None = None


def write_truth(query: Query, events: Events, path: Path) -> int:
    """Let DuckDB answer a query; the number of its rows.

    Raises:
        WrongAnswerError: where the files are not the workload that they should be.
    """
    with duckdb.connect() as db:
        rows = _count(db, f"SELECT count(*) FROM read_parquet('{events.glob}')")
        if rows != events.workload.rows:
            raise WrongAnswerError(f"{events.folder} holds {rows} rows, not {events.workload.rows}: remove it")
        db.execute(f"COPY ({query.sql(events.glob)}) TO '{path}' (FORMAT parquet)")
        return _count(db, f"SELECT count(*) FROM '{path}'")


def compare(query: Query, engine: str, answer: Answer, truth: Path) -> int:
    """Compare an answer with the truth; how many rows of the truth lie beyond what the answer is complete for.

    Raises:
        WrongAnswerError: with the numbers of differing rows and the first of them.
    """
    columns = ", ".join(query.columns)
    until = answer.complete_until
    owed = f"SELECT {columns} FROM '{truth}'" + ("" if until is None else f" WHERE window_end <= {until}")
    given = f"SELECT {columns} FROM '{answer.path}'"
    with duckdb.connect() as db:
        expected = _count(db, f"SELECT count(*) FROM ({owed})")
        if not expected:
            raise WrongAnswerError(f"{engine} {query.name}: no window was complete, so nothing could be checked")
        differences = {
            "missing": f"({owed}) EXCEPT ALL ({given})",
            "wrong or superfluous": f"({given}) EXCEPT ALL ({owed})",
        }
        found = {kind: _count(db, f"SELECT count(*) FROM ({rows})") for kind, rows in differences.items()}
        if any(found.values()):
            told = [
                f"{count} {kind}, the first {db.execute(f'{differences[kind]} ORDER BY ALL LIMIT 1').fetchone()}"
                for kind, count in found.items()
                if count
            ]
            raise WrongAnswerError(
                f"{engine} {query.name}: of {expected} rows ({columns}) {'; '.join(told)} (see {answer.path})"
            )
        return _count(db, f"SELECT count(*) FROM '{truth}'") - expected


def _count(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = db.execute(sql).fetchone()
    assert row is not None
    return int(row[0])
