"""Side outputs: the rows that are in no pane, each with the reason.

*Expired* elements came after their window had expired, *rejected* rows cannot be read as elements. Of the files in
``expired/`` and ``rejected/`` only those count that a committed epoch names; others were left by failed or repeated
tasks, and would double rows. Rows that a retention has deleted are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.requests.requests import require_pipeline
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import damaged
from airflow_dataflow_provider.progress.upkeep.set_aside import EXPIRED_FOLDER, REJECTED_FOLDER, files_of, kept_from
from airflow_dataflow_provider.tables.one_table import one_table

if TYPE_CHECKING:
    import polars as pl


class SideOutputs:
    """Reads the rows that a pipeline has set aside, also while it runs.

    Args:
        url: the URL of the pipeline's state.

    Raises:
        StateError: ``STATE_ABSENT`` where there is no pipeline.
    """

    def __init__(self, url: str) -> None:
        self._store = Store.open(url)
        require_pipeline(self._store)
        self._log = EpochLog(self._store)

    def expired(self, since: int = 0) -> pl.DataFrame:
        """Elements whose window had expired, from an epoch on: each once for every such window that it was in.

        Returns:
            The columns that the pipeline reads (under windows that merge: those of the grouping), then ``_event_time``,
            ``_arrival_time``, ``_window_start`` and ``_window_end`` (UTC; null where infinite), ``_watermark`` (the one
            by which it was judged), ``_delay`` (arrival less event time), ``_is_retraction`` (a result of a grouping
            before that takes another back), ``_reason`` and ``_epoch``.
        """
        import polars as pl

        moments = ("_event_time", "_arrival_time", "_window_start", "_window_end", "_watermark")
        last = {
            **dict.fromkeys(moments, pl.Datetime("us", "UTC")),
            "_delay": pl.Duration("us"),
            "_is_retraction": pl.Boolean(),
            "_reason": pl.String(),
        }
        return self._read(EXPIRED_FOLDER, since, last)

    def rejected(self, since: int = 0) -> pl.DataFrame:
        """Rows that cannot be read as elements, from an epoch on.

        A batch over an interval reads every file and sets the same rows aside again; ``_epoch`` tells them apart.

        Returns:
            The columns of the source's files, then ``_file``, ``_line`` (where the row begins, in CSV and JSON lines),
            ``_reason`` and ``_epoch``. A column whose types do not go together is text
            (:func:`~airflow_dataflow_provider.tables.one_table.one_table`). Lines of JSON, and rows of CSV that have
            more or fewer fields than columns, are in ``_text``.
        """
        import polars as pl

        last = {"_file": pl.String(), "_line": pl.Int64(), "_reason": pl.String()}
        return self._read(REJECTED_FOLDER, since, last)

    def _read(self, folder: str, since: int, last: dict[str, pl.DataType]) -> pl.DataFrame:
        import polars as pl

        from airflow_dataflow_provider.spark.values.frames import read_parquet

        frames = [pl.DataFrame(schema={**last, "_epoch": pl.Int64()})]
        for record in self._log.records(max(since, kept_from(self._store, folder))):
            prepared = self._log.prepared(record.epoch)
            if prepared is None:
                where = self._store.url
                raise damaged(
                    f"the result of epoch {record.epoch}, which names files of {folder}/, is gone from {where}"
                )
            for file in files_of(prepared.result, folder):
                try:
                    rows = read_parquet(self._store, folder, file)
                except StateError:
                    if record.epoch < kept_from(self._store, folder):
                        continue  # a driver has just removed it
                    raise
                frames.append(rows.with_columns(_epoch=pl.lit(record.epoch, dtype=pl.Int64)))
        # Files of one source may differ in their columns, and in the types of these.
        found = one_table(frames)
        names = (*last, "_epoch")
        return found.select(*(name for name in found.columns if name not in names), *names)
