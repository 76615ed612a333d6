"""The reader of a pane log: every pane as it was published, and the current table.

A pane log is a folder with ``data/*.parquet`` and one small commit document an epoch. Readers ignore a file that no
document names, so they see whole epochs only, and a replayed epoch changes nothing. From time to time a snapshot
replaces many commits and their files.

A pane's row has the key columns, the aggregates, and: ``window_start``, ``window_end`` (UTC; null where infinite),
``pane_timing`` (EARLY, ON_TIME, LATE, CORRECTION), ``pane_index``, ``pane_is_first``, ``pane_is_last``,
``pane_is_retraction``, ``completeness`` (0 to 1, as claimed at firing), ``watermark``, ``processing_time``, ``epoch``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain, Published
from airflow_dataflow_provider.progress.panes.pane_commits import HEADER, pane_log_of, read_header
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import DAMAGED, damaged
from airflow_dataflow_provider.tables.as_library import as_library

if TYPE_CHECKING:
    import polars as pl

    from airflow_dataflow_provider.model.combiners import Combiner
    from airflow_dataflow_provider.model.interval import Interval
    from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles

T = TypeVar("T")


class PaneLogReader:
    """Reads a pane log while it is being written.

    Args:
        url: the folder of the state, or of the pane log. Give the state: it knows the newest epoch of the log, so that
            a missing newest commit is detected.
        combiners: the pipeline's combiners by output name. Only :meth:`current` needs them, and only if panes are
            discarding and a combiner is the user's own, since a reader runs no code that a file names.

    Raises:
        StateError: ``STATE_NO_PANES`` where nothing was published; ``STATE_DAMAGED`` where the log is missing;
            ``STATE_FORMAT``.
    """

    def __init__(self, url: str, *, combiners: Mapping[str, Combiner] | None = None) -> None:
        given = Store.open(url)
        found = pane_log_of(given)
        self._state = None if found is None else given
        store = given if found is None else found
        if not store.exists(HEADER):
            if self._state is not None and (until := self._reach()) is not None:
                raise damaged(f"the pane log {store.url} is gone, and epochs up to {until} have published there")
            raise StateError(
                f"there is no pane log at {url}",
                reason="no epoch of a pipeline has published there yet",
                hint="give the state URL of a pipeline that has run, or the path of its PaneLog",
                code="STATE_NO_PANES",
            )
        self._store, self._chain = store, PaneChain(store)
        self._header = read_header(store)
        self._combiners = combiners

    @property
    def key(self) -> list[str]:
        return list(self._header["key"])

    @property
    def aggregates(self) -> list[str]:
        return list(self._header["aggregates"])

    @property
    def kept_since(self) -> int:
        """The first epoch whose single panes are kept: 0 where the pipeline's ``PaneLog`` has no retention."""
        snapshot = self._chain.snapshot()
        return 0 if snapshot is None else snapshot.kept_since

    @overload
    def panes(self, since: int | None = None) -> pl.DataFrame: ...
    @overload
    def panes(self, since: int | None = None, *, to: str) -> Any: ...  # noqa: ANN401

    def panes(self, since: int | None = None, *, to: str = "polars") -> Any:
        """Every pane from an epoch on, in the order of publication: a retraction comes before its replacement.

        Args:
            since: the first epoch; None: from the first whose panes are kept.
            to: ``polars``, ``arrow``, ``pandas``, ``duckdb`` or ``spark``.

        Raises:
            SubmissionError: ``SUBMIT_LIBRARY``.
            StateError: ``STATE_PANES_NOT_KEPT`` where panes since that epoch were deleted; ``STATE_DAMAGED``.
        """

        def read(files: PaneFiles, published: Published) -> pl.DataFrame:
            kept = 0 if published.snapshot is None else published.snapshot.kept_since
            if since is not None and since < kept:
                raise StateError(
                    f"panes from epoch {since} on are asked for, and {self._store.url} keeps them from epoch {kept} on",
                    reason="PaneLog(retention=...) has deleted the others, and a list without them would be incomplete",
                    hint="start again from current(), or keep panes for longer",
                    code="STATE_PANES_NOT_KEPT",
                )
            return files.panes(published, kept if since is None else since)

        return as_library(self._without_hidden(self._read(read)), to)

    def intervals(self, since: int = 0) -> list[tuple[int, Interval]]:
        """The intervals that epochs from one on have recomputed, as ``(epoch, interval)``.

        Such an epoch replaces all earlier panes of the windows that end in its interval.
        """
        return [each for each in self._read(lambda _, published: published.intervals) if each[0] >= since]

    @overload
    def current(self) -> pl.DataFrame: ...
    @overload
    def current(self, *, to: str) -> Any: ...  # noqa: ANN401

    def current(self, *, to: str = "polars") -> Any:
        """The current table: one row a key and window.

        Accumulating panes replace each other, discarding panes are added up. A window's first pane replaces all earlier
        ones, and an epoch that replaces an interval removes the earlier results of its windows.

        With steps after the last grouping, a pane may have several rows in the table. Discarding panes then cannot be
        added up, and the table has the rows of all of them.

        Args:
            to: ``polars``, ``arrow``, ``pandas``, ``duckdb`` or ``spark``.

        Raises:
            StateError: ``STATE_NEEDS_COMBINER`` where discarding panes are to be added up by a combiner of the user's
                own, and it was not given; ``STATE_DAMAGED``.
            SubmissionError: ``SUBMIT_LIBRARY``.
        """
        return as_library(self.current_with_epoch()[0], to)

    def current_with_epoch(self) -> tuple[pl.DataFrame, int | None]:
        """:meth:`current`, and the newest epoch in it (None: no epoch); continue with ``panes(epoch + 1)``."""
        table, newest = self._read(
            lambda files, published: (files.counting(published, files.table(self._combiners)), published.newest)
        )
        sort = ("window_end", "window_start", *self.key)
        return self._without_hidden(table).sort(*sort, nulls_last=True, maintain_order=True), newest

    def _read(self, read: Callable[[PaneFiles, Published], T]) -> T:
        """Read the published panes. If a new snapshot has replaced files meanwhile, read again."""
        from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles

        files = PaneFiles(self._store, self._header)
        until = self._reach()
        seen = self._chain.newest_snapshot()
        while True:
            try:
                return read(files, self._chain.read(until))
            except StateError as error:
                newest = self._chain.newest_snapshot()
                if error.code != DAMAGED or newest == seen:
                    raise
                seen = newest

    def _reach(self) -> int | None:
        """The newest commit that the state's epoch log names; None without a state."""
        last = None if self._state is None else EpochLog(self._state).last_record()
        return None if last is None else last.panes_until

    def _without_hidden(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(name for name in frame.columns if not name.startswith("_"))
