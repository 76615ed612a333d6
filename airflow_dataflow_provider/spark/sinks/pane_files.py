"""The data files of a pane log as frames: its panes in the order of publication, and the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from airflow_dataflow_provider.progress.panes.pane_commits import DATA, PaneCommit
from airflow_dataflow_provider.progress.panes.pane_snapshots import MergedPanes
from airflow_dataflow_provider.spark.aggregates import Aggregates
from airflow_dataflow_provider.spark.sinks.pane_table import EPOCH, PaneTable
from airflow_dataflow_provider.spark.values.frames import read_parquet, schema_from_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_dataflow_provider.model.combiners import Combiner
    from airflow_dataflow_provider.progress.panes.pane_chain import Published
    from airflow_dataflow_provider.progress.store.store import Json, Store
    from airflow_dataflow_provider.progress.store.written_file import WrittenFile


class PaneFiles:
    """Reads the data files of one pane log.

    Args:
        store: the pane log.
        header: its header.
    """

    def __init__(self, store: Store, header: Json) -> None:
        self._store, self._header = store, header
        self._schema = {**schema_from_bytes(bytes.fromhex(header["schema"])), EPOCH: pl.Int64()}

    def table(self, combiners: Mapping[str, Combiner] | None = None) -> PaneTable:
        """How its panes become a table, where all combiners are at hand.

        Raises:
            StateError: ``STATE_NEEDS_COMBINER``.
        """
        table = self._table()
        if not table.discarding or table.has_steps:
            return table
        schema = schema_from_bytes(bytes.fromhex(self._header["input_schema"]))
        return replace(table, aggregates=Aggregates.from_json(self._header["combiners"], schema, combiners))

    def table_of_built_in(self) -> PaneTable:
        """The same; where a combiner is the user's own, panes that would be added up stay side by side."""
        own = any("class" in combiner for combiner in self._header["combiners"].values())
        return self._table() if own else self.table()

    def _table(self) -> PaneTable:
        header = self._header
        return PaneTable(
            header["key"], discarding=header["refinement"] == "discarding", has_steps=not header["combiners"]
        )  # fmt: skip

    def panes(self, published: Published, since: int = 0) -> pl.DataFrame:
        """The panes from an epoch on."""
        snapshot = published.snapshot
        merged = [part for part in snapshot.panes if part.last >= since] if snapshot is not None else []
        frames = [frame.filter(pl.col(EPOCH) >= since) for frame in map(self.merged, merged)]
        return self.concat([*frames, *self.of_commits(each for each in published.commits if each.epoch >= since)])

    def counting(self, published: Published, table: PaneTable) -> pl.DataFrame:
        """The panes that count for the table at present: those of the snapshot's table, and what came since."""
        snapshot = published.snapshot
        if snapshot is None or snapshot.table is None:
            return table.fold(self.panes(published), published.intervals)
        stood, since = self.merged(snapshot.table), snapshot.table.last + 1
        intervals = [each for each in published.intervals if each[0] >= since]
        return table.fold(self.concat([stood, self.panes(published, since)]), intervals)

    def merged(self, part: MergedPanes) -> pl.DataFrame:
        """The panes of one merged file, with their epochs."""
        return self._read(part.file, part.first)

    def of_commits(self, commits: Iterable[PaneCommit]) -> Iterator[pl.DataFrame]:
        """The panes of some commits, file by file, with their epochs."""
        return (self._read(file, commit.epoch) for commit in commits for file in commit.files)

    def concat(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        """Frames as one; none is a frame without rows."""
        return pl.concat([pl.DataFrame(schema=self._schema), *frames])

    def _read(self, file: WrittenFile, epoch: int) -> pl.DataFrame:
        frame = read_parquet(self._store, DATA, file)
        if EPOCH not in frame.columns:
            frame = frame.with_columns(pl.lit(epoch, dtype=pl.Int64).alias(EPOCH))
        return frame.select(list(self._schema))
