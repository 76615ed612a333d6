"""The pane log: every pane as it was published, and the table that they add up to.

A folder with ``data/*.parquet`` and one small commit document an epoch. A file that no commit names does not exist for
readers, so they see whole epochs only, and a replayed epoch changes nothing.

A pane's row has the key columns, the aggregates, and: ``window_start``, ``window_end`` (UTC; null where infinite),
``pane_timing`` (EARLY, ON_TIME, LATE, CORRECTION), ``pane_index``, ``pane_is_first``, ``pane_is_last``,
``pane_is_retraction``, ``completeness`` (0 to 1, as claimed at firing), ``watermark``, ``processing_time``, ``epoch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import to_datetime
from airflow_dataflow_provider.progress.pane_commits import COMMITS, DATA, HEADER, PER_FOLDER, POINTER, PaneCommit
from airflow_dataflow_provider.progress.store import Store

if TYPE_CHECKING:
    import polars as pl

    from airflow_dataflow_provider.model.combiners import Combiner


class PaneLogReader:
    """Reads a pane log while it is being written.

    Args:
        url: the folder of the pane log, or of the state that it belongs to.
        combiners: by output name, those of the pipeline. Only :meth:`current` needs them, and only where panes are
            discarding and one of the combiners is the user's own: a reader runs no code that a file names.

    Raises:
        StateError: ``STATE_NO_PANES`` where there is none.
    """

    def __init__(self, url: str, *, combiners: Mapping[str, Combiner] | None = None) -> None:
        store = Store.open(url)
        if store.exists(POINTER) and "url" in (pointer := store.read_json(POINTER)):
            store = Store.open(str(pointer["url"]))
        if not store.exists(HEADER):
            raise StateError(
                f"there is no pane log at {url}",
                why="no epoch of a pipeline has published there yet",
                todo="give the state URL of a pipeline that has run, or the path of its PaneLog",
                code="STATE_NO_PANES",
            )
        self._store = store
        self._header = store.read_json(HEADER)
        self._combiners = combiners

    @property
    def key(self) -> list[str]:
        """The key columns."""
        return list(self._header["key"])

    @property
    def aggregates(self) -> list[str]:
        """The aggregate columns."""
        return list(self._header["aggregates"])

    def commits(self, since: int = 0) -> Iterator[PaneCommit]:
        """The commits from an epoch on, oldest first."""
        for folder in self._store.list(COMMITS):
            if int(folder) + PER_FOLDER <= since:
                continue
            for name in self._store.list(f"{COMMITS}/{folder}"):
                if int(name.removesuffix(".json")) >= since:
                    yield PaneCommit.from_json(self._store.read_json(f"{COMMITS}/{folder}/{name}"))

    def panes(self, since: int = 0) -> pl.DataFrame:
        """Every pane from an epoch on, in the order of publication: a retraction stands before its replacement."""
        return self._without_hidden(self._read(list(self.commits(since))))

    def current(self) -> pl.DataFrame:
        """The table that the panes add up to: one row a key and window.

        Where panes accumulate the last one stands; where they are discarding they are added up. A window's first pane
        starts it anew, and a commit that replaces an interval removes what stood there.

        Where results pass steps after the last grouping, the rows that these have made of a pane stand together, and
        nothing can be added up: where panes are discarding, the rows of all of them stand.

        Raises:
            StateError: ``STATE_NEEDS_COMBINER`` where discarding panes are to be added up by a combiner of the user's
                own, and it was not given.
        """
        import polars as pl

        commits = list(self.commits())
        panes = self._read(commits).with_row_index("_order")
        for commit in commits:
            if commit.replaces is not None:
                after, until = (to_datetime(time) for time in commit.replaces)
                gone = (
                    (pl.col("epoch") < commit.epoch) & (pl.col("window_end") > after) & (pl.col("window_end") <= until)
                )
                panes = panes.filter(~gone.fill_null(value=False))
        by = [*self.key, "window_start", "window_end"]
        panes = panes.sort("_order").with_columns(_begins_anew().cum_sum().over(by).alias("_generation"))
        panes = panes.filter(pl.col("_generation") == pl.col("_generation").max().over(by))
        last = panes.group_by(by, maintain_order=True).last()
        discarding = self._header["refinement"] == "discarding"
        if not self._header["combiners"]:
            last = panes if discarding else panes.filter(_of_the_last_pane().over(by))
        elif discarding:
            last = last.drop(*self.aggregates).join(self._added_up(panes, by), on=by, how="left", nulls_equal=True)
        else:
            last = last.filter(~pl.col("pane_is_retraction"))
        columns = [name for name in panes.columns if name in last.columns]
        order = ["window_end", "window_start", *self.key, "_order"]
        return self._without_hidden(last.select(columns).sort(order, nulls_last=True))

    def _added_up(self, panes: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        from airflow_dataflow_provider.spark.aggregates import Aggregates
        from airflow_dataflow_provider.spark.aggregates.overflow import sums_that_fit
        from airflow_dataflow_provider.spark.frames import schema_from_bytes

        input_schema = schema_from_bytes(bytes.fromhex(self._header["input_schema"]))
        aggregates = Aggregates.from_json(self._header["combiners"], input_schema, self._combiners)
        with sums_that_fit():
            merged = panes.rename({f"_{name}": name for name in aggregates.names}).group_by(by).agg(aggregates.merge())
            return merged.select(*by).hstack(aggregates.extract(merged))

    def _read(self, commits: list[PaneCommit]) -> pl.DataFrame:
        import polars as pl

        from airflow_dataflow_provider.spark.frames import read_parquet, schema_from_bytes

        schema = schema_from_bytes(bytes.fromhex(self._header["schema"]))
        empty = pl.DataFrame(schema=schema).with_columns(pl.lit(0, dtype=pl.Int64).alias("epoch")).clear()
        frames = [
            read_parquet(self._store, f"{DATA}/{name}").with_columns(
                pl.lit(commit.epoch, dtype=pl.Int64).alias("epoch")
            )
            for commit in commits
            for name in commit.files
        ]
        return pl.concat([empty, *(frame.select(empty.columns) for frame in frames)])

    def _without_hidden(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(name for name in frame.columns if not name.startswith("_"))


def _begins_anew() -> pl.Expr:
    """Within a key and window, in order: a row with which a window begins anew.

    That is the first row of its first pane; or of a later one where a step has dropped the first.
    """
    import polars as pl

    index, stands = pl.col("pane_index"), ~pl.col("pane_is_retraction")
    same_pane = stands.shift() & (index.shift() == index) & (pl.col("epoch").shift() == pl.col("epoch"))
    first = pl.col("pane_is_first") & ~same_pane.fill_null(value=False)
    return stands & (first | (stands.shift() & (index < index.shift())).fill_null(value=False))


def _of_the_last_pane() -> pl.Expr:
    """Within a key and window, in order: whether a row is of the last pane, if that stands."""
    import polars as pl

    taken_back = pl.col("pane_is_retraction")
    return ~taken_back & ~taken_back.last() & (pl.col("pane_index") == pl.col("pane_index").last())
